"""Finds the code that trains: step loops, what runs at each step, and how often."""
