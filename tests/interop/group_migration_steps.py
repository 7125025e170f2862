"""The steps of a group that changes from the classic protocol to KIP-848's and back while it has members.

`python -m tests.interop.group_migration_steps HOST:PORT` prints a line for each;
`tests/data/group-migration-kafka-4.1.0.txt` is what Kafka 4.1.0 answered, with `group.consumer.migration.policy` as it
is by default, bidirectional.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import kwire
from kwire.client.address import address
from kwire.client.connection import BrokerConnection
from kwire.protocol.nested import decode_assignment, encode_assignment, encode_subscription
from tests.interop.consumer_group_steps import Consumers
from tests.interop.transaction_steps import TRANSIENT, Line

M = kwire.messages
RANGE = "range"


class Migrating(Consumers):
    """Groups with members of both protocols; each member has a connection of its own."""

    def begin(self) -> None:
        super().begin()
        self.base = self.group
        self.pool = ThreadPoolExecutor()
        self.generations: dict[str, int] = {}

    def begin_group(self, name: str) -> None:
        """Go on with another group, which has no members."""
        self.group = f"{self.base}-{name}"
        self.ids = {one: f"member-{one}-{self.group}" for one in "mn"}
        self.epochs, self.generations = {}, {}
        self.group_coordinator = self._coordinator(self.group, 0)

    def send(self, member: str, name: str, version: int, **fields: Any) -> Any:
        """Ask on the connection of a member."""
        if member not in self.connections:
            self.connections[member] = BrokerConnection(
                address(self.group_coordinator), timeout=30, client_id=f"client-{member}"
            )
        request = getattr(M, f"{name}Request")(group_id=self.group, **fields)
        answer = self.connections[member].ask(kwire.codec(f"{name}Request", version), request)
        assert answer is not None
        return answer.message

    def subscription(self, *owned: int) -> bytes:
        part = M.ConsumerProtocolSubscription.TopicPartition
        rows = (part(topic=self.topic, partitions=owned),) if owned else ()
        return encode_subscription(M.ConsumerProtocolSubscription(topics=(self.topic,), owned_partitions=rows), 1)

    def sign_in(self, name: str, *owned: int, kind: str = "consumer", protocol: str = RANGE, **fields: Any) -> Any:
        """Send JoinGroup, again with the member id if there was none; returns the error code, the generation, and
        whether the member leads."""
        row = M.JoinGroupRequest.JoinGroupRequestProtocol
        metadata = fields.pop("metadata", self.subscription(*owned))
        usual: dict[str, Any] = {
            "session_timeout_ms": 30_000,
            "rebalance_timeout_ms": 60_000,
            "protocol_type": kind,
            "protocols": (row(name=protocol, metadata=metadata),),
        }
        for _ in range(2):
            member_id = self.ids.get(name, "")
            found = self.until(
                lambda: self.send(name, "JoinGroup", 9, member_id=member_id, **{**usual, **fields}),  # noqa: B023
                lambda one: one.error_code not in TRANSIENT,
            )
            if found.error_code != 79:
                break
            self.ids[name] = found.member_id
        if found.error_code:
            return found.error_code
        self.ids[name], self.generations[name] = found.member_id, found.generation_id
        leads = found.leader == found.member_id
        return found.error_code, found.generation_id, found.protocol_name, leads, len(found.members)

    def start(self, name: str, *owned: int, **fields: Any) -> Future[Any]:
        """Send JoinGroup, whose response may come only when others have joined too."""
        return self.pool.submit(self.sign_in, name, *owned, **fields)

    def sync(self, name: str, assigned: dict[str, tuple[int, ...]] | None = None, **fields: Any) -> Any:
        """Return the error code of SyncGroup and the partitions."""
        row, part = M.SyncGroupRequest.SyncGroupRequestAssignment, M.ConsumerProtocolAssignment.TopicPartition

        def assignment(indexes: tuple[int, ...]) -> bytes:
            rows = (part(topic=self.topic, partitions=indexes),)
            return encode_assignment(M.ConsumerProtocolAssignment(assigned_partitions=rows), 1)

        rows = tuple(
            row(member_id=self.ids[one], assignment=assignment(places)) for one, places in (assigned or {}).items()
        )
        usual: dict[str, Any] = {
            "member_id": self.ids.get(name, name),
            "generation_id": self.generations.get(name, 1),
            "protocol_type": "consumer",
            "protocol_name": RANGE,
            "assignments": rows,
        }
        found = self.send(name, "SyncGroup", 5, **{**usual, **fields})
        if found.error_code:
            return found.error_code
        topics = decode_assignment(found.assignment).message.assigned_partitions if found.assignment else ()
        return sorted(index for one in topics for index in one.partitions)

    def count(self, name: str, **fields: Any) -> Any:
        """Return how many partitions a member has after SyncGroup, or the error."""
        found = self.sync(name, **fields)
        return len(found) if isinstance(found, list) else f"error {found}"

    def named(self, member_id: str, version: int) -> int:
        """Return the error code of JoinGroup with a member id."""
        row = M.JoinGroupRequest.JoinGroupRequestProtocol(name=RANGE, metadata=self.subscription())
        timeouts = {"session_timeout_ms": 30_000, "rebalance_timeout_ms": 60_000}
        who = {"member_id": member_id, "protocol_type": "consumer", "protocols": (row,)}
        return int(self.send(f"named {member_id}", "JoinGroup", version, **timeouts, **who).error_code)

    def committing(self, name: str, epoch: int) -> dict[str, Any]:
        request = M.OffsetCommitRequest
        part = request.OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
        rows = (request.OffsetCommitRequestTopic(name=self.topic, partitions=(part,)),)
        return {"member_id": self.ids[name], "generation_id_or_member_epoch": epoch, "topics": rows}

    def live(self, name: str, **fields: Any) -> int:
        """Return the error code of Heartbeat."""
        usual = {"member_id": self.ids.get(name, name), "generation_id": self.generations.get(name, 1)}
        return int(self.send(name, "Heartbeat", 4, **{**usual, **fields}).error_code)

    def rejoins(self, name: str) -> bool:
        """Whether a member is asked to join again, if not at once."""
        return bool(self.until(lambda: self.live(name), lambda code: code == 27) == 27)

    def go(self, name: str, **fields: Any) -> list[int]:
        """Return the error codes of LeaveGroup."""
        row = M.LeaveGroupRequest.MemberIdentity(**{"member_id": self.ids.get(name, name), **fields})
        found = self.send("admin", "LeaveGroup", 5, members=(row,))
        return [found.error_code, *(one.error_code for one in found.members)]

    def listed(self) -> list[tuple[str, str, str]]:
        rows = self.ask("ListGroups", 5, self.group_coordinator).groups
        return [(one.group_type, one.group_state, one.protocol_type) for one in rows if one.group_id == self.group]

    def shown(self) -> Any:
        """Return what ConsumerGroupDescribe has of the members, by their names."""
        found = self.ask("ConsumerGroupDescribe", 1, self.group_coordinator, group_ids=(self.group,)).groups[0]
        names = {member_id: name for name, member_id in self.ids.items()}
        members = sorted(
            (
                names.get(one.member_id, "?"),
                one.member_type,
                one.member_epoch,
                sum(len(row.partitions) for row in one.assignment.topic_partitions),
                sum(len(row.partitions) for row in one.target_assignment.topic_partitions),
            )
            for one in found.members
        )
        return found.error_code, found.group_state, found.group_epoch, found.assignment_epoch, members

    def shown_as_classic(self) -> Any:
        found = self.ask("DescribeGroups", 6, self.group_coordinator, groups=(self.group,)).groups[0]
        return found.error_code, found.group_state, found.protocol_type, found.protocol_data, len(found.members)


def upgrade(group: Migrating) -> Iterator[Line]:
    """A consumer of the new protocol joins a classic group, and leaves again."""
    group.begin_group("upgrade")
    yield "a classic member", [group.sign_in("a"), group.sync("a", {"a": (0, 1)}), group.live("a"), group.listed()]
    yield "describe", [group.shown()[0], group.shown_as_classic()]
    yield "one of the new protocol joins", group.join("n")
    yield "groups", [group.listed(), group.shown(), group.shown_as_classic()]
    yield "heartbeats", [group.live("a"), group.live("a", generation_id=9), group.live("n"), group.live("nobody")]
    yield "syncs", [group.sync("a"), group.sync("a", generation_id=9), group.sync("n"), group.sync("nobody")]
    yield "commits", [group.commit("a", 1), group.commit("a", 9), group.offsets("a", 1), group.offsets("a", 9)]
    yield "join as another type", group.sign_in("b", kind="connect")
    yield "join without a common protocol", group.sign_in("b", protocol="roundrobin")
    yield "join again with what it has", group.sign_in("a", 0, 1)
    kept = group.sync("a")
    assert isinstance(kept, list)
    yield "sync", [len(kept), group.live("a"), group.shown()]
    yield "sync with another protocol", [group.sync("a", protocol_name="other"), group.sync("a", protocol_type="other")]
    yield "the new one waits", group.beat("n")
    yield "join again without it", [group.sign_in("a", *kept), group.sync("a") == kept, group.live("a")]
    found = group.beat("n")
    yield "the new one gets it", [(found[0], found[1], len(found[2] or ())), group.shown()]
    yield "another classic member", [group.sign_in("b"), group.count("b"), group.live("b"), group.live("a")]
    yield "the first joins eagerly", [group.sign_in("a"), group.count("a"), group.shown()]
    yield "the new one", group.beat("n")[:2]
    rest = [group.beat("n", topic_partitions=())[:2], group.live("a"), group.live("b")]
    yield "and all", [rest, group.listed()]
    for _ in range(3):
        for name in "ab":
            if group.live(name) == 27:
                group.sign_in(name)
                group.sync(name)
        group.beat("n")
    yield "in the end", group.shown()
    yield "the new one leaves", [group.beat("n", epoch=-1)[:2], group.listed(), group.shown()[0]]
    yield "the others must join again", [group.rejoins("a"), group.rejoins("b"), group.live("n")]
    first = group.start("a")
    second = group.sign_in("b")
    found = first.result(30), second
    yield "they do", sorted((one[0], one[1], one[2]) for one in found)
    yield "one leads", sorted((one[3], one[4]) for one in found)


def interrupted(group: Migrating) -> Iterator[Line]:
    """A consumer of the new protocol joins while a classic group rebalances."""
    group.begin_group("joining")
    group.sign_in("a"), group.sync("a", {"a": (0, 1)})
    waits = group.start("b")
    yield "a join waits", [group.rejoins("a"), group.listed()]
    yield "one of the new protocol joins", [group.join("n"), waits.result(30), group.shown()[:4]]
    group.begin_group("syncing")
    yield "no sync yet", [group.sign_in("a"), group.listed()]
    found = group.join("n")
    rest = [group.sync("a"), group.live("a"), group.shown()]
    yield "one of the new protocol joins", [found[0], found[1], len(found[2] or ()), *rest]
    yield "it joins again", [group.sign_in("a"), group.count("a")]


def refused(group: Migrating) -> Iterator[Line]:
    """Groups that cannot be upgraded."""
    group.begin_group("connect")
    yield "another type of group", [group.sign_in("a", kind="connect"), group.join("n")[0], group.listed()]
    group.begin_group("malformed")
    found = group.sign_in("a", metadata=b"\xff")
    yield "a subscription that is none", [found, group.sync("a", {"a": (0, 1)}), group.join("n")[0]]
    yield "it is still classic", [group.live("a"), group.listed(), group.beat("n", epoch=1)[0]]
    group.begin_group("later")
    found = group.join("n")[0], group.sign_in("a", metadata=b"\xff")
    yield "such a subscription in the new protocol's group", [*found, group.listed()]
    group.begin_group("unknown")
    found = group.sign_in("a")
    yield "a heartbeat that joins nothing", [found, group.beat("n", epoch=1)[0], group.beat("n", epoch=-1)[0]]


def joins(group: Migrating) -> Iterator[Line]:
    """Classic members join a group of the new protocol, and leave it."""
    group.begin_group("mixed")
    yield "a group of the new protocol", group.join("n")
    yield "a classic member", [group.sign_in("a"), group.count("a"), group.live("a"), group.shown()]
    found = group.named("x", 9)
    yield "with an id of its own", [found, group.sync("x", generation_id=group.shown()[2])]
    yield "old requests need no id", [group.named("", 3)]
    yield "describe", [group.shown()[:4], sorted(one[1:3] for one in group.shown()[4])]
    yield "classic members leave", [group.go("a"), group.go("x"), group.go("a"), group.listed()]
    both = group.join("m")[:2], group.sign_in("a")
    yield "leave by the other api", [*both, group.go("m"), group.go("nobody"), group.listed()]
    yield "the last one of the new protocol", [group.go("n"), group.listed(), group.rejoins("a")]
    yield "the leader leaves", [group.go("a"), group.listed()]
    yield "a group again", [group.join("n")[0], group.listed()]
    yield "the new protocol for a classic member", [group.sign_in("b"), group.join("b")[0], group.live("b")]


def static(group: Migrating) -> Iterator[Line]:
    """Static members change their protocol."""
    group.begin_group("static")
    name: dict[str, Any] = {"group_instance_id": "i"}
    yield "a static classic member", [group.sign_in("a", **name), group.sync("a", {"a": (0, 1)}, **name)]
    yield "it is back with the new protocol", [group.join("n", instance_id="i"), group.listed(), group.shown()]
    yield "its former id", [group.live("a", **name), group.live("a"), group.sync("a", **name)]
    yield "it is back as classic", group.sign_in("b", **name)
    yield "groups", [group.listed(), group.shown()[0], group.shown_as_classic()]
    yield "sync", [group.sync("b", **name), group.live("b", **name), group.listed()]
    yield "the former new one", [group.beat("n", instance_id="i")[0]]
    yield "two", [group.join("m"), group.live("b", **name), group.sign_in("b", 0, 1, **name), group.count("b", **name)]
    yield "as if restarted", [group.sign_in("c", **name)[0], group.live("b", **name), group.shown()[1]]
    yield "leave by instance", [group.go("b", **name), group.go("", **name), group.go("", **name), group.shown()]


def empty(group: Migrating) -> Iterator[Line]:
    """Groups without members change at once; and what is asked in old versions."""
    group.begin_group("empty")
    yield (
        "a classic member comes and goes",
        [group.sign_in("a"), group.sync("a", {"a": (0,)}), group.go("a"), group.listed()],
    )
    yield "one of the new protocol joins", [group.join("n"), group.shown()[:4]]
    yield "it goes", [group.beat("n", epoch=-1)[:2], group.listed(), group.shown()[:4]]
    yield "a classic member again", [group.sign_in("b"), group.listed(), group.shown_as_classic()]
    group.begin_group("pending")
    yield "an id that nobody has joined with", group.named("", 9)
    yield "one of the new protocol joins", [group.join("n"), group.listed()]
    group.begin_group("old")
    yield "both", [group.join("n")[:2], group.join("m")[:2], group.sign_in("a"), group.count("a")]
    found = group.send("a", "OffsetCommit", 8, **group.committing("a", 3))
    yield "an old commit of a classic member", found.topics[0].partitions[0].error_code
    found = group.send("a", "OffsetCommit", 8, **group.committing("n", 1))
    yield "an old commit of the new one", found.topics[0].partitions[0].error_code
    found = group.ask("DescribeGroups", 5, group.group_coordinator, groups=(group.group,)).groups[0]
    yield "an old description", [found.error_code, found.group_state, found.protocol_type, len(found.members)]
    row = M.LeaveGroupRequest.MemberIdentity
    rows = tuple(row(member_id=group.ids[name]) for name in "nma")
    found = group.send("admin", "LeaveGroup", 5, members=rows)
    yield "all leave at once", [[one.error_code for one in found.members], group.listed(), group.shown()[:4]]
    yield "two and one", [group.join("n")[0], group.join("m")[0], group.sign_in("a")]
    found = group.send("admin", "LeaveGroup", 5, members=rows[:2])
    yield "two leave at once", [[one.error_code for one in found.members], group.listed()]


def steps_of(group: Migrating) -> Iterator[Line]:
    """Take the steps."""
    for part in (upgrade, interrupted, refused, joins, static, empty):
        yield "----", part.__name__
        yield from part(group)


def lines(place: str) -> list[str]:
    """Take all steps; returns a line for each."""
    group = Migrating(place)
    try:
        group.begin()
        return [f"{label}: {value}" for label, value in steps_of(group)]
    finally:
        for connection in group.connections.values():
            connection.close()
        group.pool.shutdown()


if __name__ == "__main__":
    sys.stdout.write("\n".join(lines(sys.argv[1])) + "\n")
