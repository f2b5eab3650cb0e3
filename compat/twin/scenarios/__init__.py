"""What is asked of both, a file for each API. A scenario runs once for each version that both brokers advertise."""
