"""What replay and mirror are made of: records as they were into topics, each once, and the map of their offsets."""
