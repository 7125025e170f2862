"""Progress is shown on a terminal, after a second, and leaves no trace."""

from __future__ import annotations

import io
from itertools import count

from kwire.cli.terminal import with_progress
from tests.cli.test_terminal import Terminal


def ran(stream: io.StringIO, step: float, wanted: bool = True) -> str:
    ticks = count()
    items = list(with_progress(iter(range(5)), stream=stream, clock=lambda: next(ticks) * step, wanted=wanted))
    assert items == [0, 1, 2, 3, 4]
    return stream.getvalue()


def test_nothing_in_the_first_second() -> None:
    assert ran(Terminal(), 0.1) == ""


def test_then_a_line_that_is_cleared() -> None:
    assert ran(Terminal(), 0.5) == (
        "\r\x1b[Kkwire: 2 frames, 2 a second"
        "\r\x1b[Kkwire: 3 frames, 2 a second"
        "\r\x1b[Kkwire: 4 frames, 2 a second"
        "\r\x1b[Kkwire: 5 frames, 2 a second"
        "\r\x1b[K"
    )


def test_not_in_files_and_not_where_it_is_unwanted() -> None:
    assert ran(io.StringIO(), 0.5) == ""
    assert ran(Terminal(), 0.5, wanted=False) == ""
