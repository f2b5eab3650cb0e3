"""What a leader makes of its followers: who has what, who is in sync, and up to where records count."""
