"""How a job ends that cannot do what it was asked for."""

from __future__ import annotations

__all__ = ["PipelineFailed"]


class PipelineFailed(Exception):  # noqa: N818 - named for what happened to the job
    """The message is a whole sentence, with the next step."""
