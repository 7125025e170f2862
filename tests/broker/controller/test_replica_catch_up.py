"""Replicas after a restart: damaged bytes anywhere never cost what another replica has, and every cut is named."""

from __future__ import annotations

from contextlib import suppress
from copy import deepcopy
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kwire
from kwire.broker import ServedCluster
from kwire.broker.log.batch_recovery import StoredBatch
from tests.broker.served import batch, fetch, produce, values
from tests.broker.stored import Segments, StoredDisk, started

RUNS = 4  # batches that each run of the cluster writes


def written(brokers: int, *, segment_bytes: int = 400, runs: int = 2) -> tuple[list[StoredDisk], list[bytes]]:
    """Disks of a cluster that was started some times, and what was acknowledged."""
    disks = [StoredDisk(f"/d{number}", segment_bytes) for number in range(1, brokers + 1)]
    acknowledged: list[bytes] = []
    for run in range(runs):
        cluster = started(disks, Random(run))
        if not run:
            cluster.controller.create("t", {0: list(range(1, brokers + 1))})
        for number in range(RUNS):
            some = [b"%d-%d-%d" % (run, number, record) for record in range(1 + number % 3)]
            assert produce(cluster, batch(*some)).error_code == 0
            acknowledged += some
    return disks, acknowledged


def log_of(disk: StoredDisk) -> dict[int, bytearray]:
    return disk.logs["t", 0]


def everything(cluster: ServedCluster) -> list[bytes | None]:
    """All records, as the leader of the moment gives them."""
    (partition,) = cluster.controller.topics["t"].partitions
    found: list[bytes | None] = []
    log = partition.replicas[partition.leader].log
    assert log is not None
    offset = log.start
    while offset < log.end:
        row = fetch(cluster, offset, node=partition.leader)
        found += values(row)
        *_, last = kwire.parse_records(row.records)
        offset = last.last_offset + 1
    return found


@st.composite
def damaged(draw: Any) -> tuple[list[StoredDisk], list[bytes], StoredDisk, bytes]:
    """Disks of which one is whole; what was acknowledged; and that disk, with the bytes that it had."""
    disks, acknowledged = deepcopy(WRITTEN[draw(st.sampled_from(sorted(WRITTEN)))])
    healthy = draw(st.sampled_from(disks))
    for disk in disks:
        if disk is healthy:
            continue
        for _ in range(draw(st.integers(0, 3))):
            files = draw(st.sampled_from([log_of(disk)] * 3 + list(disk.journals.values())))
            start = draw(st.sampled_from(sorted(files)))
            _damage(draw, files, start)
            if not files:
                break
    return disks, acknowledged, healthy, joined(log_of(healthy))


def _damage(draw: Any, files: dict[int, bytearray], start: int) -> None:
    file = files[start]
    kind = draw(st.sampled_from(["byte", "byte", "byte", "header", "cut", "swap", "lost", "more"]))
    if kind == "lost" and len(files) > 1:
        del files[start]
    elif kind == "more":
        file += draw(st.binary(min_size=1, max_size=80))
    elif file and kind == "cut":
        del file[draw(st.integers(0, len(file) - 1)) :]
    elif file and kind == "swap":  # a block of another place
        at, other = (draw(st.integers(0, len(file) - 1)) for _ in range(2))
        file[at : at + 61] = file[other : other + 61]
    elif file:
        most = min(len(file), 24) if kind == "header" else len(file)
        at, change = draw(st.integers(0, most - 1)), draw(st.integers(1, 255))
        if not _is_leader_epoch(file, at):
            file[at] ^= change


def _is_leader_epoch(file: bytearray, at: int) -> bool:
    """Whether a byte is of a batch's leader epoch: no checksum covers it, so of two replicas either may be right."""
    start = 0
    while start + 12 <= at:
        size = 12 + int.from_bytes(file[start + 8 : start + 12], "big", signed=True)
        if at < start + 16 or size < 61:
            break
        start += size
    return start + 12 <= at < start + 16


def joined(files: dict[int, bytearray]) -> bytes:
    return b"".join(bytes(file) for _, file in sorted(files.items()))


WRITTEN = {(count, size): written(count, segment_bytes=size) for count in (2, 3) for size in (300, 1 << 30)}


@given(damaged())
def test_what_a_healthy_replica_has_is_never_lost(case: Any) -> None:
    disks, acknowledged, healthy, before = case
    cluster = started(disks)
    assert everything(cluster) == acknowledged
    assert joined(log_of(healthy)) == before
    assert {joined(log_of(disk)) for disk in disks} == {before}
    again = started(disks)
    assert (again.notes, everything(again)) == ([], acknowledged)
    assert again.cluster_id == cluster.cluster_id


@given(damaged(), st.data())
def test_a_restart_that_is_interrupted_loses_nothing(case: Any, data: Any) -> None:
    disks, acknowledged, _, _ = case
    left, is_torn = data.draw(st.integers(0, 30)), data.draw(st.booleans())
    with pytest.MonkeyPatch.context() as patch:
        stop_after(patch, left, is_torn=is_torn)
        with suppress(KeyboardInterrupt):
            started(disks)
    assert everything(started(disks)) == acknowledged


def stop_after(patch: pytest.MonkeyPatch, count: int, *, is_torn: bool) -> None:
    """Let the process end at a write: so many go well, and the next one is written in part or not at all."""
    left = [count]

    def stopping(name: str) -> Any:
        real = getattr(Segments, name)

        def act(self: Segments, first: Any, *rest: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                if name == "append" and is_torn:
                    real(self, first[: len(first) // 2], *rest)
                raise KeyboardInterrupt
            return real(self, first, *rest)

        return act

    for name in ("append", "truncate", "drop_before"):
        patch.setattr(Segments, name, stopping(name))


@given(st.data())
def test_the_only_replica_keeps_what_is_in_front_of_the_damage(data: Any) -> None:
    (disk,), acknowledged = deepcopy(ALONE)
    file = log_of(disk)[0]
    at, mask = data.draw(st.integers(0, len(file) - 1)), data.draw(st.integers(1, 255))
    batches = [one.batch for one in Segments({0: file}, 1).batches() if isinstance(one, StoredBatch)]
    ends = [sum(len(one.data) for one in batches[: count + 1]) for count in range(len(batches))]
    file[at] ^= mask
    cluster = started([disk])
    whole = sum(end <= at for end in ends)
    kept = batches[whole - 1].last_offset + 1 if whole else 0
    is_epoch = 12 <= at - (ends[whole - 1] if whole else 0) < 16  # no checksum is over it, and it matters to nobody
    assert everything(cluster) == (acknowledged if is_epoch else acknowledged[:kept])
    lost = ends[-1] - (ends[whole - 1] if whole else 0)
    (note,) = cluster.notes or [""]
    assert is_epoch or note.startswith(f"t-0: cut at offset {kept}, {lost} bytes lost: ")
    assert produce(cluster, batch(b"next")).base_offset == (len(acknowledged) if is_epoch else kept)
    assert started([disk]).notes == []


ALONE = written(1, segment_bytes=1 << 30, runs=1)


def test_offsets_that_go_back_are_never_copied() -> None:
    disks, acknowledged = written(3, segment_bytes=1 << 30)
    for at, reason in ((5, "offset 65537 where 1 is expected"), (12, None)):
        file = log_of(disks[1])[0]
        file[place_of(file, 1) + at] = 1
        cluster = started(disks)
        assert everything(cluster) == acknowledged
        assert (not reason) or f"lost: {reason} (broker 2, /d2)" in cluster.notes[0]


def place_of(file: bytearray, number: int) -> int:
    """Where a batch begins."""
    places: list[int] = [one.place[1] for one in Segments({0: file}, 1).batches() if isinstance(one, StoredBatch)]
    return places[number]


def test_two_base_offsets_that_are_damaged_confirm_each_other_and_are_still_not_copied() -> None:
    disks, acknowledged = written(2, segment_bytes=1 << 30)
    file = log_of(disks[0])[0]
    at = [place_of(file, number) for number in (2, 3)]
    file[at[0] + 4], file[at[1] + 3] = 1, 1
    cluster = started(disks)
    assert everything(cluster) == acknowledged


def test_a_damaged_base_offset_before_other_damage_is_cut_too() -> None:
    (disk,), acknowledged = written(1, segment_bytes=1 << 30, runs=1)
    file = log_of(disk)[0]
    at = [place_of(file, number) for number in (2, 3)]
    file[at[0] + 4], file[at[1] + 40] = 1, 0xFF
    cluster = started([disk])
    assert (everything(cluster), len(cluster.notes)) == (acknowledged[:3], 1)
    assert "cut at offset 3, " in cluster.notes[0]
    assert "offset 16777219 where 3 is expected" in cluster.notes[0]


def test_a_log_with_repeated_offsets_is_cut_and_not_emptied() -> None:
    (disk,), acknowledged = written(1, segment_bytes=1 << 30, runs=1)
    file = log_of(disk)[0]
    size = len(file)
    file += bytes(file)  # as when two processes wrote it
    cluster = started([disk])
    assert everything(cluster) == acknowledged
    assert cluster.notes == [f"t-0: cut at offset 7, {size} bytes lost: offset 0 where 7 is expected (broker 1, /d1)"]


def test_a_missing_segment_is_named_and_what_is_behind_it_is_kept() -> None:
    (disk,), acknowledged = written(1, segment_bytes=200)
    starts = sorted(log_of(disk))
    del log_of(disk)[starts[1]]
    cluster = started([disk])
    first, last = starts[1], starts[2] - 1
    missing = f"t-0: offsets {first} to {last} are missing; a segment may have been deleted (broker 1, /d1)"
    assert cluster.notes == [missing]
    assert everything(cluster) == acknowledged[:first] + acknowledged[last + 1 :]


def test_all_segments_or_the_folder_are_missing() -> None:
    (disk,), _ = written(1)
    log_of(disk).clear()
    assert started([disk]).notes == ["t-0: cut at offset 0, 0 bytes lost: no segment is there (broker 1, /d1)"]
    assert started([disk]).notes == []
    disk.logs.clear()
    assert started([disk]).notes == ["t-0: cut at offset 0, 0 bytes lost: its folder is missing (broker 1, /d1)"]
    assert started([disk]).notes == []


def test_gaps_of_compaction_stay() -> None:
    disk = StoredDisk("/d1")
    data = [kwire.build_batch([kwire.Record(offset, 0, None, b"%d" % offset)]) for offset in (0, 5, 9, 10)]
    disk.logs["t", 0] = {0: bytearray(b"".join(data))}
    cluster = started([disk])
    assert (everything(cluster), cluster.notes) == ([b"0", b"5", b"9", b"10"], [])


def all_in_sync_damaged() -> tuple[list[StoredDisk], list[bytes]]:
    """Broker 1 alone is in sync, and damaged; broker 2 has what was acknowledged before it left."""
    disks, acknowledged = written(2, segment_bytes=1 << 30)
    cluster = started(disks)
    cluster.fail(cluster.controller.nodes[2].log_dirs[0])
    produce(cluster, batch(b"only broker 1 has it"))
    log_of(disks[0])[0][100] ^= 1
    return disks, acknowledged


def test_who_was_not_in_sync_helps_where_all_in_sync_are_damaged() -> None:
    disks, acknowledged = all_in_sync_damaged()
    cluster = started(disks)
    assert everything(cluster) == acknowledged
    assert "copied from broker 2" in cluster.notes[1]


@pytest.mark.parametrize("is_torn", [False, True])
@pytest.mark.parametrize("left", range(10))
def test_such_help_may_be_interrupted(left: int, is_torn: bool) -> None:
    disks, acknowledged = all_in_sync_damaged()
    with pytest.MonkeyPatch.context() as patch, suppress(KeyboardInterrupt):
        stop_after(patch, left, is_torn=is_torn)
        started(disks)
    assert everything(started(disks)) == acknowledged


@pytest.mark.parametrize("left", range(6))
def test_a_deleted_topic_stays_so_where_a_restart_is_interrupted(left: int) -> None:
    disks, _ = written(2)
    cluster = started(disks)
    cluster.fail(cluster.controller.nodes[1].log_dirs[0])
    cluster.delete(cluster.controller.topics["t"])
    with pytest.MonkeyPatch.context() as patch, suppress(KeyboardInterrupt):
        stop_after(patch, left, is_torn=True)
        started(disks)
    assert list(started(disks).controller.topics) == []


class FailingSegments(Segments):
    """A store of a disk that fails at its next read or write."""

    def append(self, data: bytes, base_offset: int) -> Any:
        raise OSError(5, "Input/output error")

    def read(self, places: Any) -> bytes:
        raise OSError(5, "Input/output error")


class FailingDisk(StoredDisk):
    """A disk that can be opened, and fails once it is used."""

    def open(self, topic: str, index: int) -> Any:
        return FailingSegments(self.logs.setdefault((topic, index), {0: bytearray()}), self.segment_bytes)


def failing(disk: StoredDisk) -> FailingDisk:
    made = FailingDisk(disk.path)
    made.logs, made.journals = disk.logs, disk.journals
    return made


def test_a_disk_that_fails_during_recovery_takes_nobody_with_it() -> None:
    disks, acknowledged = written(3, segment_bytes=1 << 30)
    log_of(disks[0])[0][100] ^= 1
    log_of(disks[2])[0][-1] ^= 1
    cluster = started([failing(disks[0]), disks[1], disks[2]])  # it cannot take the copy
    (partition,) = cluster.controller.topics["t"].partitions
    assert (partition.isr, partition.offline, partition.leader) == ([2, 3], (1,), 2)
    assert everything(cluster) == acknowledged
    assert joined(log_of(disks[1])) == joined(log_of(disks[2]))


def test_a_source_that_cannot_be_read_is_offline_itself() -> None:
    disks, acknowledged = written(3, segment_bytes=1 << 30)
    log_of(disks[0])[0][100] ^= 1
    cluster = started([disks[0], failing(disks[1]), disks[2]])
    (partition,) = cluster.controller.topics["t"].partitions
    assert (partition.isr, partition.offline, partition.leader) == ([1, 3], (2,), 1)
    assert everything(cluster) == acknowledged


def test_a_log_on_a_directory_that_failed_is_no_source() -> None:
    disks, acknowledged = written(2, segment_bytes=1 << 30)
    before = joined(log_of(disks[0]))

    class Broken(StoredDisk):
        def partitions(self) -> Any:
            raise OSError(5, "Input/output error")

    broken = Broken("/d1")
    broken.logs, broken.journals = disks[0].logs, disks[0].journals
    cluster = started([broken, disks[1]])
    assert produce(cluster, batch(b"more"), node=2).error_code == 0
    assert (everything(cluster), joined(log_of(disks[0]))) == ([*acknowledged, b"more"], before)
