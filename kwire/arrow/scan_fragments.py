"""The fragments of a scan: each is read alone, in any process or on any machine that sees the files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from ..capture.ranges.capture_ranges import CaptureRange
    from .input_splits import InputSplit
    from .ranges.range_tasks import RowChoice
    from .read_options import Options

FRAGMENT = 16 << 20  # bytes


class ScanFragment(NamedTuple):
    """A byte range of a capture with the states of its connections, or a whole file. It can be pickled.

    Attributes:
        options: the options of the read.
        chosen: which rows and columns are kept.
        part: the range or the file.
    """

    options: Options
    chosen: RowChoice
    part: CaptureRange | InputSplit

    @property
    def path(self) -> str:
        """The file."""
        return self.part.path

    @property
    def weight(self) -> int:
        """The size in bytes."""
        return self.part.weight

    def batches(self) -> Iterator[Any]:
        """Yield `pyarrow.RecordBatch`es."""
        return iter(self.reader())

    def reader(self) -> Any:
        """Return a `pyarrow.RecordBatchReader`."""
        from pyarrow import RecordBatchReader

        from .batch_reader import BatchReader

        reading = BatchReader(self.options)
        batches = self.chosen.batches(reading.read_part(self.part))
        return RecordBatchReader.from_batches(self.chosen.schema_of(reading.schema), batches)

    def read(self) -> Any:
        """Return the rows as a `pyarrow.Table`."""
        return self.reader().read_all()
