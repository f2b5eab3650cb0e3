"""Kafka's bytes in flight as typed Python values, and back. Pure: no I/O, no clock, no event loop.

Read in this order:

schema.py      how a message file declares what its bytes are; messages/fetch.py is a good one to look at
codec.py       decode and encode; reading.py and writing.py compile a function for each message and version
frames.py      bytes of a connection -> requests; responses -> chunks to send
apis.py        every API's key, versions and header versions
batches.py     record batches as opaque bytes: header, checksum, stamping; batch_rules.py what a broker enforces
record.py      the records inside, one by one; compression.py, batch_builder.py, control.py, legacy_batches.py
records/       what Kafka keeps in its own logs and files, declared like the messages; log_records.py finds the class
errors.py      Kafka's error codes; MalformedFrame and KafkaError
"""
