"""`barnabas start --nodes N`: a cluster on one machine, a process for each node."""
