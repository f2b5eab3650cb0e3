"""`crc32c`, the checksum of record batches, from the library of that name.

It is loaded at first use, and only the library's compiled part: importing the library itself looks up its own version,
through parsers of mail, which takes longer than importing all of this package. Use it as `checksum.crc32c(data)`;
importing the name would load it at once.
"""

from __future__ import annotations

from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crc32c import crc32c as crc32c


def __getattr__(name: str) -> object:
    if name != "crc32c":
        raise AttributeError(name)
    function = _load()
    globals()["crc32c"] = function
    return function


def _load() -> object:
    library = find_spec("crc32c")
    compiled = PathFinder.find_spec("_crc32c", library.submodule_search_locations) if library is not None else None
    if compiled is None or compiled.loader is None:
        from crc32c import crc32c as function

        return function
    module = module_from_spec(compiled)
    compiled.loader.exec_module(module)
    return module.crc32c
