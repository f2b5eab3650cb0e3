"""Agreement: turns a local append into a committed one. The only code that waits for other nodes."""
