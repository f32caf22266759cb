"""What a profile says that a finding can win: reads profiles, finds the place of a finding in them, ranks findings."""
