"""`kwire.columns` and `kwire.arrow_schema`: arrays of a message as Arrow columns.

There is no Python object per value; pyarrow and numpy (the extra `arrow`) are imported on first use.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ...errors import MissingExtra
from ...schema.catalog import Catalog
from ...schema.message_classes import find_spec
from ..schema_tree import grow_tree

if TYPE_CHECKING:
    from .column_reader import Columns


def columns(
    name: str | int | type[Any],
    version: int,
    path: str = "",
    *,
    columns: Sequence[str] | None = None,
    union: bool = False,
    dictionary: bool = False,
    max_rows: int = 4096,
    max_bytes: int = 8 << 20,
    profile: str | None = None,
    release: str | None = None,
    catalog: Catalog | None = None,
) -> Columns:
    """Return a reader of many bodies of a message into Arrow record batches; `Columns` describes the columns.

    Args:
        name, version, profile, release, catalog: the message, as for `kwire.codec`.
        path: an array of the message such as `topics[].partitions[]`, or a struct in one; empty for the message itself.
        columns: the columns to read, in this order; fields of structs by dots (`topics.name`). None: see `Columns`.
        union: include the columns of all versions; null if this version does not have them.
        dictionary: encode strings and uuids of enclosing levels as dictionaries, which Spark does not accept.
        max_rows, max_bytes: limits of a record batch; a single row may be larger.

    Raises:
        MissingExtra: pyarrow or numpy is not installed.
        UnknownMessage, UnsupportedVersion: the message, array, column or version does not exist.

    >>> import kwire
    >>> states = kwire.columns("StopReplicaRequest", 0, columns=["controller_id", "body_index"])
    >>> batch, errors = next(states.read([bytes.fromhex("00000007 00000001 00 00000000"), b"cut"]))
    >>> batch.to_pylist(), errors[0].body_index
    ([{'controller_id': 7, 'body_index': 0}], 1)
    """
    need_libraries()
    from .column_reader import Columns

    spec = find_spec(name, version, profile=profile, release=release, catalog=catalog)
    limits = {"max_rows": max_rows, "max_bytes": max_bytes}
    return Columns(spec, version, path, columns, union=union, dictionary=dictionary, **limits)


def arrow_schema(
    name: str | int | type[Any],
    version: int | None = None,
    path: str = "",
    *,
    columns: Sequence[str] | None = None,
    profile: str | None = None,
    release: str | None = None,
    catalog: Catalog | None = None,
) -> Any:
    """Return the Arrow schema of the columns of a message, as `columns` returns them.

    Args:
        name, path, columns, profile, release, catalog: as for `columns`.
        version: the version of the message; None for the columns of all versions.

    Returns:
        A `pyarrow.Schema`. Every field is nullable; unsigned integers are widened to types that Spark supports.

    Raises:
        See `columns`.

    >>> import kwire
    >>> print(kwire.arrow_schema("StopReplicaRequest", 4, "topic_states[].partition_states[]",
    ...     columns=["body_index", "topic_states_topic_name", "partition_index"]))
    body_index: int64
    topic_states_topic_name: string
    partition_index: int32
    """
    need_libraries()
    from .column_plan import ColumnPlan, trees_of

    spec = find_spec(name, version, profile=profile, release=release, catalog=catalog)
    trees = trees_of(spec) if version is None else [grow_tree(spec, version)]
    return ColumnPlan(trees, path, columns).schema


def need_libraries() -> None:
    """Raise MissingExtra if pyarrow or numpy cannot be imported."""
    for library in ("numpy", "pyarrow"):
        try:
            import_module(library)
        except ImportError:
            raise MissingExtra("columns", library, "arrow") from None
