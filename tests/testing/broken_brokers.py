"""Faults put into the brokers on purpose, for simulations to find. Each is a function that breaks something."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from unittest.mock import patch

from kwire.broker.apis.records import fetch
from kwire.broker.cluster import BrokerCluster
from kwire.broker.controller import replica_catch_up
from kwire.broker.controller.partition import Partition
from kwire.broker.controller.topic_names import GROUPS, INTERNAL
from kwire.broker.groups.group_coordinator import GroupCoordinator
from kwire.broker.groups.share_partition import SharePartition
from kwire.broker.log.producer_state_manager import ProducerStateManager
from kwire.broker.share_groups.share_coordinator import ShareCoordinator
from kwire.broker.transactions.transaction_coordinator import TransactionCoordinator
from kwire.values import ErrorCode


class Bug(NamedTuple):
    """A fault in a method: what to replace, by what, and the invariants of which at least one must be violated."""

    name: str
    owner: Any
    method: str
    replace: Callable[[Any], Any]
    invariants: tuple[str, ...]

    @contextmanager
    def planted(self) -> Iterator[None]:
        """Have the fault in the brokers until the block ends."""
        with patch.object(self.owner, self.method, self.replace(getattr(self.owner, self.method))):
            yield


def _drop_a_record(elect_leader: Any) -> Any:
    """The new leader lacks the last batch, and so do the others."""

    def broken(partition: Partition) -> None:
        epoch = partition.leader_epoch
        elect_leader(partition)
        if partition.leader_epoch > max(epoch, 0) and partition.topic not in INTERNAL:
            for log in partition.online_logs().values():
                if log.entries:
                    log.truncate(len(log.entries) - 1)

    return broken


def _mark_twice(mark: Any) -> Any:
    def broken(self: Any, *args: Any, **more: Any) -> Any:
        return mark(self, *args, **more) or mark(self, *args, **more)

    return broken


def _accept_all_sequences(check: Any) -> Any:
    def broken(self: Any, batch: Any) -> Any:
        is_fenced = batch.producer_epoch < self.epoch_of(batch.producer_id)
        return check(self, batch) if is_fenced else (ErrorCode.NONE, None)

    return broken


def _keep_the_epoch(bumped: Any) -> Any:
    def broken(self: Any, one: Any) -> Any:
        return bumped(self, one) if one.producer_id < 0 else one.epochs

    return broken


def _forget_commits(move_leader: Any) -> Any:
    def broken(self: Any, partition: Partition, node_id: int) -> None:
        move_leader(self, partition, node_id)
        if partition.topic == GROUPS:
            for group in self.groups.all():
                self.groups.delete_commits(
                    group, [(name, index) for name, rows in group.commits.topics() for index in rows]
                )

    return broken


def _forget_acknowledgements(acknowledge: Any) -> Any:
    def broken(self: Any, member: str, batches: Any, limits: Any, until: float) -> int:
        rows = list(batches)
        return 0 if rows and rows[0][0] % 3 == 0 else acknowledge(self, member, rows, limits, until)

    return broken


def _stable_to_the_end(stable_end: Any) -> Any:
    return lambda self, end: end


def _copy_nothing(copy: Any) -> Any:
    return lambda *args: None


def _forget_a_member(keep_consumer: Any) -> Any:
    calls = []

    def broken(self: Any, group: Any, member: Any, now: float) -> None:
        keep_consumer(self, group, member, now)
        calls.append(member)
        if len(calls) % 9 == 0:
            group.consumer.members.pop(member.member_id, None)

    return broken


def _commit_all_offsets(end_transaction: Any) -> Any:
    def broken(self: Any, producer_id: int, index: int, *, is_commit: bool) -> None:
        end_transaction(self, producer_id, index, is_commit=True)

    return broken


def _skip_a_partition(mark: Any) -> Any:
    def broken(self: Any, partition: Partition, *args: Any, **more: Any) -> Any:
        is_skipped = partition.topic not in INTERNAL and partition.index == 1
        return ErrorCode.NONE if is_skipped else mark(self, partition, *args, **more)

    return broken


def _hide_aborted(aborted: Any) -> Any:
    return lambda *args: ()


def _keep_locks(expire: Any) -> Any:
    return lambda *args: None


def _forget_on_restart(restore: Any) -> Any:
    return lambda self: None


BUGS = (
    Bug(
        "an acknowledged record is dropped at an election",
        Partition,
        "elect_leader",
        _drop_a_record,
        ("acknowledged records survive", "reads are stable"),
    ),
    Bug(
        "a transaction marker is written twice",
        TransactionCoordinator,
        "mark",
        _mark_twice,
        ("one marker ends a transaction",),
    ),
    Bug(
        "sequences are not checked", ProducerStateManager, "check", _accept_all_sequences, ("records are stored once",)
    ),
    Bug(
        "a predecessor is not fenced",
        TransactionCoordinator,
        "_next_epochs",
        _keep_the_epoch,
        ("fenced producers write nothing", "one marker ends a transaction"),
    ),
    Bug(
        "commits are lost when the coordinator moves",
        BrokerCluster,
        "move_leader",
        _forget_commits,
        ("committed offsets never go back",),
    ),
    Bug(
        "share acknowledgements are forgotten",
        SharePartition,
        "acknowledge",
        _forget_acknowledgements,
        ("acknowledged share records stay away",),
    ),
    Bug(
        "the last stable offset is too high",
        ProducerStateManager,
        "stable_end",
        _stable_to_the_end,
        ("read_committed reads what is committed",),
    ),
    Bug(
        "a replica that lags behind is in the ISR",
        replica_catch_up,
        "_copy",
        _copy_nothing,
        ("acknowledged records survive", "reads are stable"),
    ),
    Bug(
        "a group forgets a member",
        GroupCoordinator,
        "keep_consumer",
        _forget_a_member,
        ("groups remember their members",),
    ),
    Bug(
        "offsets of aborted transactions are committed",
        GroupCoordinator,
        "end_transaction",
        _commit_all_offsets,
        ("transactions commit offsets",),
    ),
    Bug("a partition gets no marker", TransactionCoordinator, "mark", _skip_a_partition, ("watermarks never go back",)),
    Bug(
        "aborted records are not filtered",
        fetch,
        "_list_aborted",
        _hide_aborted,
        ("transactions are all or nothing",),
    ),
    Bug("acquisition locks never expire", ShareCoordinator, "lock", _keep_locks, ("share records are delivered",)),
    Bug(
        "commits are lost in a restart",
        GroupCoordinator,
        "restore",
        _forget_on_restart,
        ("committed offsets never go back",),
    ),
)
