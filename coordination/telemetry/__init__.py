"""The metrics that clients push (KIP-714): who is asked for which of them, and when a push is taken."""
