"""The `barnabas` command. A command is a file here, and is imported when it is called."""
