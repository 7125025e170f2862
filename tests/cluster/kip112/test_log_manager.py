"""Log directories: which are good, where replicas are made, and which replicas are lost."""

from __future__ import annotations

import pytest

from kwire.cluster.kip112 import JbodDisk, LogManager, PartitionLog

A, B, C = ("a", 0), ("b", 0), ("c", 0)


def test_a_replica_is_made_where_there_are_fewest() -> None:
    manager = LogManager({"/a": JbodDisk(), "/b": JbodDisk()})
    assert [(manager.get_or_create(one, is_new=True) is not None, manager.directory_of(one)) for one in (A, B, C)] == [
        (True, "/a"),
        (True, "/b"),
        (True, "/a"),
    ]


@pytest.mark.parametrize("is_new", [True, False])
def test_a_replica_that_is_there_is_found(is_new: bool) -> None:
    log = PartitionLog([(0, "x")])
    manager = LogManager({"/a": JbodDisk(), "/b": JbodDisk(logs={A: log}), "/c": JbodDisk(works=False)})
    assert manager.get_or_create(A, is_new=is_new) is log


def test_what_may_lie_on_a_bad_directory_is_not_made_again() -> None:
    manager = LogManager({"/a": JbodDisk(), "/b": JbodDisk(works=False, logs={A: PartitionLog()})})
    assert manager.get_or_create(A, is_new=False) is None
    assert manager.get_or_create(B, is_new=True) is not None
    assert manager.offline_log_directory_count == 1


def test_a_directory_that_fails_takes_its_replicas() -> None:
    manager = LogManager({"/a": JbodDisk(), "/b": JbodDisk()})
    for one in (A, B, C):
        manager.get_or_create(one, is_new=True)
    assert manager.fail("/a") == [A, C]
    assert manager.fail("/a") == []
    assert (manager.get(A), manager.directory_of(B), manager.offline_log_directory_count) == (None, "/b", 1)


def test_a_disk_that_failed_unnoticed_is_noticed_when_it_is_written_to() -> None:
    disks = {"/a": JbodDisk(), "/b": JbodDisk()}
    manager = LogManager(disks)
    disks["/a"].works = False
    assert manager.get_or_create(A, is_new=True) is not None
    assert (manager.directory_of(A), manager.broken) == ("/b", ["/a"])
    disks["/b"].works = False
    assert manager.get_or_create(B, is_new=True) is None


def test_replicas_move_between_directories_with_their_records() -> None:
    manager = LogManager({"/a": JbodDisk(), "/b": JbodDisk()})
    log = manager.get_or_create(A, is_new=True)
    manager.place([A, B], "/b")
    assert (manager.directory_of(A), manager.get(A)) == ("/b", log)
    manager.delete(A)
    manager.delete(B)
    assert manager.get(A) is None
