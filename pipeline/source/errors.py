"""What hinders the source, each in one sentence; and what is done about records that are gone."""

from __future__ import annotations

import logging

__all__ = ["DataLoss", "SourceError", "report_loss"]

_log = logging.getLogger("barnabas.pipeline.source")


class SourceError(Exception):
    """The message is a whole sentence for the person who reads."""


class DataLoss(SourceError):  # noqa: N818 - named for what was met
    """Records that should have been read are not there, and failOnDataLoss is true."""


_WHY = (
    "Some data may have been lost, because it was deleted by age or size, or its topic was deleted, before it was read;"
)


def report_loss(what: str, *, fail: bool) -> None:
    """`what` is a sentence with the partition, and the offset that was expected and the one that was found."""
    if fail:
        raise DataLoss(f"{what} {_WHY} to go on in such cases, set failOnDataLoss to false.")
    _log.warning("%s %s to fail in such cases, set failOnDataLoss to true.", what, _WHY)
