"""The steps of members of a streams group (KIP-1071), good and bad ones, against any single broker.

`python -m tests.interop.streams_group_steps HOST:PORT` prints a line for each;
`tests/data/streams-groups-kafka-4.4.0.txt` is what Kafka 4.4.0 answered.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import kwire
from tests.interop.transaction_steps import Line, Steps

M = kwire.messages
R = M.StreamsGroupHeartbeatRequest
GROUP = 32  # the type of the configs of a group
ROLES = ("active_tasks", "standby_tasks", "warmup_tasks")
Tasks = dict[str, Sequence[int]]  # partitions by subtopology


def tasks_of(tasks: Tasks) -> tuple[Any, ...]:
    return tuple(R.TaskIds(subtopology_id=name, partitions=tuple(found)) for name, found in sorted(tasks.items()))


class Streams(Steps):
    """A broker, a topic of two partitions, and a group of members, each by its name.

    Its topology counts words: subtopology 0 writes the topic `-repartition`, which 1 reads; its store has a changelog.
    """

    def begin(self) -> None:
        super().begin()
        self.ids: dict[str, str] = {}
        self.epochs: dict[str, int] = {}
        self.owned: dict[str, list[Tasks]] = {}

    def named(self, number: int) -> None:
        """Go on with another group."""
        self.group = f"{self.group.partition('.')[0]}.{number}"
        self.group_coordinator = self._coordinator(self.group, 0)
        self.ids = {name: f"{name}{self.group.removeprefix('group-').replace('.', 'x'):A>20}A" for name in "abcdefgh"}
        self.epochs, self.owned = {}, {}

    @property
    def inner(self) -> dict[str, str]:
        """The names of the internal topics."""
        return {self.topic: "topic", f"{self.group}-repartition": "repartition", f"{self.group}-changelog": "changelog"}

    def topology(self, epoch: int = 0, source: str = "", **fields: Any) -> Any:
        repartition = R.TopicInfo(name=f"{self.group}-repartition", partitions=fields.pop("partitions", 0))
        changelog = R.TopicInfo(
            name=f"{self.group}-changelog",
            partitions=fields.pop("changelogs", 0),
            topic_configs=(R.KeyValue(key="cleanup.policy", value="compact"),),
        )
        first = R.Subtopology(
            subtopology_id="0",
            source_topics=(source or self.topic,),
            repartition_sink_topics=(repartition.name,),
            **fields,
        )
        second = R.Subtopology(
            subtopology_id="1", repartition_source_topics=(repartition,), state_changelog_topics=(changelog,)
        )
        return R.Topology(epoch=epoch, subtopologies=(first, second))

    def configure(self, **configs: str) -> list[int]:
        """Set configs of the group; returns the error code of each."""
        request = M.IncrementalAlterConfigsRequest
        codes = []
        for name, value in configs.items():
            config = request.AlterableConfig(name=f"streams.{name.replace('_', '.')}", config_operation=0, value=value)
            row = request.AlterConfigsResource(resource_type=GROUP, resource_name=self.group, configs=(config,))
            codes.append(int(self.ask("IncrementalAlterConfigs", 1, resources=(row,)).responses[0].error_code))
        self.pause(0.2)
        return codes

    def beat(self, name: str, version: int = 1, **fields: Any) -> Any:
        """Return the error code, the epoch, the tasks (None where they are the same) and the statuses."""
        epoch = fields.pop("epoch", self.epochs.get(name, 0))
        owned = fields.pop("owned", None)
        if owned is not None:
            fields |= dict(zip(ROLES, map(tasks_of, owned), strict=True))
        row = {"group_id": self.group, "member_id": self.ids.get(name, name), "member_epoch": epoch, **fields}
        answer = self.ask("StreamsGroupHeartbeat", version, self.group_coordinator, **row)
        if not answer.error_code and epoch >= 0:
            self.epochs[name] = answer.member_epoch
        found: Any = None
        if answer.active_tasks is not None:
            rows = (getattr(answer, role) or () for role in ROLES)
            found = [{task.subtopology_id: list(task.partitions) for task in role} for role in rows]
            found = [dict(sorted(one.items())) for one in found]
            self.owned[name] = found
        status = answer.status and sorted(one.status_code for one in answer.status)
        return answer.error_code, answer.member_epoch, found, status

    def endpoints(self, name: str, seen: int, **fields: Any) -> Any:
        """Return the epoch of the endpoints, and the partitions at each."""
        row = {"group_id": self.group, "member_id": self.ids[name], "member_epoch": self.epochs[name], **fields}
        row["endpoint_information_epoch"] = seen
        answer = self.ask("StreamsGroupHeartbeat", 1, self.group_coordinator, **row)
        if not answer.error_code:
            self.epochs[name] = answer.member_epoch

        def parts(rows: Any) -> Any:
            return sorted((self.inner.get(one.topic, one.topic), list(one.partitions)) for one in rows)

        found = answer.partitions_by_user_endpoint
        rows = found and sorted(
            (
                one.user_endpoint.host,
                one.user_endpoint.port,
                parts(one.active_partitions),
                parts(one.standby_partitions),
            )
            for one in found
        )
        return answer.error_code, answer.endpoint_information_epoch, rows

    def join(self, name: str, **fields: Any) -> Any:
        usual = {
            "topology": self.topology(),
            "rebalance_timeout_ms": 60_000,
            "process_id": f"process-{name}",
            "owned": ({}, {}, {}),
        }
        return self.beat(name, **{"epoch": 0, **usual, **fields})

    def settle(self, *names: str) -> Any:
        """Send heartbeats with all tasks until all members have what is meant for them; returns who has what."""
        for _ in range(100):
            found = [self.beat(name, owned=self.owned.get(name, ({}, {}, {}))) for name in names]
            group = self.describe()
            if group[1] == "Stable" and not any(one[2] for one in found):
                break
            self.pause(0.1)
        return self.describe()

    def describe(self, group: str = "") -> Any:
        version = 1
        found = self.ask("StreamsGroupDescribe", version, self.group_coordinator, group_ids=(group or self.group,))
        row = found.groups[0]
        names = {member_id: name for name, member_id in self.ids.items()}

        def tasks(one: Any) -> Any:
            rows = (getattr(one, role) for role in ROLES)
            return [dict(sorted((task.subtopology_id, list(task.partitions)) for task in role)) for role in rows]

        members = sorted(
            (
                names.get(one.member_id, one.member_id),
                one.member_epoch,
                one.topology_epoch,
                one.process_id,
                tasks(one.assignment),
                tasks(one.target_assignment),
            )
            for one in row.members
        )
        return row.error_code, row.group_state, row.group_epoch, row.assignment_epoch, members

    def details(self) -> Any:
        """Return what else is told of a group: its topology, and of its members."""
        row = self.ask("StreamsGroupDescribe", 1, self.group_coordinator, group_ids=(self.group,)).groups[0]
        topology = row.topology and [
            (
                one.subtopology_id,
                [self.inner.get(name, "source") for name in one.source_topics],
                [self.inner.get(name, name) for name in one.repartition_sink_topics],
                *(
                    [
                        (
                            self.inner.get(topic.name, topic.name),
                            topic.partitions,
                            topic.replication_factor,
                            sorted((config.key, config.value) for config in topic.topic_configs),
                        )
                        for topic in topics
                    ]
                    for topics in (one.state_changelog_topics, one.repartition_source_topics)
                ),
            )
            for one in sorted(row.topology.subtopologies, key=lambda one: one.subtopology_id)
        ]
        members = sorted(
            (
                one.instance_id,
                one.rack_id,
                one.user_endpoint and (one.user_endpoint.host, one.user_endpoint.port),
                sorted((tag.key, tag.value) for tag in one.client_tags),
                [(task.subtopology_id, task.partition, task.offset) for task in one.task_offsets],
                [(task.subtopology_id, task.partition, task.offset) for task in one.task_end_offsets],
                one.is_classic,
            )
            for one in row.members
        )
        status = row.topology_description, row.topology_description_status, row.assignor_name
        return row.topology and row.topology.epoch, topology, members, status, row.authorized_operations

    def topics(self) -> Any:
        """Return the partition counts of the internal topics."""
        wanted = tuple(M.MetadataRequest.MetadataRequestTopic(name=name) for name in sorted(self.inner))

        def ask() -> Any:
            answer = self.ask("Metadata", 12, topics=wanted, allow_auto_topic_creation=False)
            return sorted((self.inner[one.name], len(one.partitions)) for one in answer.topics)

        return self.until(ask, lambda rows: all(count for _, count in rows))

    def create(self, **topics: int) -> list[int]:
        """Create topics with so many partitions each."""
        rows = tuple(
            M.CreateTopicsRequest.CreatableTopic(
                name=f"{self.group}-{name}", num_partitions=count, replication_factor=1
            )
            for name, count in topics.items()
        )
        answer = self.ask("CreateTopics", 5, topics=rows, timeout_ms=10_000)
        self.pause(0.5)
        return [one.error_code for one in answer.topics]

    def commit(self, name: str, epoch: int, version: int = 9, index: int = 0) -> int:
        request = M.OffsetCommitRequest
        part = request.OffsetCommitRequestPartition(partition_index=index, committed_offset=1)
        row = request.OffsetCommitRequestTopic(name=self.topic, partitions=(part,))
        who = {"group_id": self.group, "member_id": self.ids.get(name, name), "topics": (row,)}
        found = self.ask("OffsetCommit", version, self.group_coordinator, generation_id_or_member_epoch=epoch, **who)
        return int(found.topics[0].partitions[0].error_code)

    def offsets(self, name: str | None, epoch: int) -> Any:
        request = M.OffsetFetchRequest
        member_id = None if name is None else self.ids.get(name, name)
        row = request.OffsetFetchRequestGroup(group_id=self.group, member_id=member_id, member_epoch=epoch, topics=None)
        found = self.ask("OffsetFetch", 9, self.group_coordinator, groups=(row,)).groups[0]
        return found.error_code, [[part.committed_offset for part in one.partitions] for one in found.topics]

    def listed(self) -> Any:
        found = self.ask("ListGroups", 5, self.group_coordinator, types_filter=("Streams",)).groups
        return [(one.protocol_type, one.group_state, one.group_type) for one in found if one.group_id == self.group]

    def delete(self) -> int:
        return int(
            self.ask("DeleteGroups", 2, self.group_coordinator, groups_names=(self.group,)).results[0].error_code
        )

    def by_others(self) -> Any:
        """Return the error codes of requests for groups of other types."""
        group, place = self.group, self.group_coordinator
        protocol = M.JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=b"")
        joined = self.ask(
            "JoinGroup",
            9,
            place,
            group_id=group,
            session_timeout_ms=10_000,
            rebalance_timeout_ms=10_000,
            protocol_type="consumer",
            protocols=(protocol,),
        )
        beat = self.ask(
            "ConsumerGroupHeartbeat",
            1,
            place,
            group_id=group,
            member_id="x",
            member_epoch=0,
            rebalance_timeout_ms=1000,
            subscribed_topic_names=(self.topic,),
            topic_partitions=(),
        )
        shared = self.ask(
            "ShareGroupHeartbeat",
            1,
            place,
            group_id=group,
            member_id="AAAAAAAAAAAAAAAAAAAAAQ",
            member_epoch=0,
            subscribed_topic_names=(self.topic,),
        )
        one = M.LeaveGroupRequest.MemberIdentity(member_id=self.ids["a"])
        left = self.ask("LeaveGroup", 5, place, group_id=group, members=(one,))
        pulse = self.ask("Heartbeat", 4, place, group_id=group, generation_id=1, member_id=self.ids["a"])
        described = [
            self.ask("DescribeGroups", 6, place, groups=(group,)).groups[0].error_code,
            self.ask("ConsumerGroupDescribe", 1, place, group_ids=(group,)).groups[0].error_code,
            self.ask("ShareGroupDescribe", 1, place, group_ids=(group,)).groups[0].error_code,
        ]
        removed = [left.error_code, [row.error_code for row in left.members]]
        return joined.error_code, beat.error_code, shared.error_code, removed, pulse.error_code, described

    def forget(self) -> Any:
        """Return the error codes of a deletion of offsets."""
        part = M.OffsetDeleteRequest.OffsetDeleteRequestPartition(partition_index=0)
        row = M.OffsetDeleteRequest.OffsetDeleteRequestTopic(name=self.topic, partitions=(part,))
        found = self.ask("OffsetDelete", 0, self.group_coordinator, group_id=self.group, topics=(row,))
        return found.error_code, [part.error_code for one in found.topics for part in one.partitions]


def steps_of(group: Streams) -> Iterator[Line]:
    """Take the steps."""
    parts: list[Callable[[Streams], Iterator[Line]]] = [
        _requests,
        _first_member,
        _others,
        _processes,
        _standbys,
        _static_members,
        _topics,
        _counts,
        _topologies,
        _delays,
        _commits,
        _end,
    ]
    for number, part in enumerate(parts):
        group.named(number)
        yield from part(group)


def _now(group: Streams, **configs: str) -> list[int]:
    """Let assignments be computed at once."""
    return group.configure(initial_rebalance_delay_ms="0", assignment_interval_ms="0", **configs)


def _requests(group: Streams) -> Iterator[Line]:
    yield "configs", _now(group)
    yield "a heartbeat in no group", group.beat("a", epoch=1)
    yield "leave no group", group.beat("a", epoch=-1)
    yield "describe no group", group.describe()
    yield "no member id", group.beat("", epoch=0)
    yield "join without a topology", group.join("a", topology=None)
    yield "join without a timeout", group.join("a", rebalance_timeout_ms=-1)
    yield "join with tasks", group.join("a", owned=({"0": [0]}, {}, {}))
    yield "join with standby tasks", group.join("a", owned=({}, {"0": [0]}, {}))
    yield "join without a process", group.join("a", process_id=None)
    yield "join without tasks", group.join("b", owned=None)
    yield "one kind of tasks", group.beat("a", active_tasks=())
    yield "a topology again", group.beat("a", topology=group.topology())
    yield "an epoch that cannot be", group.beat("a", epoch=-3)
    yield "leave for a while without an instance", group.beat("a", epoch=-2)
    yield "an empty instance", group.join("a", instance_id="")
    yield "an empty rack", group.join("a", rack_id="")
    yield "a pattern of topics", group.join("a", topology=group.topology(source_topic_regex=("x.*",)))
    yield "a changelog with partitions", group.join("a", topology=group.topology(changelogs=3))
    yield "describe", group.describe()
    yield "values of configs", [group.configure(num_standby_replicas=value) for value in ("-1", "0", "2", "3", "x")]
    yield "heartbeat", [group.configure(heartbeat_interval_ms=value) for value in ("499", "5000", "15001")]
    yield "session", [group.configure(session_timeout_ms=value) for value in ("44999", "45000", "60001")]


def _first_member(group: Streams) -> Iterator[Line]:
    _now(group)
    yield "join", group.join("a", rack_id="r1", client_tags=(R.KeyValue(key="k", value="v"),))
    yield "internal topics", group.topics()
    group.pause(0.5)
    yield "heartbeat", group.beat("a")
    yield "again", group.beat("a")
    yield "with its tasks", group.beat("a", owned=group.owned.get("a", ({}, {}, {})))
    yield "describe", group.describe()
    yield "details", group.details()
    yield "listed", group.listed()
    yield "tasks that do not exist", group.beat("a", owned=({"7": [0]}, {}, {}))
    yield "partitions that do not exist", group.beat("a", owned=({"0": [2]}, {}, {}))
    yield (
        "offsets of tasks",
        group.beat(
            "a",
            task_offsets=(R.TaskOffset(subtopology_id="1", partition=0, offset=5),),
            task_end_offsets=(R.TaskOffset(subtopology_id="1", partition=0, offset=9),),
        ),
    )
    yield "details", group.details()[2]
    yield "another epoch", [group.beat("a", epoch=epoch)[0] for epoch in (99, 1)]
    yield "an old epoch with tasks", group.beat("a", epoch=group.epochs["a"] - 1, owned=group.owned.get("a"))
    yield "nobody", group.beat("c", epoch=5)
    yield "another process", group.beat("a", process_id="elsewhere")
    yield "describe", group.describe()
    yield "another rack", group.beat("a", rack_id="r2")
    yield "the rack again", group.beat("a", rack_id="r2")
    yield "endpoints", group.endpoints("a", 0, user_endpoint=R.Endpoint(host="h", port=7))
    yield "endpoints", group.endpoints("a", 0)
    yield "endpoints", group.endpoints("a", 1)
    yield "join again", group.join("a")
    yield "describe", group.describe()
    yield "all shall stop", group.beat("a", shutdown_application=True)
    yield "heartbeat", group.beat("a")
    yield "delete", group.delete()
    yield "by others", group.by_others()
    yield "leave", group.beat("a", epoch=-1)
    yield "describe", group.describe()
    yield "details", group.details()
    yield "join again", group.join("a")
    yield "leave again", [group.beat("a", epoch=-1), group.beat("a", epoch=-1)]
    yield "delete", [group.delete(), group.delete()]


def _ready(group: Streams, name: str = "a", **fields: Any) -> Any:
    """Join, and wait until the internal topics are there."""
    _now(group)
    group.join(name, **fields)
    group.topics()
    group.pause(0.5)
    return group.settle(name)


def _others(group: Streams) -> Iterator[Line]:
    yield "one", _ready(group)
    yield "another joins", group.join("b")
    yield "describe", group.describe()
    yield "the other waits", group.beat("b", owned=({}, {}, {}))
    yield "the first gives up", group.beat("a")
    yield "describe", group.describe()
    yield "not yet", group.beat("a", owned=({"0": [0, 1], "1": [0, 1]}, {}, {}))
    yield "the other waits", group.beat("b")
    yield "the first has", group.beat("a", owned=group.owned["a"])
    yield "the other gets them", group.beat("b")
    yield "describe", group.describe()
    yield "a third and a fourth", [group.join("c"), group.join("d")]
    yield "settled", group.settle("a", "b", "c", "d")
    yield "one leaves", group.beat("b", epoch=-1)
    yield "settled", group.settle("a", "c", "d")
    yield "it joins again", group.join("b")
    yield "settled", group.settle("a", "b", "c", "d")
    yield "more than there are tasks", [group.join(name) for name in "efg"]
    yield "settled", group.settle(*"abcdefg")


def _processes(group: Streams) -> Iterator[Line]:
    yield "one", _ready(group, process_id="p1")
    yield "threads", [group.join(name, process_id=process) for name, process in (("b", "p1"), ("c", "p2"))]
    yield "settled", group.settle("a", "b", "c")
    yield "standbys", group.configure(num_standby_replicas="1")
    yield "settled", group.settle("a", "b", "c")
    yield "another process", group.join("d", process_id="p3")
    yield "settled", group.settle("a", "b", "c", "d")
    yield "one leaves", group.beat("a", epoch=-1)
    yield "settled", group.settle("b", "c", "d")


def _standbys(group: Streams) -> Iterator[Line]:
    yield "one", _ready(group)
    yield "standbys", group.configure(num_standby_replicas="1")
    yield "a heartbeat", group.beat("a")
    yield "describe", group.describe()
    yield "another joins", group.join("b")
    yield "the first", group.beat("a", owned=group.owned["a"])
    yield "has given up", group.beat("a", owned=group.owned["a"])
    yield "the other", group.beat("b", owned=({}, {}, {}))
    yield "settled", group.settle("a", "b")
    yield "endpoints", group.endpoints("a", 0, user_endpoint=R.Endpoint(host="h", port=7))
    yield "endpoints", group.endpoints("b", 1, user_endpoint=R.Endpoint(host="i", port=8))
    yield "a third", group.join("c")
    yield "settled", group.settle("a", "b", "c")
    yield "the first leaves", group.beat("a", epoch=-1)
    yield "one is promoted", group.beat("b", owned=group.owned["b"])
    yield "one more", group.beat("c", owned=group.owned["c"])
    yield "settled", group.settle("b", "c")
    yield "endpoints", group.endpoints("b", 0)
    yield "two standbys", group.configure(num_standby_replicas="2")
    yield "settled", group.settle("b", "c")


def _static_members(group: Streams) -> Iterator[Line]:
    _now(group)
    yield "join", group.join("a", instance_id="i")
    group.topics()
    group.pause(0.5)
    yield "settled", group.beat("a", instance_id="i")
    yield "heartbeat", group.beat("a", instance_id="i")
    yield "without its instance", group.beat("a")
    yield "as another", group.beat("b", epoch=2, instance_id="i")
    yield "an unknown instance", group.beat("a", instance_id="j")
    yield "its instance is taken", group.join("b", instance_id="i")
    yield "leave for a while", group.beat("a", epoch=-2, instance_id="i")
    yield "describe", group.describe()
    yield "details", group.details()[2]
    yield "the other comes", group.join("b", instance_id="i")
    yield "describe", group.describe()
    yield "heartbeat", group.beat("b", instance_id="i")
    yield "the first is gone", [group.beat("a", epoch=3), group.beat("a", epoch=3, instance_id="i")]
    yield "leave as another", group.beat("a", epoch=-1, instance_id="i")
    yield "leave", group.beat("b", epoch=-1, instance_id="i")
    yield "describe", group.describe()


def _topics(group: Streams) -> Iterator[Line]:
    _now(group)
    source = f"{group.group}-source"
    yield "no source topic", group.join("a", topology=group.topology(source=source))
    yield "describe", group.describe()
    yield "details", group.details()[:2]
    yield "listed", group.listed()
    yield "heartbeat", group.beat("a")
    yield "create", group.create(source=3)
    yield "heartbeat", group.beat("a")
    yield "internal topics", group.topics()
    group.pause(0.5)
    yield "heartbeat", group.beat("a")
    yield "describe", group.describe()
    made = M.CreatePartitionsRequest.CreatePartitionsTopic(name=source, count=4, assignments=None)
    yield (
        "more partitions",
        [one.error_code for one in group.ask("CreatePartitions", 2, topics=(made,), timeout_ms=10_000).results],
    )
    group.pause(0.5)
    yield "heartbeat", group.beat("a")
    yield "describe", group.describe()
    name = f"{group.group}-changelog"
    yield (
        "delete",
        [one.error_code for one in group.ask("DeleteTopics", 5, topic_names=(name,), timeout_ms=10_000).responses],
    )
    group.pause(0.5)
    yield "heartbeat", group.beat("a")
    group.topics()


def _counts(group: Streams) -> Iterator[Line]:
    _now(group)
    yield "create", group.create(repartition=5)
    yield "it has other partitions", group.join("a")
    yield "describe", group.describe()
    group.named(107)
    _now(group)
    yield "fixed", group.join("a", topology=group.topology(partitions=3))
    yield "internal topics", group.topics()
    group.pause(0.5)
    yield "settled", group.settle("a")
    group.named(207)
    _now(group)
    yield "create", group.create(left=2, right=3)
    names = f"{group.group}-left", f"{group.group}-right"
    together = R.CopartitionGroup(source_topics=(0, 1))
    apart = R.Subtopology(subtopology_id="0", source_topics=names, copartition_groups=(together,))
    topology = R.Topology(epoch=0, subtopologies=(apart,))
    yield "not copartitioned", group.join("a", topology=topology)
    yield "describe", group.describe()
    group.named(307)
    _now(group)
    inner = R.TopicInfo(name=f"{group.group}-repartition")
    loop = R.Subtopology(subtopology_id="0", repartition_source_topics=(inner,), repartition_sink_topics=(inner.name,))
    yield "a loop", group.join("a", topology=R.Topology(epoch=0, subtopologies=(loop,)))
    group.named(407)
    _now(group)
    inner = R.TopicInfo(name=f"{group.group}-repartition")
    both = R.CopartitionGroup(source_topics=(0,), repartition_source_topics=(0,))
    first = R.Subtopology(subtopology_id="0", source_topics=(group.topic,), repartition_sink_topics=(inner.name,))
    second = R.Subtopology(
        subtopology_id="1",
        source_topics=(names[1],),
        repartition_source_topics=(inner,),
        copartition_groups=(both,),
    )
    yield "coerced", group.join("a", topology=R.Topology(epoch=0, subtopologies=(first, second)))
    yield "internal topics", [row for row in group.topics() if row[0] == "repartition"]
    group.pause(0.5)
    yield "settled", group.settle("a")


def _topologies(group: Streams) -> Iterator[Line]:
    yield "one", _ready(group, topology=group.topology(epoch=1))
    yield "another topology", group.join("b", topology=group.topology(epoch=1, source="other"))
    yield "an older topology", group.join("b")
    yield "heartbeat", group.beat("b")
    yield "a newer topology", group.join("c", topology=group.topology(epoch=2))
    yield "describe", group.describe()
    yield "all leave", [group.beat(name, epoch=-1) for name in "ab"]
    yield "a newer topology", group.join("c", topology=group.topology(epoch=2))
    yield "describe", group.describe()


def _delays(group: Streams) -> Iterator[Line]:
    yield "configs", group.configure(initial_rebalance_delay_ms="2000", assignment_interval_ms="0")
    yield "create", group.create(repartition=2, changelog=2)
    yield "join", group.join("a")
    yield "heartbeat", group.beat("a")
    yield "describe", group.describe()
    yield "another", group.join("b")
    group.pause(2.5)
    yield "describe", group.describe()
    yield "it is over", [group.beat("a"), group.beat("b")]
    yield "configs", group.configure(assignment_interval_ms="3000")
    yield "a third", group.join("c")
    yield "heartbeat", group.beat("a")
    yield "describe", group.describe()
    group.pause(3.5)
    yield "it is over", group.beat("a", owned=group.owned["a"])
    yield "settled", group.settle("a", "b", "c")


def _commits(group: Streams) -> Iterator[Line]:
    yield "one", _ready(group)
    epoch = group.epochs["a"]
    yield "commit", [group.commit("a", one) for one in (epoch, epoch - 1, epoch + 1, -1)]
    yield "nobody", [group.commit(name, one) for name, one in (("x", epoch), ("", -1), ("", epoch))]
    yield "old versions", [group.commit("a", epoch, version) for version in (5, 8)]
    yield "offsets", [group.offsets("a", one) for one in (epoch, epoch - 1)]
    yield "offsets of others", [group.offsets("x", epoch), group.offsets(None, -1), group.offsets("", -1)]
    yield "forget", group.forget()
    yield "another", group.join("b")
    yield "settled", group.settle("a", "b")
    kept = group.owned["a"][0].get("0", [])
    yield "kept tasks", [group.commit("a", one, index=index) for one in (epoch, epoch - 1) for index in kept]
    other = group.owned["b"][0].get("0", [])
    yield "tasks of the other", [group.commit("a", epoch, index=index) for index in other]
    yield "its own", [group.commit("b", one, index=index) for one in (epoch, epoch + 1) for index in other]
    made = group.init()
    who = made.producer_id, made.producer_epoch
    yield "in a transaction", [group.add_offsets(*who), _in_transaction(group, who)]
    yield "it is over", group.end(*who, True)
    yield "leave", [group.beat(name, epoch=-1)[0] for name in "ab"]
    yield "by nobody", [group.commit("", -1), group.commit("a", -1), group.commit("a", 1)]
    yield "forget", group.forget()


def _in_transaction(group: Streams, who: tuple[int, int]) -> list[int]:
    epoch = group.epochs["a"]
    row: dict[str, Any] = {"generation_id_or_member_epoch": epoch, "member_id": group.ids["a"]}
    return [
        group.commit_offset(*who, 7, **row),
        group.commit_offset(*who, 7, **{**row, "generation_id_or_member_epoch": epoch + 5}),
        group.commit_offset(*who, 7, **{**row, "member_id": "x"}),
        group.commit_offset(*who, 7),
    ]


def _end(group: Streams) -> Iterator[Line]:
    yield "one", _ready(group)
    yield "leave", group.beat("a", epoch=-1)
    yield "listed", group.listed()
    yield "by others", group.by_others()
    yield "listed", group.listed()
    yield "describe", group.describe()


def lines(group: Streams) -> list[str]:
    """Take all steps; returns a line for each."""
    try:
        group.begin()
        return [f"{label}: {value}" for label, value in steps_of(group)]
    finally:
        for connection in group.connections.values():
            connection.close()


if __name__ == "__main__":
    sys.stdout.write("\n".join(lines(Streams(sys.argv[1]))) + "\n")
