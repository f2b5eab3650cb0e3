"""What is measured on both clusters, one subject a file."""
