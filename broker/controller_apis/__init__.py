"""Every API that the controller's listeners speak; those that are the same at both doors lie in ../apis."""

from barnabas.broker import apis

__all__ = ["MODULES"]

_OWN = {
    1: "fetch",
    18: "api_versions",
    33: "alter_configs",
    44: "incremental_alter_configs",
    52: "vote",
    53: "begin_quorum_epoch",
    54: "end_quorum_epoch",
    56: "alter_partition",
    58: "envelope",
    59: "fetch_snapshot",
    60: "describe_cluster",
    62: "broker_registration",
    63: "broker_heartbeat",
    67: "allocate_producer_ids",
    70: "controller_registration",
    73: "assign_replicas_to_dirs",
    82: "update_raft_voter",
}
_SHARED = (19, 20, 29, 30, 31, 32, 37, 43, 45, 46, 49, 55, 57, 64, 80, 81)

MODULES = {
    **{key: f"controller_apis.{name}" for key, name in _OWN.items()},
    **{key: f"apis.{apis.MODULES[key]}" for key in _SHARED},
}
"""Names below barnabas.broker."""
