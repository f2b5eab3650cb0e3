"""How much a client may do in a time, and how long it has to wait when it did more."""
