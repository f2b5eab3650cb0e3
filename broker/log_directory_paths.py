"""How clients call the log directories: by their absolute paths, as log.dirs has them."""

from __future__ import annotations

import os
from pathlib import Path

from barnabas.broker.configuration.node_config import NodeConfig

__all__ = ["configured_directories", "cordoned_directories"]

EVERY = "*"


def configured_directories(config: NodeConfig) -> dict[str, Path]:
    """In the order of log.dirs, with the path under which the node has opened each. Links are followed there, but a
    client knows only what was configured."""
    return {os.path.abspath(path): Path(path).resolve() for path in config.log_dirs}  # noqa: PTH100 - no link is followed


def cordoned_directories(config: NodeConfig) -> set[Path]:
    """Those that shall get no more partitions."""
    cordoned = config.cordoned_log_dirs
    return {Path(path).resolve() for path in (config.log_dirs if EVERY in cordoned else cordoned)}
