"""What a running node does by itself, a file for each duty."""
