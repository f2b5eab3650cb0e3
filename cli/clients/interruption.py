"""Ctrl-C, and the wish of a system to end us, as something a loop looks at: it ends between two records, not in one."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self

__all__ = ["Interruption"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_EXIT_CODE = 128
"""Of a program that a signal ended, to which the signal's number is added."""


class Interruption:
    """Within it the first signal is noted. The second ends us as it would have without."""

    def __init__(self) -> None:
        self._noted = 0
        self._before: dict[int, Any] = {}

    def __bool__(self) -> bool:
        return self._noted != 0

    @property
    def exit_code(self) -> int:
        """0 if there was none."""
        return _EXIT_CODE + self._noted if self._noted else 0

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._note) for number in _SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._restore()

    def _note(self, number: int, _frame: FrameType | None) -> None:
        self._noted = number
        self._restore()

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}
