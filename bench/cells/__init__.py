"""What is measured on both brokers, one subject a file."""
