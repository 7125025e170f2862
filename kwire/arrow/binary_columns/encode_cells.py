"""Encodes columns of structs to bodies (`to_kwire`).

A null is encoded as null if the version allows it, otherwise as the default.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from ...codecs import wire
from ...codecs.columns.arrow_types import fields_of
from ...codecs.columns.column_plan import trees_of
from ...codecs.message_codec import Codec, codec_in
from ...errors import KwireError, UnknownField
from .decode_cells import Cells

Make = Callable[[Any], Any]
ROWS_AT_ONCE = 1024  # rows


class CellWriter:
    """Encodes structs of one message.

    Args:
        cells: the description of the column.

    Raises:
        UnknownMessage, BadOption: the message does not exist.
    """

    def __init__(self, cells: Cells) -> None:
        self.mode: str = cells.mode
        self._spec, self._catalog = cells.spec(), cells.catalog
        self._makers: dict[int, tuple[Codec, Make]] = {}

    def write(self, structs: Any, versions: Any) -> Iterator[Any]:
        """Encode a column.

        Args:
            structs: an array of structs.
            versions: the versions of the bodies: a number, or an array of numbers.

        Yields:
            Arrays of binary, together as long as the column; null for null, and in the mode PERMISSIVE for a value that
            cannot be encoded.

        Raises:
            EncodeError, UnsupportedVersion: a value cannot be encoded, in the mode FAILFAST.
        """
        for start in range(0, len(structs), ROWS_AT_ONCE):
            some = structs.slice(start, ROWS_AT_ONCE).to_pylist()
            each = isinstance(versions, pa.Array)
            numbers = versions.slice(start, ROWS_AT_ONCE).to_pylist() if each else [versions] * len(some)
            yield pa.array([self._body(*row) for row in zip(some, numbers, strict=True)], pa.binary())

    def _body(self, value: Any, version: int | None) -> bytes | None:
        if value is None or version is None:
            return None
        try:
            codec, make = self._makers.get(version) or self._make(version)
            return codec.encode(make(value))
        except KwireError:
            if self.mode == "FAILFAST":
                raise
            return None

    def _make(self, version: int) -> tuple[Codec, Make]:
        codec = codec_in(self._catalog, self._spec.name, version)
        made = self._makers[version] = codec, maker(trees_of(codec.spec), codec.tree)
        return made


def maker(nodes: Sequence[Any], now: Any) -> Make:
    """Return the function that converts a plain value to a value in a message.

    Args:
        nodes: the corresponding nodes in the trees of all versions.
        now: the node in the tree of the version to encode; None if this version does not have it.
    """
    _, struct, is_array = wire.content_of(nodes[0])
    make: Make = _plain
    if struct is not None:
        structs = [wire.content_of(node).node for node in nodes]
        make = _struct_maker(structs, None if now is None else wire.content_of(now).node)
    if not is_array:
        return make
    return lambda value: tuple(map(make, value)) if isinstance(value, list) else value


def _plain(value: Any) -> Any:
    return value


def _struct_maker(nodes: list[Any], now: Any) -> Make:
    here = {} if now is None else {name: some[0] for name, some in fields_of([now]).items()}
    makers = {name: maker(some, here.get(name)) for name, some in fields_of(nodes).items()}
    nulls = {name for name, node in here.items() if node.nullable}
    message_class = nodes[0].message_class

    def make(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        for name in value.keys() - makers.keys():
            raise UnknownField(segments=(name,))
        given = {name: item for name, item in value.items() if item is not None or name in nulls}
        return message_class(**{name: makers[name](item) for name, item in given.items()})

    return make
