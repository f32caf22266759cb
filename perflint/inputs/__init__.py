"""Decides which files a run reads and which form one project, and reads files of other kinds next to them."""
