"""A scan as a lazy frame of polars: https://docs.pola.rs/user-guide/plugins/io_plugins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import MissingExtra

if TYPE_CHECKING:
    from polars import DataFrame, Expr, LazyFrame


class Selectable(Protocol):
    """Record batches of a schema, of which columns can be selected: a `CaptureScan`."""

    schema: Any

    def select(self, columns: Sequence[str]) -> Selectable:
        """Return the batches with these columns at least."""

    def __iter__(self) -> Iterator[Any]:
        """Yield the batches."""


def lazy_frame(scan: Selectable) -> LazyFrame:
    """Return a lazy frame over a scan.

    Args:
        scan: the scan, with all columns that queries may use.

    Raises:
        MissingExtra: polars is not installed.
    """
    try:
        import polars
        from polars.io.plugins import register_io_source
    except ImportError:
        raise MissingExtra("CaptureScan.lazy", "polars", "polars") from None

    def read(
        columns: list[str] | None, predicate: Expr | None, count: int | None, batch_size: int | None
    ) -> Iterator[DataFrame]:
        chosen = scan if columns is None else scan.select(columns)
        for batch in chosen:
            rows = polars.DataFrame(batch)
            rows = rows if predicate is None else rows.filter(predicate)
            rows = rows if columns is None else rows.select(columns)
            if count is not None:
                rows = rows.head(count)
                count -= len(rows)
            yield rows
            if count == 0:
                return

    return register_io_source(read, schema=polars.DataFrame(scan.schema.empty_table()).schema)
