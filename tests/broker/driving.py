"""Members of groups for tests. Each request and each answer goes through its bytes, in the version asked for."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import kwire
from kwire.broker import Disk, Node, Parked, ServedCluster, Settings
from kwire.broker.groups.classic_group import Group
from kwire.broker.internal_topics import coordinator_of
from kwire.broker.request_frames import ServedRequest, read_request
from kwire.codecs.message_codec import Codec
from kwire.protocol import Frame
from kwire.values import ErrorCode
from tests.broker.served import M

NEWEST = {"JoinGroup": 9, "SyncGroup": 5, "Heartbeat": 4, "LeaveGroup": 5, "OffsetCommit": 9, "OffsetFetch": 9}
SESSION, REBALANCE = 10.0, 60.0


class Waiting:
    """A request that is not answered yet, or by now."""

    def __init__(self, parked: Parked[Any], codec: Codec) -> None:
        self.parked, self.codec = parked, codec

    @property
    def answer(self) -> Any:
        """The answer, out of its bytes; None if there is none yet."""
        response = self.parked.response
        return None if response is None else self.codec.decode(self.codec.encode(response))


class World:
    """A cluster and its time. `versions` says which versions are spoken, by the name of the api; `disks` are of each
    broker, in memory that ends with it where none are given."""

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        count: int = 1,
        disks: Sequence[Disk] = (),
        **versions: int,
    ) -> None:
        ids = range(1, max(count, len(disks)) + 1)
        nodes = [Node(node_id, port=9092 + node_id) for node_id in ids]
        if disks:
            nodes = [Node(node_id, port=9092 + node_id, disks=[disk]) for node_id, disk in zip(ids, disks, strict=True)]
        self.cluster = ServedCluster(nodes, settings or Settings(), Random(1))
        if "t" not in self.cluster.controller.topics:
            self.cluster.controller.create("t", {0: [1], 1: [1]})
        self.versions = NEWEST | versions
        self.now = 100.0

    def ask(self, name: str, version: int, node: int | None = None, **fields: Any) -> Any:
        """Ask a broker, where none is served the one that coordinates: returns the answer, or a `Waiting`."""
        node = node or coordinator_of(fields.get("group_id", ""), self.cluster.controller) or 1
        request = getattr(M, f"{name}Request")(**fields)
        data = kwire.encode_request(request, version, correlation_id=7, client_id="c")
        served = read_request(Frame(data), self.cluster.catalog, self.cluster.apis)
        assert isinstance(served, ServedRequest)
        answer = self.cluster.answer(
            node, served.message, served.version, now=self.now, client_id=served.client_id, client_host="h"
        )
        codec = kwire.codec(f"{name}Response", version)
        if isinstance(answer, Parked):
            late = Waiting(answer, codec)
            return late if answer.response is None else late.answer
        return codec.decode(codec.encode(answer))

    def wait(self, seconds: float) -> None:
        """Let time pass, deadline by deadline."""
        end = self.now + seconds
        while (deadline := self.cluster.next_deadline) is not None and deadline <= end:
            self.now = max(self.now, deadline)
            self.cluster.tick(self.now)
        self.now = end

    def group(self, group_id: str = "g") -> Group:
        group = self.cluster.groups.find(group_id)
        assert group is not None
        return group

    def mates(self, count: int) -> list[Mate]:
        """Form a stable group of so many members."""
        mates = [Mate(self) for _ in range(count)]
        formed(*mates)
        return mates


class Mate:
    """A member, or who wants to be one."""

    def __init__(self, world: World, group: str = "g", instance: str | None = None, *protocols: str) -> None:
        self.world, self.group, self.instance = world, group, instance
        self.protocols = {name: name.encode() for name in protocols or ("range",)}
        self.member_id, self.generation = "", -1
        self.late: Waiting | None = None

    @property
    def who(self) -> dict[str, Any]:
        fields = {"group_id": self.group, "member_id": self.member_id}
        return fields if self.instance is None else fields | {"group_instance_id": self.instance}

    def request(self, **more: Any) -> Any:
        """Ask to join, once; returns the answer, or what waits for it."""
        row, version = M.JoinGroupRequest.JoinGroupRequestProtocol, self.world.versions["JoinGroup"]
        fields: dict[str, Any] = {
            "session_timeout_ms": int(SESSION * 1000),
            "rebalance_timeout_ms": int(REBALANCE * 1000),
            "protocol_type": "consumer",
            "protocols": tuple(row(name=name, metadata=data) for name, data in self.protocols.items()),
        }
        return self.world.ask("JoinGroup", version, **(fields | self.who | more))

    def join(self, **more: Any) -> Any:
        """Join, with a member id that is asked for if need be; returns the answer, or what waits for it."""
        answer = self.request(**more)
        if isinstance(answer, Waiting):
            return answer
        if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = answer.member_id
            return self.join(**more)
        return self.joined(answer)

    def joined(self, answer: Any) -> Any:
        if not answer.error_code:
            self.member_id, self.generation = answer.member_id, answer.generation_id
        return answer

    def sync(self, assignments: dict[str, bytes] | None = None, **more: Any) -> Any:
        row = M.SyncGroupRequest.SyncGroupRequestAssignment
        rows = tuple(row(member_id=name, assignment=data) for name, data in (assignments or {}).items())
        fields: dict[str, Any] = {"generation_id": self.generation, "assignments": rows}
        if self.world.versions["SyncGroup"] >= 5:
            fields |= {"protocol_type": "consumer", "protocol_name": "range"}
        return self.world.ask("SyncGroup", self.world.versions["SyncGroup"], **(fields | self.who | more))

    def beat(self, **more: Any) -> int:
        fields: dict[str, Any] = {"generation_id": self.generation} | self.who | more
        code = self.world.ask("Heartbeat", self.world.versions["Heartbeat"], **fields).error_code
        assert isinstance(code, int)
        return code

    def leave(self) -> int:
        """Leave; returns the error code that is served of this member."""
        version = self.world.versions["LeaveGroup"]
        if version < 3:
            answer = self.world.ask("LeaveGroup", version, group_id=self.group, member_id=self.member_id)
            return int(answer.error_code)
        row = M.LeaveGroupRequest.MemberIdentity(member_id=self.member_id, group_instance_id=self.instance)
        answer = self.world.ask("LeaveGroup", version, group_id=self.group, members=(row,))
        return int(answer.error_code or answer.members[0].error_code)

    def commit(self, offset: int, index: int = 0, topic: str = "t", metadata: str | None = "", **more: Any) -> int:
        """Commit one offset; returns the error code."""
        request, version = M.OffsetCommitRequest, self.world.versions["OffsetCommit"]
        part = request.OffsetCommitRequestPartition(
            partition_index=index, committed_offset=offset, committed_metadata=metadata
        )
        rows = (request.OffsetCommitRequestTopic(name=topic, partitions=(part,)),)
        fields: dict[str, Any] = {"topics": rows, "generation_id_or_member_epoch": self.generation} | self.who | more
        answer = self.world.ask("OffsetCommit", version, **fields)
        return int(answer.topics[0].partitions[0].error_code)


def formed(*mates: Mate) -> None:
    """Let members form a stable group, the first one leading; each is assigned its own number."""
    first, *others = mates
    first.join()
    waiting = [mate.join() for mate in others]
    if others:
        first.join()
    for mate, late in zip(others, waiting, strict=True):
        mate.joined(late.answer)
    syncing = [mate.sync() for mate in others]
    first.sync({mate.member_id: b"%d" % number for number, mate in enumerate(mates)})
    assert [late.answer.assignment for late in syncing] == [b"%d" % number for number in range(1, len(mates))]
