"""Which Barnabas this is; a test holds it beside pyproject.toml, since to ask the package's metadata takes longer than
all of a command's other preparations."""

VERSION = "0.1.0"
KAFKA_VERSION = "4.3.1"
"""What it speaks, and whose files it keeps."""
