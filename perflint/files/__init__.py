"""Reads and writes files that strangers may have made: in bounded time, and completely or not at all."""
