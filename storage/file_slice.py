"""A part of a file that has not been read, on its way to a socket."""

from __future__ import annotations

from barnabas.storage.disk import File

__all__ = ["FileSlice"]


class FileSlice:
    """`length` bytes of `file` from `position` on. It keeps its file open: retention may delete the segment while the
    slice is being sent, and the bytes stay where they are until it has been."""

    __slots__ = ("file", "length", "position")

    def __init__(self, file: File, position: int, length: int) -> None:
        self.file = file
        self.position = position
        self.length = length

    def __len__(self) -> int:
        return self.length

    def read(self) -> bytes:
        return self.file.read(self.position, self.length)

    def __repr__(self) -> str:
        return f"FileSlice({self.file.path.name!r}, {self.position}, {self.length})"
