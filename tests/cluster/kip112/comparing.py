"""What a replay says beside what was on the wire: per broker, session and partition the same, in the same order.

`python -m tests.cluster.kip112.comparing FOLDER [RUN ...]` compares any runs of the kind of
`../shared/captures`.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

from kwire.cluster.kip112 import TopicPartition
from tests.cluster.kip112.replaying import Replay
from tests.cluster.kip112.runs import UNANSWERED, Row, Run, Said, read_run


def sequences(said: list[Said], run: Run) -> dict[tuple[int, int, TopicPartition], list[tuple[float, Row]]]:
    """Return what each broker, in each of its sessions, was told of each partition, in order."""
    found = defaultdict(list)
    for one in said:
        for partition, row in one.rows(run.names):
            found[one.broker_id, run.session(one.broker_id, one.time), partition].append((one.time, row))
    return dict(found)


def differences(run: Run) -> list[str]:
    """Replay a run; returns a line for each broker, session and partition that was told otherwise.

    A broker that leaves need not receive the end of what the controller has to say to it.
    """
    replay = Replay(run)
    replay.play()
    real, ours = sequences(run.said, run), sequences(replay.said, run)
    lines = list(replay.log)
    for key in sorted(real.keys() | ours.keys()):
        wire, told = [row for _, row in real.get(key, [])], ours.get(key, [])
        cut = [one for one in told[len(wire) :] if one[0] < run.leaving_since(*key[:2])]
        wrong = [n for n, row in enumerate(wire) if n >= len(told) or not _same(row, told[n][1])]
        if wrong or cut:
            at = wrong[0] if wrong else len(wire)
            lines.append(
                f"{key}, entry {at}: the wire has {wire[at : at + 1]}, we have {[row for _, row in told[at : at + 1]]}"
            )
    return lines


def _same(wire: Row, told: Row) -> bool:
    return wire == told or (wire[-1] == UNANSWERED and wire[:-1] == told[:-1])


def main(folder: str, *names: str) -> None:
    """Print what differs in runs; all of a folder unless some are named."""
    found = names or sorted(
        path.name.removesuffix(".znodes.history.jsonl") for path in Path(folder).glob("*.znodes.history.jsonl")
    )
    for name in found:
        run = read_run(Path(folder), name)
        count = sum(len(one.rows(run.names)) for one in run.said)
        lines = differences(run)
        sys.stdout.write("\n  ".join([f"{name}: {count} entries, {len(lines)} differences", *lines]) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
