"""How fast bodies become columns, beside messages: python -m benchmarks.codec.columns [--only TEXT] [--against DIR]

`codec.decode` and `kwire.columns` take turns in one process over the same bodies: copies of one, or several in turn.
Columns read them in one call. What is printed are ratios within a round: their median, and in brackets the least and
the greatest; above 1 columns are faster. Neither keeps what it made. Before anything is timed, columns must hold the
values of the messages.

    all         every column, those of enclosing levels too: each is repeated for each row
    dictionary  the same, with strings and uuids around the rows as dictionaries
    own         the columns of the rows themselves
    two         two of them
    one         every column of one body alone, in a call of its own

--against DIR compares with the columns of another checkout instead of with messages: it reads the same bodies in a
process of its own, in the same rounds.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import kwire
from benchmarks.lib.bodies import Body, bodies, made
from benchmarks.lib.checkouts import arguments_for
from kwire.codecs.columns.column_plan import paths_in

COLUMNS = ("all", "dictionary", "own", "two", "one")
ALONE = 20  # bodies that are read in a call each
Calls = dict[str, Callable[[], object]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT", help="bodies whose names hold this text")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--bytes", type=int, default=4 << 20, help="of all bodies of one kind together")
    parser.add_argument("--against", type=Path, metavar="DIR", help="another checkout of kwire")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    chosen = [
        (body, path) for body in [*bodies(options.only, in_turn=True), *many(options.only)] if (path := innermost(body))
    ]
    if options.child:
        serve(chosen, options.bytes)
        return
    other = None if options.against is None else Checkout(options)
    print(f"{'rows a body, bytes a body, µs a body as messages':70}" + "".join(f"{name:>22}" for name in COLUMNS))
    for number, (body, path) in enumerate(chosen):
        print(row(number, body, path, options, other), flush=True)


class Checkout:
    """Another checkout, which reads the same bodies in a process of its own."""

    def __init__(self, options: argparse.Namespace) -> None:
        benchmark = [sys.executable, *arguments_for("benchmarks.codec.columns")]
        command = [*benchmark, "--child", "--only", options.only, "--bytes", str(options.bytes)]
        env = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(options.against.resolve()), os.environ.get("PYTHONPATH", "")]),
        }
        self.process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def seconds(self, number: int, name: str) -> float:
        """Return the processor time of one call over a body."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps([number, name]), file=self.process.stdin, flush=True)
        return float(self.process.stdout.readline())


def serve(chosen: list[tuple[Body, str]], size: int) -> None:
    """Time what is asked for on standard input: the number of a body, and which columns."""
    last, made_calls = -1, Calls()
    for line in sys.stdin:
        number, name = json.loads(line)
        if number != last:
            body, path = chosen[number]
            last, made_calls = number, calls_of(body, {one: reader(body, path, one) for one in COLUMNS}, size)
            for call in made_calls.values():
                call()
        print(seconds(made_calls[name]), flush=True)


def many(only: str) -> list[Body]:
    """Return what is read by the hundred: bodies of which each has other values."""
    shapes = ((1, 1000, False), (100, 10, False), (100, 10, True))
    labels = [
        f"MetadataResponse v12 {outer}x{inner}{' mixed' if mixed else ''} unlike" for outer, inner, mixed in shapes
    ]
    return [
        made("MetadataResponse", 12, *shape, alike=False, count=40)
        for shape, label in zip(shapes, labels, strict=True)
        if only in label
    ]


def innermost(body: Body) -> str:
    """Return the path of the array of structs that has the most elements in a body; empty if there is none."""
    message = kwire.codec(body.message, body.version).decode(body.data)
    counts = {path: len(list(elements(message, path.split(".")))) for path in paths(body)}
    return max(counts, key=lambda path: (counts[path], path), default="")


def paths(body: Body) -> list[str]:
    """Return the paths of all arrays of structs."""
    tree = kwire.codec(body.message, body.version).schema
    found = paths_in([tree])
    return [path for path in found if path.endswith("[]") and any(one.startswith(f"{path}.") for one in found)] or [
        path for path in found if path.endswith("[]") and "." not in path
    ]


def elements(value: Any, names: list[str]) -> Iterator[Any]:
    """Yield the elements of an array of a message."""
    if not names:
        yield value
        return
    found = getattr(value, names[0].removesuffix("[]"))
    for item in found or () if names[0].endswith("[]") else [found] if found is not None else ():
        yield from elements(item, names[1:])


def row(number: int, body: Body, path: str, options: argparse.Namespace, other: Checkout | None) -> str:
    """Measure one body; return its line."""
    readers = {name: reader(body, path, name) for name in COLUMNS}
    rows = check(kwire.codec(body.message, body.version), body, path, readers)
    calls = calls_of(body, readers, options.bytes)
    times: dict[str, list[float]] = {name: [] for name in calls}
    theirs: dict[str, list[float]] = {name: [] for name in COLUMNS}
    for _ in range(options.rounds):
        for name, call in calls.items():
            times[name].append(seconds(call))
        for name in COLUMNS:
            if other is not None:
                theirs[name].append(other.seconds(number, name))
            else:
                theirs[name].append(times["messages"][-1] * (share(body, options.bytes) if name == "one" else 1))
    label = f"{body.label} {path}"
    each = statistics.median(times["messages"]) / len(copies_of(body, options.bytes)) * 1e6
    cells = "".join(f"{text(theirs[name], times[name]):>22}" for name in COLUMNS)
    return f"{label[:48]:48}{rows:>6}{body.size:>7.0f}{each:>9.1f}{cells}"


def copies_of(body: Body, size: int) -> list[bytes]:
    """Return so many bytes of bodies in turn, each in memory of its own."""
    count = max(len(body.datas), int(size / body.size))
    return [bytes(bytearray(data)) for data in islice(cycle(body.datas), count)]


def share(body: Body, size: int) -> float:
    """Return which part of the bodies is read alone."""
    count = len(copies_of(body, size))
    return min(ALONE, count) / count


def calls_of(body: Body, readers: dict[str, Any], size: int) -> Calls:
    """Return what is timed: all bodies as messages, and as each kind of columns."""
    copies, codec = copies_of(body, size), kwire.codec(body.message, body.version)
    calls: Calls = {"messages": lambda: [None for one in copies if codec.decode(one) is None]}
    for name, columns in readers.items():
        calls[name] = lambda columns=columns: [None for batch in columns.read(copies) if batch is None]  # type: ignore[misc]
    alone = [[one] for one in copies[:ALONE]]
    calls["one"] = lambda: [None for one in alone for batch in readers["one"].read(one) if batch is None]
    return calls


def reader(body: Body, path: str, name: str) -> Any:
    """Return the columns that a name stands for."""
    whole = kwire.columns(body.message, body.version, path, dictionary=name == "dictionary")
    own = [
        column for column in kwire.arrow_schema(body.message, body.version, path).names if not is_outer(column, path)
    ]
    if name in ("all", "dictionary", "one"):
        return whole
    return kwire.columns(body.message, body.version, path, columns=own if name == "own" else own[1:3])


def is_outer(column: str, path: str) -> bool:
    """Say whether a column is of an enclosing level."""
    outer = ["message", *(name.removesuffix("[]") for name in path.split(".")[:-1])]
    return any(column.startswith(f"{name}_") for name in outer)


def check(codec: kwire.Codec, body: Body, path: str, readers: dict[str, Any]) -> int:
    """Make sure that columns hold the values of the messages; return how many rows a body has."""
    there = [item for data in body.datas for item in elements(codec.decode(data), path.split("."))]
    for columns in readers.values():
        batches = [batch.rows for batch in columns.read(body.datas)]
        assert sum(batch.num_rows for batch in batches) == len(there), (body.label, path)
        for name in columns.schema.names:
            values = [getattr(item, name, None) for item in there]
            if values and isinstance(values[0], int | str | bytes | tuple) and not is_nested(values):
                values = [list(value) if isinstance(value, tuple) else value for value in values]
                assert [value for batch in batches for value in batch.column(name).to_pylist()] == values, name
    return len(there) // len(body.datas)


def is_nested(values: list[Any]) -> bool:
    """Say whether values are arrays of structs."""
    return any(hasattr(item, "__struct_fields__") for value in values if isinstance(value, tuple) for item in value)


def seconds(call: Callable[[], object]) -> float:
    """Return the processor time of one call."""
    gc.collect()
    begin = time.process_time()
    call()
    return time.process_time() - begin


def text(theirs: list[float], ours: list[float]) -> str:
    found = [one / other for one, other in zip(theirs, ours, strict=True)]
    return f"{statistics.median(found):.2f} ({min(found):.2f}-{max(found):.2f})"


if __name__ == "__main__":
    main()
