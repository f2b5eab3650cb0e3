"""kcat, the program: what shells and runbooks call."""
