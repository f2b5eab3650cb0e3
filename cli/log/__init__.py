"""`barnabas log`: what lies in a log directory, read without a broker or beside one that runs, and never changed.

files.py        a file of batches, read only; rows of indexes
lines.py        what Kafka's tool prints of it; decoders.py what the records of Kafka's own logs say
dump.py         the command that prints it
"""
