"""What the broker remembers between the Fetch requests of one client."""
