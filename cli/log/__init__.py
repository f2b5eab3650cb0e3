"""`barnabas log`: what lies in a log directory, read without a broker or beside one that runs, and never changed.

files.py        a file of batches, read only; rows of indexes
lines.py        what Kafka's tool prints of it; decoders.py what the records of Kafka's own logs say
dump.py         the command that prints it; dumping.py, index_dumping.py each kind of file
verify.py       every check: scanning.py the batches, index_checks.py the files beside them, checking.py a partition,
                rehearsal.py what a start would do
explain.py      why segments are kept; settings.py and cluster_log.py what the metadata in the directory says
"""
