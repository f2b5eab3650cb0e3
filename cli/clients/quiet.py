"""What the client libraries log is kept from the terminal; the last of it helps to explain an error."""

from __future__ import annotations

import logging
import warnings

__all__ = ["last_words", "quiet_logger"]

_NAME = "barnabas.client-library"


class _Keeper(logging.Handler):
    """Keeps the last warning or error and lets nothing through."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.last = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.last = record.getMessage()


_keeper = _Keeper()


def quiet_logger() -> logging.Logger:
    """To be called before a library is used. The logger is for a library that wants one given."""
    for name in ("kafka", _NAME):
        logger = logging.getLogger(name)
        logger.setLevel(logging.WARNING)
        logger.propagate = False
        if _keeper not in logger.handlers:
            logger.addHandler(_keeper)
    warnings.filterwarnings("ignore", module=r"kafka\.")
    _keeper.last = ""
    return logging.getLogger(_NAME)


def last_words() -> str:
    return _keeper.last
