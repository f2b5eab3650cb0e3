"""`barnabas mirror`: topics of one cluster copied into another, and kept so (docs/MIRROR.md)."""
