"""How each wire type is read: compiles the decoder of one message at one version.

The function reads the bytes `b` from position `p` on. Strings and bytes are sliced without looking at the end:
a slice stops there by itself, and whatever is read next, or the check behind the last field, then fails. Only a
list's length is checked at once against the bytes that are left, so that no claimed length costs memory.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from struct import calcsize, unpack_from
from typing import Any, NoReturn

from barnabas.protocol.errors import MalformedFrame
from barnabas.protocol.schema import Data, Field, Struct, UnknownTag, Uuid
from barnabas.protocol.source import FIXED, SHORT_ARRAY, Source
from barnabas.protocol.varint import read_int32_uvarint

__all__ = ["compile_decoder"]

LONGEST_STRING = 0x7FFF


def compile_decoder(cls: type[Data], version: int) -> Callable[[Any, int, int], tuple[Any, int]]:
    """A function of (bytes, position, end) that returns the message and the position behind it."""
    decoder = _Decoder(cls, version)
    code = decoder.code
    with code.block("try:"):
        message = decoder.read_struct(cls)
        decoder.flush()
        code.line("if p > end: ends_early()")
        code.line(f"return {message}, p")
    code.names |= {"refuse": partial(_refuse, f"{cls.__name__} v{version}"), "REFUSED": REFUSED}
    with code.block("except REFUSED as error:"):
        code.line("refuse(end, error)")
    head = "def compiled(b, p, end):\n    view = memoryview(b)" if decoder.has_records else "def compiled(b, p, end):"
    return code.function(f"<decode {cls.__name__} v{version}>", head)


REFUSED = (struct.error, IndexError, MalformedFrame)


def _refuse(what: str, end: int, error: Exception) -> NoReturn:
    if isinstance(error, MalformedFrame):
        raise MalformedFrame(f"{what}: {error}") from None
    raise MalformedFrame(f"{what} ends early, after {end} bytes") from None


def ends_early() -> NoReturn:
    raise MalformedFrame("it ends early")


def is_null(name: str) -> NoReturn:
    raise MalformedFrame(f"{name} is null")


def is_too_long(name: str, length: int) -> NoReturn:
    raise MalformedFrame(f"{name} claims a length of {length}")


def is_no_tag(tag: int, size: int) -> NoReturn:
    raise MalformedFrame(f"tag {tag} claims a size of {size}")


class _Decoder:
    def __init__(self, cls: type[Data], version: int) -> None:
        self.version = version
        self.flexible = version in cls.__definition__.flexible
        self.module = sys.modules[cls.__module__]
        self.code = Source(
            Uuid=Uuid,
            UnknownTag=UnknownTag,
            ends_early=ends_early,
            is_null=is_null,
            is_no_tag=is_no_tag,
            is_too_long=is_too_long,
            read_int32_uvarint=read_int32_uvarint,
            unpack_from=unpack_from,
        )
        self.has_records = False
        self._formats = ""
        self._targets: list[str] = []

    # Neighbours of fixed width gather here until something needs their values or the position behind them.

    def fixed(self, wire_format: str, target: str) -> None:
        self._formats += wire_format
        self._targets.append(target)

    def flush(self) -> None:
        if self._formats == "B":
            self.code.line(f"{self._targets[0]} = b[p]")
            self.code.line("p += 1")
        elif self._formats:
            self._unpack()
        self._formats, self._targets = "", []

    def _unpack(self) -> None:
        unpack = self.code.fixed_width(self._formats, "unpack_from")
        self.code.line(f"{', '.join(self._targets)}, = {unpack}(b, p)")
        self.code.line(f"p += {calcsize('>' + self._formats)}")

    def uvarint(self, hint: str) -> str:
        """Nearly all are below 128: then the one byte is read along with what stands before it."""
        target = self.code.variable(hint)
        self.fixed("B", target)
        self.flush()
        with self.code.block(f"if {target} >= 0x80:"):
            self.code.line(f"{target}, p = read_int32_uvarint(b, p - 1)")
        return target

    # Structs

    def read_struct(self, cls: type[Struct]) -> str:
        """Returns the variable that holds the struct, once flushed."""
        code = self.code
        code.names[cls.__name__] = cls
        values = [self._read_field(each) for each in cls.__fields__]
        tags = ""
        if self.flexible:
            for each, value in zip(cls.__fields__, values, strict=True):
                if each.tag is not None and self.version in each.versions:
                    code.line(f"{value} = {_default(each)}")
            tags = self.uvarint("tags")
            known = [
                (each, value)
                for each, value in zip(cls.__fields__, values, strict=True)
                if each.tag is not None and self.version in each.versions
            ]
            unknown = code.variable("unknown")
            with code.block(f"if {tags}:"):
                self._read_tags(tags, unknown, known)
        self.flush()
        target = code.variable("value")
        code.line(f"{target} = {cls.__name__}({', '.join(values)})")
        if tags:
            code.line(f"if {tags} and {unknown}: {target}.unknown_tags = tuple({unknown})")
        return target

    def _read_field(self, each: Field) -> str:
        if self.version not in each.versions:
            self._import_default(each)
            return _default(each)
        if each.tag is not None:
            self._import_default(each)
            return self.code.variable(each.name)
        return self._read_value(each, self.version in each.nullable)

    def _import_default(self, each: Field) -> None:
        if each.fresh_default and each.type.is_struct and not each.type.is_array:
            self.code.names[each.type.name] = getattr(self.module, each.type.name)

    def _read_tags(self, count: str, unknown: str, known: list[tuple[Field, str]]) -> None:
        code = self.code
        code.line(f"{unknown} = []")
        with code.block(f"for _ in range({count}):"):
            code.line("tag, p = read_int32_uvarint(b, p)")
            code.line("size, p = read_int32_uvarint(b, p)")
            branch = "if"
            for each, value in known:
                with code.block(f"{branch} tag == {each.tag}:"):
                    read = self._read_value(each, self.version in each.nullable, tagged=True)
                    self.flush()
                    code.line(f"{value} = {read}")
                branch = "elif"
            with code.block("else:") if known else nullcontext():
                code.line("if tag < 0 or not 0 <= size <= end - p: is_no_tag(tag, size)")
                code.line(f"{unknown}.append(UnknownTag(tag, bytes(b[p:p + size])))")
                code.line("p += size")

    # Values

    def _read_value(self, each: Field, nullable: bool, *, tagged: bool = False) -> str:
        name = each.type.name
        if each.type.is_array:
            return self._read_array(each, nullable)
        if each.type.is_struct:
            return self._read_nested(each, nullable, tagged)
        if name in FIXED:
            return self._read_fixed(name, each.name)
        compact = self.flexible and not each.classic
        return self._read_bytes(name, each.name, nullable, compact)

    def _read_fixed(self, wire_type: str, hint: str) -> str:
        target = self.code.variable(hint)
        self.fixed(FIXED[wire_type], target)
        return f"Uuid({target})" if wire_type == "uuid" else target

    def _read_length(self, compact: bool, classic_format: str) -> str:
        """A length as the wire has it: compact ones are one more than what they mean."""
        if compact:
            return self.uvarint("length")
        length = self.code.variable("length")
        self.fixed(classic_format, length)
        self.flush()
        return length

    def _read_bytes(self, wire_type: str, name: str, nullable: bool, compact: bool) -> str:
        code = self.code
        target = code.variable(name)
        length = self._read_length(compact, "h" if wire_type == "string" else "i")
        if compact:
            code.line(f"{length} -= 1")
        with code.block(f"if {length} < 0:"):
            if nullable:
                code.line(f"{target} = None")
            else:
                code.line(f"is_null({name!r})")
        with code.block("else:"):
            if compact and wire_type == "string":
                code.line(f"if {length} > {LONGEST_STRING}: is_too_long({name!r}, {length})")
            code.line(f"q = p + {length}")
            if wire_type == "string":
                code.line(f'{target} = b[p:q].decode("utf-8", "replace")')
            elif wire_type == "bytes":
                code.line(f"{target} = bytes(b[p:q])")
            else:
                self.has_records = True
                code.line(f"{target} = view[p:q]")
            code.line("p = q")
        return target

    def _read_nested(self, each: Field, nullable: bool, tagged: bool) -> str:
        cls = getattr(self.module, each.type.name)
        if not nullable:
            return self.read_struct(cls)
        code = self.code
        target = code.variable(each.name)
        if tagged:
            # Kafka marks a nullable struct by a byte, below zero for null; among tagged fields by a varint, 0.
            marker, null = self.uvarint("marker"), "== 0"
        else:
            marker, null = code.variable("marker"), "< 0"
            self.fixed("b", marker)
            self.flush()
        with code.block(f"if {marker} {null}:"):
            code.line(f"{target} = None")
        with code.block("else:"):
            value = self.read_struct(cls)
            self.flush()
            code.line(f"{target} = {value}")
        return target

    def _read_array(self, each: Field, nullable: bool) -> str:
        code = self.code
        target = code.variable(each.name)
        length = self._read_length(self.flexible, "i")
        if self.flexible:
            code.line(f"{length} -= 1")
        with code.block(f"if {length} <= 0:"):
            if nullable:
                code.line(f"{target} = None if {length} < 0 else []")
            else:
                code.line(f"if {length} < 0: is_null({each.name!r})")
                code.line(f"{target} = []")
        with code.block("else:"):
            code.line(f"if {length} > end - p: is_too_long({each.name!r}, {length})")
            element = each.type.name
            if element in FIXED and element != "uuid":
                letter = FIXED[element]
                ready = code.short_arrays(letter, "unpack_from")
                code.line(f"if {length} < {SHORT_ARRAY}: {target} = [*{ready}[{length}](b, p)]")
                code.line(f'else: {target} = [*unpack_from(f">{{{length}}}{letter}", b, p)]')
                code.line(f"p += {length} * {calcsize('>' + letter)}")
            else:
                code.line(f"{target} = []")
                add = code.variable("add")
                code.line(f"{add} = {target}.append")
                with code.block(f"for _ in range({length}):"):
                    item = self._read_value(each.element, nullable=False)
                    self.flush()
                    code.line(f"{add}({item})")
        return target


def _default(each: Field) -> str:
    if not each.fresh_default:
        return "Uuid.ZERO" if each.type.name == "uuid" and each.default is not None else repr(each.default)
    return "[]" if each.type.is_array else f"{each.type.name}()"
