"""The same work on Barnabas and on others, in one run."""
