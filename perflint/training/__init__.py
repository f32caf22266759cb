"""Which code trains: step loops, what runs at each step, and how often."""
