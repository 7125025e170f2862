"""Byte ranges of growing files of raw frames: how they are divided, and the state at each start.

Decodes nothing. Ranges of captures are in `incremental_capture`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

from ..errors.decode import BadFrame
from ..input.file_systems import open_file
from ..protocol.api_registry import Apis
from .complete_end import Known
from .files import File
from .input_splits import Unit, parts_of
from .options import Options
from .raw_frames import Cut

MOST_REMEMBERED = 1 << 18  # requests in flight, of all stored states
ENDLESS = 1 << 62


class Memory:
    """Stores states at positions of raw frames. A forgotten state is computed again from the start of the file.

    Args:
        options: the options of the read.
        apis: what is known of frames.
    """

    def __init__(self, options: Options, apis: Apis) -> None:
        self.options: Options = options
        self.apis: Apis = apis
        self._known: OrderedDict[tuple[str, int], Known] = OrderedDict()
        self._count = 0

    def known(self, path: str, place: int) -> Known:
        """Return the state at the start of a frame."""
        if not place:
            return Known()
        if (path, place) not in self._known:
            self.divide(path, 0, place, ENDLESS)
        self._known.move_to_end((path, place))
        return self._known[path, place]

    def divide(self, path: str, start: int, stop: int, most: int) -> list[Unit]:
        """Divide a range into input splits of about `most` bytes, and store the state at its end."""
        known = self.known(path, start)
        if known.broken is not None:
            places = range(start, stop, most)
            units = [Unit(path, at, min(stop, at + most), known.state, broken=known.broken) for at in places]
            units = [unit._replace(weight=(unit.stop or 0) - unit.start) for unit in units]
        else:
            units, known = self._walk(path, start, stop, most, known)
        self._learn((path, stop), known)
        return units

    def _walk(self, path: str, start: int, stop: int, most: int, known: Known) -> tuple[list[Unit], Known]:
        units: list[Unit] = []
        parts = parts_of(File(path, stop, 0), most, self.options, self.apis, start, known.state)
        while True:
            try:
                units.append(next(parts))
            except StopIteration as end:
                return units, Known(*end.value)

    def _learn(self, place: tuple[str, int], known: Known) -> None:
        old = self._known.pop(place, None)
        self._count -= 0 if old is None else 1 + len(old.state.waiting)
        self._known[place] = known
        self._count += 1 + len(known.state.waiting)
        while self._count > MOST_REMEMBERED and len(self._known) > 1:
            _, old = self._known.popitem(last=False)
            self._count -= 1 + len(old.state.waiting)


def broken_cuts(unit: Unit, options: Options) -> Iterator[list[Cut]]:
    """Yield the fragments of a range after the position where frames ended."""
    assert unit.stop is not None and unit.broken is not None
    with open_file(unit.path) as stream:
        stream.seek(unit.broken)
        size = int.from_bytes(stream.read(4), "big", signed=True)
        fault = BadFrame(offset=0, found=size, need=unit.state.least, have=options.max_frame_bytes)
        stream.seek(unit.start)
        offset = unit.start
        while piece := stream.read(min(options.max_corrupt_bytes, unit.stop - offset)):
            yield [(offset, piece, fault)]
            offset += len(piece)
