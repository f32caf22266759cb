"""Shows where the time of a training step goes, line by line, by running the script once with a recorder."""
