"""Transactions and producers."""

from __future__ import annotations

from dataclasses import dataclass

from barnabas.broker.configuration.key import CLUSTER_WIDE, HIGH, LOW, READ_ONLY, SHORT, key
from barnabas.storage.topic_config_types import ANY, BOOLEAN, INT, at_least

__all__ = ["TransactionsKeys"]

# fmt: off

@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class TransactionsKeys:
    """Each is one attribute of the node's configuration."""

    transaction_max_timeout_ms: int = key(INT, 900_000, at_least(1), HIGH, READ_ONLY,
        "The longest timeout that a transaction may ask for.")
    transactional_id_expiration_ms: int = key(INT, 604_800_000, at_least(1), HIGH, READ_ONLY,
        "How long a transactional id is remembered that nobody uses.")
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int = key(INT, 10_000, at_least(1), LOW, READ_ONLY,
        "How often it is looked for transactions that are over their time.")
    transaction_remove_expired_transaction_cleanup_interval_ms: int = key(INT, 3_600_000, at_least(1), LOW, READ_ONLY,
        "How often it is looked for transactional ids that are to be forgotten.")
    transaction_partition_verification_enable: bool = key(BOOLEAN, True, ANY, LOW, CLUSTER_WIDE,
        "Whether a partition asks the coordinator before it takes records of a transaction.")
    transaction_two_phase_commit_enable: bool = key(BOOLEAN, False, ANY, LOW, READ_ONLY,
        "Whether clients may prepare a transaction and commit it later.")
    transaction_state_log_replication_factor: int = key(SHORT, 3, at_least(1), HIGH, READ_ONLY,
        "How many replicas __transaction_state gets; where it is not set, no more than there are brokers.")
    transaction_state_log_min_isr: int = key(INT, 2, at_least(1), HIGH, READ_ONLY,
        "min.insync.replicas of __transaction_state; where it is not set, no more than there are brokers.")
    transaction_state_log_num_partitions: int = key(INT, 50, at_least(1), HIGH, READ_ONLY,
        "How many partitions __transaction_state gets.")
    transaction_state_log_segment_bytes: int = key(INT, 104_857_600, at_least(1), HIGH, READ_ONLY,
        "The segment size of __transaction_state.")
    transaction_state_log_load_buffer_size: int = key(INT, 5_242_880, at_least(1), HIGH, READ_ONLY,
        "How many bytes are read at once when a coordinator loads its transactions.")
    add_partitions_to_txn_retry_backoff_ms: int = key(INT, 20, at_least(1), HIGH, READ_ONLY,
        "The pause before a verification is tried again.")
    add_partitions_to_txn_retry_backoff_max_ms: int = key(INT, 100, at_least(0), HIGH, READ_ONLY,
        "The longest pause before a verification is tried again.")
    producer_id_expiration_ms: int = key(INT, 86_400_000, at_least(1), LOW, CLUSTER_WIDE,
        "How long a partition remembers a producer that writes nothing.")
    producer_id_expiration_check_interval_ms: int = key(INT, 600_000, at_least(1), LOW, READ_ONLY,
        "How often it is looked for producers that are to be forgotten.", internal=True)
