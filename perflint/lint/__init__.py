"""From what the index knows to findings: rules, gates, the walk over what can hold a finding, messages."""
