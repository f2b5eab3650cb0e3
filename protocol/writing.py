"""How each wire type is written: compiles the encoder of one message at one version.

The function appends its chunks to a list. What Kafka's own classes refuse is refused here: a field that
is set although its version lacks it (unless it is ignorable), null where null cannot travel, a string too long.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from struct import pack
from typing import Any, NoReturn

from barnabas.protocol.reading import LONGEST_STRING
from barnabas.protocol.schema import Data, Field, Kept, Struct, UnknownTag, Uuid
from barnabas.protocol.source import FIXED, SHORT_ARRAY, Source
from barnabas.protocol.varint import ONE_BYTE, uvarint

__all__ = ["compile_encoder"]


def compile_encoder(cls: type[Data], version: int) -> Callable[[Any, list[Any]], None]:
    """A function of (message, chunks)."""
    encoder = _Encoder(cls, version)
    encoder.code.line("append = chunks.append")
    encoder.write_struct(cls, "m")
    encoder.flush()
    return encoder.code.function(f"<encode {cls.__name__} v{version}>", "def compiled(m, chunks):")


def not_in_version(name: str) -> NoReturn:
    raise ValueError(f"{name} is set, which this version has not")


def string_length(length: int) -> bytes:
    """The length of a compact string, one more than its bytes, that does not fit into one byte."""
    if length > LONGEST_STRING + 1:
        raise ValueError(f"a string of {length - 1} bytes is too long")
    return uvarint(length)


def write_tags(
    append: Callable[[Any], None], known: list[tuple[int, list[Any]]], unknown: tuple[UnknownTag, ...]
) -> None:
    """Tagged fields in the order of their tags, as Kafka writes them; the known ones come so."""
    if unknown:
        known = sorted([*known, *((tag, [data]) for tag, data in unknown)], key=lambda field: field[0])
    for tag, chunks in known:
        append(uvarint(tag) + uvarint(sum(map(len, chunks))))
        for chunk in chunks:
            append(chunk)


class _Encoder:
    def __init__(self, cls: type[Data], version: int) -> None:
        self.version = version
        self.flexible = version in cls.__definition__.flexible
        self.module = sys.modules[cls.__module__]
        self.code = Source(
            Kept=Kept,
            ONE_BYTE=ONE_BYTE,
            Uuid=Uuid,
            not_in_version=not_in_version,
            pack=pack,
            string_length=string_length,
            uvarint=uvarint,
            write_tags=write_tags,
        )
        self._chunks, self._append = "chunks", "append"
        self._formats = ""
        self._values: list[str] = []

    # Neighbours of fixed width gather here until something of another width has to be appended.

    def fixed(self, wire_format: str, value: str) -> None:
        self._formats += wire_format
        self._values.append(value)

    def flush(self) -> None:
        if self._values:
            self.code.line(f"{self._append}({self._packed()})")
            self._formats, self._values = "", []

    @contextmanager
    def _into(self, chunks: str) -> Iterator[None]:
        """What is written in here goes to another list, while what has gathered for this one waits."""
        waiting = self._chunks, self._append, self._formats, self._values
        self._chunks, self._append, self._formats, self._values = chunks, f"{chunks}.append", "", []
        yield
        self.flush()
        self._chunks, self._append, self._formats, self._values = waiting

    def _packed(self) -> str:
        return f"{self.code.fixed_width(self._formats, 'pack')}({', '.join(self._values)})"

    def uvarint(self, value: str, long_form: str = "uvarint") -> None:
        """Nearly all are below 128: then the one byte is written along with what stands before it."""
        if self._values:
            long = f"{self._packed()} + {long_form}({value})"
            self.fixed("B", value)
            short = self._packed()
        else:
            long = f"{long_form}({value})"
            short = f"ONE_BYTE[{value}]"
        self.code.line(f"{self._append}({short} if {value} < 0x80 else {long})")
        self._formats, self._values = "", []

    # Structs

    def write_struct(self, cls: type[Struct], source: str) -> None:
        for each in cls.__fields__:
            if self.version not in each.versions:
                self._refuse_if_set(each, source)
            elif each.tag is None:
                self._write_value(each, f"{source}.{each.name}", self.version in each.nullable)
        if self.flexible:
            self._write_tags(cls, source)
        else:
            self.code.line(f"if {source}.unknown_tags: not_in_version('unknown_tags')")

    def _refuse_if_set(self, each: Field, source: str) -> None:
        if not each.ignorable:
            self.code.line(f"if {self._is_set(each, f'{source}.{each.name}')}: not_in_version({each.name!r})")

    def _is_set(self, each: Field, value: str) -> str:
        """An expression that is true where the value is not the default."""
        if not each.fresh_default and each.default is None:
            # A tagged struct may be an object of defaults, which for Kafka is as good as none.
            default = self._struct(each)
            return f"{value} is not None" + (f" and {value} != {default}()" if default else "")
        if each.type.is_array:
            return f"{value} is None or {value}" if each.nullable.last >= 0 else value
        if each.fresh_default:
            return f"{value} != {self._struct(each)}()"
        if each.type.name == "uuid":
            return f"{value} != Uuid.ZERO"
        return f"{value} != {each.default!r}"

    def _struct(self, each: Field) -> str | None:
        if not each.type.is_struct or each.type.is_array or (each.tag is None and not each.fresh_default):
            return None
        self.code.names[each.type.name] = getattr(self.module, each.type.name)
        return each.type.name

    def _write_tags(self, cls: type[Struct], source: str) -> None:
        code = self.code
        tagged_fields = [each for each in cls.__fields__ if each.tag is not None and self.version in each.versions]
        known = sorted(tagged_fields, key=lambda each: each.tag or 0)
        unknown = code.variable("unknown")
        count = code.variable("count")
        code.line(f"{unknown} = {source}.unknown_tags")
        code.line(f"{count} = len({unknown})")
        if known:
            tagged = code.variable("tagged")
            code.line(f"{tagged} = []")
        for each in known:
            value = code.variable(each.name)
            code.line(f"{value} = {source}.{each.name}")
            with code.block(f"if {self._is_set(each, value)}:"):
                chunks = code.variable("chunks")
                code.line(f"{chunks} = []")
                with self._into(chunks):
                    self._write_value(each, value, self.version in each.nullable, tagged=True)
                code.line(f"{tagged}.append(({each.tag}, {chunks}))")
                code.line(f"{count} += 1")
        self.uvarint(count)
        code.line(f"if {count}: write_tags({self._append}, {tagged if known else '[]'}, {unknown})")

    # Values

    def _write_value(self, each: Field, value: str, nullable: bool, *, tagged: bool = False) -> None:
        name = each.type.name
        if each.type.is_array:
            self._write_array(each, value, nullable)
        elif each.type.is_struct:
            self._write_nested(each, value, nullable, tagged)
        elif name in FIXED:
            self.fixed(FIXED[name], value)
        else:
            self._write_bytes(name, each.name, value, nullable, self.flexible and not each.classic)

    def _write_bytes(self, wire_type: str, name: str, value: str, nullable: bool, compact: bool) -> None:
        code = self.code
        body = code.variable(name)
        length = code.variable("length")
        extra = " + 1" if compact else ""
        encode = ".encode()" if wire_type == "string" else ""
        if nullable:
            code.line(f"{body} = {value}")
            with code.block(f"if {body} is None:"):
                code.line(f'{body}, {length} = b"", {0 if compact else -1}')
            with code.block("else:"):
                if encode:
                    code.line(f"{body} = {body}{encode}")
                code.line(f"{length} = len({body}){extra}")
        else:
            code.line(f"{body} = {value}{encode}")
            code.line(f"{length} = len({body}){extra}")
        if compact:
            self.uvarint(length, "string_length" if wire_type == "string" else "uvarint")
        else:
            self.fixed("h" if wire_type == "string" else "i", length)
            self.flush()
        code.line(f"{self._append}({body})")

    def _write_nested(self, each: Field, value: str, nullable: bool, tagged: bool) -> None:
        cls = getattr(self.module, each.type.name)
        code = self.code
        item = code.variable(each.name)
        if not nullable:
            code.line(f"{item} = {value}")
            self.write_struct(cls, item)
            return
        self.flush()
        code.line(f"{item} = {value}")
        null, present = ("\\x00", "\\x01") if tagged else ("\\xff", "\\x01")
        with code.block(f"if {item} is None:"):
            code.line(f'{self._append}(b"{null}")')
        with code.block("else:"):
            code.line(f'{self._append}(b"{present}")')
            self.write_struct(cls, item)
            self.flush()

    def _write_array(self, each: Field, value: str, nullable: bool) -> None:
        code = self.code
        items = code.variable(each.name)
        length = code.variable("length")
        code.line(f"{items} = {value}")
        count = f"len({items})" + (" + 1" if self.flexible else "")
        if nullable:
            count = f"{0 if self.flexible else -1} if {items} is None else {count}"
        code.line(f"{length} = {count}")
        if self.flexible:
            self.uvarint(length)
        else:
            self.fixed("i", length)
            self.flush()
        element = each.type.name
        if element in FIXED and element != "uuid":
            self._write_fixed_elements(FIXED[element], items)
            return
        if each.type.is_struct:
            with self._kept(items):
                self._write_elements(each, items, nullable)
        else:
            self._write_elements(each, items, nullable)

    def _write_elements(self, each: Field, items: str, nullable: bool) -> None:
        item = self.code.variable("item")
        with self.code.block(f"for {item} in {items} or ():" if nullable else f"for {item} in {items}:"):
            self._write_value(each.element, item, nullable=False)
            self.flush()

    @contextmanager
    def _kept(self, items: str) -> Iterator[None]:
        """What is written in here is kept with the array that wants it, and written from there the next time."""
        code = self.code
        kept, begin = code.variable("kept"), code.variable("begin")
        code.line(f"{kept} = type({items}) is Kept")
        with code.block(f"if {kept} and {self.version} in {items}.encoded:"):
            code.line(f"{self._append}({items}.encoded[{self.version}])")
        with code.block("else:"):
            code.line(f"{begin} = len({self._chunks})")
            yield
            with code.block(f"if {kept}:"):
                code.line(f'{items}.encoded[{self.version}] = b"".join({self._chunks}[{begin}:])')

    def _write_fixed_elements(self, wire_format: str, items: str) -> None:
        ready = self.code.short_arrays(wire_format, "pack")
        with self.code.block(f"if {items}:"):
            count = self.code.variable("count")
            self.code.line(f"{count} = len({items})")
            self.code.line(
                f"{self._append}({ready}[{count}](*{items}) if {count} < {SHORT_ARRAY}"
                f' else pack(f">{{{count}}}{wire_format}", *{items}))'
            )
