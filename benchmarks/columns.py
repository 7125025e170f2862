"""How fast bodies become columns, beside messages: python benchmarks/columns.py [--only TEXT] [--rounds N]

`codec.decode` and `kwire.columns` take turns in one process over the same bodies: copies of one, or several in turn.
Columns read them in one call. What is printed are ratios within a round: their median, and in brackets the least and
the greatest; above 1 columns are faster. Neither keeps what it made. Before anything is timed, columns must hold the
values of the messages.

    all         every column, those of enclosing levels too: each is repeated for each row
    dictionary  the same, with strings and uuids around the rows as dictionaries
    own         the columns of the rows themselves
    two         two of them
"""

from __future__ import annotations

import argparse
import gc
import statistics
import time
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from typing import Any

from bodies import Body, bodies, made

import kwire
from kwire.columnar.plan import paths_in

COLUMNS = ("all", "dictionary", "own", "two")
Times = dict[str, list[float]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT", help="bodies whose names hold this text")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--bytes", type=int, default=4 << 20, help="of all bodies of one kind together")
    options = parser.parse_args()
    print(f"{'rows a body, bytes a body, µs a body as messages':70}" + "".join(f"{name:>22}" for name in COLUMNS))
    for body in [*bodies(options.only, in_turn=True), *many(options.only)]:
        path = innermost(body)
        if path:
            print(row(body, path, options.rounds, options.bytes))


def many(only: str) -> list[Body]:
    """Return what is read by the hundred: bodies of which each has other values."""
    found = [
        made("MetadataResponse", 12, outer, inner, mixed, alike=False, count=200)
        for outer, inner, mixed in ((1, 1000, False), (100, 10, False), (100, 10, True))
    ]
    return [body for body in found if only in body.label]


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


def row(body: Body, path: str, rounds: int, size: int) -> str:
    """Measure one body; return its line."""
    codec = kwire.codec(body.message, body.version)
    count = max(len(body.datas), int(size / body.size))
    copies = [bytes(bytearray(data)) for data in islice(cycle(body.datas), count)]
    readers = {name: reader(body, path, name) for name in COLUMNS}
    rows = check(codec, body, path, readers)
    calls: dict[str, Callable[[], object]] = {"messages": lambda: [None for one in copies if codec.decode(one) is None]}
    for name, columns in readers.items():
        calls[name] = lambda columns=columns: [None for batch in columns.read(copies) if batch is None]  # type: ignore[misc]
    times: Times = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(seconds(call))
    label = f"{body.label} {path}"
    each = statistics.median(times["messages"]) / len(copies) * 1e6
    cells = "".join(f"{text(times['messages'], times[name]):>22}" for name in COLUMNS)
    return f"{label[:48]:48}{rows:>6}{body.size:>7.0f}{each:>9.1f}{cells}"


def reader(body: Body, path: str, name: str) -> Any:
    """Return the columns that a name stands for."""
    whole = kwire.columns(body.message, body.version, path, dictionary=name == "dictionary")
    own = [
        column for column in kwire.arrow_schema(body.message, body.version, path).names if not is_outer(column, path)
    ]
    if name in ("all", "dictionary"):
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


def text(messages: list[float], columns: list[float]) -> str:
    found = [theirs / ours for theirs, ours in zip(messages, columns, strict=True)]
    return f"{statistics.median(found):.2f} ({min(found):.2f}-{max(found):.2f})"


if __name__ == "__main__":
    main()
