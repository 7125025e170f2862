"""Control of a served cluster while it runs: rules, brokers, leaders, disks, the clock; and what happened.

Every operation takes and returns what JSON has, so that it can be asked for over HTTP too, on this machine only.
"""

from __future__ import annotations

import inspect
import io
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from ssl import SSLContext
from typing import Any

from .. import messages
from ..broker import ServedCluster, faults
from ..broker.configs import checked
from ..broker.faults import Rule, check_rule, error_code
from ..broker.topics import Partition
from ..capture.writer import CaptureWriter
from ..codecs import codec
from ..errors import CallError
from ..protocol import Result, decode_frames
from ..records import Record, RecordHeader, build_batch, parse_records
from ..values import ErrorCode
from .limits import Recorder
from .server import Network, Note, Serving

NO_GROUP = "Dead"  # the state of a group that is not there, in Kafka's words
MOST_NOTES = 1000
OPERATIONS = frozenset(
    "add_rule remove_rule clear_rules hits stop_broker start_broker set_network isolate_broker rejoin_broker"
    " kill_connections create_topic delete_topic move_leader shrink_isr expand_isr partition log_dirs"
    " fail_log_dir fill_log_dir heal_log_dir advance group_state committed notes produce records frames capture"
    " forget_frames".split()
)


class Control:
    """Operations on a cluster that is served. Each method is an operation; those that wait are coroutines.

    Args:
        serving: the cluster, on sockets. All methods are to be called in its event loop.
        noted: what an operator would have read so far.
    """

    def __init__(self, serving: Serving, noted: Sequence[str]) -> None:
        self.serving: Serving = serving
        self._cluster = serving.cluster
        self._noted = noted
        self._rules: dict[int, Rule] = {}

    @classmethod
    def of(
        cls,
        cluster: ServedCluster,
        note: Note | None = None,
        is_recorded: bool = True,
        tls: SSLContext | None = None,
    ) -> Control:
        """Make what serves a cluster, and controls it.

        Args:
            cluster: what answers.
            note: is given what an operator wants to know, which is kept in any case.
            is_recorded: whether frames are kept.
            tls: clients are to use TLS, with this.
        """
        noted: deque[str] = deque(maxlen=MOST_NOTES)

        def keep(text: str) -> None:
            noted.append(text)
            if note is not None:
                note(text)

        return cls(Serving(cluster, keep, recorded=Recorder() if is_recorded else None, tls=tls), noted)

    async def do(self, operation: str, arguments: Mapping[str, Any]) -> Any:
        """Do an operation by its name, and return what it returns; raises ValueError if there is none of this name."""
        if operation not in OPERATIONS:
            raise ValueError(f"there is no operation {operation!r}; operations are {', '.join(sorted(OPERATIONS))}")
        done = getattr(self, operation)(**arguments)
        return await done if inspect.isawaitable(done) else done

    # Rules

    def add_rule(self, *, action: str, error: str | int | None = None, **fields: Any) -> int:
        """Let a rule hold; returns its number. The fields are those of `kwire.broker.faults.Rule`."""
        if action not in faults.ACTIONS:
            raise ValueError(f"{action!r} is no action; actions are {', '.join(faults.ACTIONS)}")
        if isinstance(fields.get("answer"), dict) and fields.get("api"):
            fields["answer"] = self._response(fields["api"], fields["answer"])
        rule = Rule(action=action, code=0 if error is None else error_code(error), **fields)
        check_rule(rule, self._cluster.table)
        number = len(self._rules) + 1
        self._rules[number] = self._cluster.rules.add(rule)
        return number

    def _response(self, api: str, value: dict[str, Any]) -> Any:
        spec = self._cluster.table.get(api)
        if spec is None:
            return value  # `check_rule` says so
        return codec(f"{api}Response", spec.last).from_json(value, defaults=True)

    def remove_rule(self, rule: int) -> None:
        """Let a rule hold no longer; its count stays."""
        self._cluster.rules.remove(self._rule(rule))

    def clear_rules(self) -> None:
        """Remove all rules."""
        self._cluster.rules.clear()

    def hits(self, rule: int) -> int:
        """Return to how many requests a rule applied."""
        return self._rule(rule).hits

    def _rule(self, number: int) -> Rule:
        if number not in self._rules:
            raise ValueError(f"there is no rule {number}")
        return self._rules[number]

    # Brokers and the network

    async def stop_broker(self, broker: int) -> None:
        """Stop a broker: its connections end, and others lead."""
        self._node(broker)
        self._cluster.stop(broker)
        self.serving.settle()

    async def start_broker(self, broker: int) -> None:
        """Start a broker that was stopped, on the port that it had; its replicas catch up."""
        self._node(broker)
        await self.serving.resume(broker)

    def set_network(
        self,
        broker: int | None = None,
        *,
        delay: float = 0.0,
        bytes_per_second: float | None = None,
        is_cut: bool = False,
    ) -> None:
        """Set what the network between clients and a broker, or all brokers, is like."""
        if delay < 0 or (bytes_per_second is not None and bytes_per_second <= 0):
            raise ValueError("a delay is not negative, and a rate is above 0")
        for node_id in self._cluster.controller.nodes if broker is None else [self._node(broker).node_id]:
            self.serving.set_network(node_id, Network(delay, bytes_per_second, is_cut))

    def isolate_broker(self, broker: int) -> None:
        """Cut a broker off from clients and from the other brokers: others lead, and its connections hang."""
        self.set_network(broker, is_cut=True)
        self._cluster.stop(broker)
        self.serving.settle()

    def rejoin_broker(self, broker: int) -> None:
        """Let a broker that was isolated catch up and serve again."""
        self._cluster.start(self._node(broker).node_id)
        self.set_network(broker)
        self.serving.settle()

    def kill_connections(self, broker: int | None = None, client: str | None = None) -> int:
        """Reset connections, to a broker or of a client id; returns how many."""
        return self.serving.reset(broker, client)

    def _node(self, broker: int) -> Any:
        nodes = self._cluster.controller.nodes
        if broker not in nodes:
            raise ValueError(f"there is no broker {broker}; brokers are {', '.join(map(str, nodes))}")
        return nodes[broker]

    # Topics and partitions

    def create_topic(
        self,
        topic: str,
        partitions: int = -1,
        replication_factor: int = -1,
        configs: dict[str, str] | None = None,
        assignment: list[list[int]] | None = None,
    ) -> None:
        """Create a topic."""
        controller = self._cluster.controller
        placed = dict(enumerate(assignment)) if assignment else controller.place(partitions, replication_factor)
        controller.create(topic, placed, checked((configs or {}).items()))

    def delete_topic(self, topic: str) -> None:
        """Delete a topic."""
        self._cluster.delete(self._cluster.controller.known(topic))
        self.serving.settle()

    def move_leader(self, topic: str, partition: int, broker: int) -> None:
        """Let another replica in sync lead."""
        self._cluster.lead(self._partition(topic, partition), self._node(broker).node_id)
        self.serving.settle()

    def shrink_isr(self, topic: str, partition: int, brokers: Sequence[int]) -> None:
        """Take replicas out of sync."""
        self._cluster.shrink(self._partition(topic, partition), brokers)
        self.serving.settle()

    def expand_isr(self, topic: str, partition: int) -> None:
        """Let all replicas that are online catch up, and be in sync."""
        self._cluster.expand(self._partition(topic, partition))
        self.serving.settle()

    def partition(self, topic: str, partition: int) -> dict[str, Any]:
        """Return leader, replicas, ISR and offsets of a partition."""
        found = self._partition(topic, partition)
        log = found.replicas[found.leader].log if found.leader >= 0 else None
        return {
            "leader": found.leader,
            "leader_epoch": found.leader_epoch,
            "replicas": list(found.replicas),
            "isr": list(found.isr),
            "offline": list(found.offline),
            "start": log.start if log is not None else -1,
            "end": log.end if log is not None else -1,
        }

    def _partition(self, topic: str, index: int) -> Partition:
        partitions = self._cluster.controller.known(topic).partitions
        if not 0 <= index < len(partitions):
            raise ValueError(f"{topic} has no partition {index}; it has {len(partitions)}")
        return partitions[index]

    # Log directories

    def log_dirs(self, broker: int) -> list[str]:
        """Return the paths of the log directories of a broker."""
        return [one.path for one in self._node(broker).log_dirs]

    def fail_log_dir(self, broker: int, log_dir: int | str) -> None:
        """Let a log directory fail, as if its disk did (KIP-112)."""
        self.serving.fail(self._log_dir(broker, log_dir))

    def fill_log_dir(self, broker: int, log_dir: int | str) -> None:
        """Let the disk of a log directory be full: the next write to it fails, and takes it offline as in Kafka."""
        self._log_dir(broker, log_dir).is_full = True

    def heal_log_dir(self, broker: int, log_dir: int | str) -> None:
        """Let a log directory work again; its replicas catch up. In Kafka that takes a restart of the broker."""
        found = self._log_dir(broker, log_dir)
        self._cluster.heal(found)
        self.serving.settle()

    def _log_dir(self, broker: int, which: int | str) -> Any:
        log_dirs = self._node(broker).log_dirs
        if isinstance(which, int) and 0 <= which < len(log_dirs):
            return log_dirs[which]
        for one in log_dirs:
            if one.path == which:
                return one
        raise ValueError(f"broker {broker} has no log directory {which!r}; it has {len(log_dirs)}, counted from 0")

    # The clock, and states

    def advance(self, seconds: float, keep_connected: bool = True) -> None:
        """Move the clock on: sessions, transactions, retention and long polls see it."""
        if seconds < 0:
            raise ValueError("the clock moves forward only")
        self.serving.advance(seconds, keep_connected=keep_connected)

    def group_state(self, group: str) -> str:
        """Return the state of a group in Kafka's words; `Dead` where there is none."""
        found = self._cluster.groups.find(group)
        return NO_GROUP if found is None else str(found.state.value)

    def committed(self, group: str, topic: str, partition: int) -> int:
        """Return the offset that a group has committed; -1 where there is none."""
        found, of = self._cluster.groups.find(group), self._cluster.controller.known(topic)
        commit = found.commits.get(topic, partition, of.topic_id) if found is not None else None
        return -1 if commit is None else commit.offset

    def notes(self) -> list[str]:
        """Return what an operator would have read, such as refused connections and failed directories."""
        return list(self._noted)

    # Records

    def produce(self, topic: str, records: list[dict[str, Any]], partition: int = 0) -> int:
        """Append records, each with `key`, `value`, `headers` and `timestamp`, as bytes; returns the first offset."""
        rows = [
            Record(place, row.get("timestamp", self.serving.wall_ms()), row.get("key"), row.get("value"), _headers(row))
            for place, row in enumerate(records)
        ]
        found = self._partition(topic, partition)
        part = messages.ProduceRequest.PartitionProduceData(index=partition, records=build_batch(rows))
        row = messages.ProduceRequest.TopicProduceData(name=topic, partition_data=(part,))
        request = messages.ProduceRequest(acks=-1, timeout_ms=0, topic_data=(row,))
        answer = self._cluster.answer(found.leader, request, 9, now=self.serving.now())
        self.serving.settle()
        outcome = answer.responses[0].partition_responses[0]
        if outcome.error_code:
            raise CallError(f"{topic}-{partition}", f"it cannot be written: {ErrorCode(outcome.error_code)}", "")
        return int(outcome.base_offset)

    def records(self, topic: str, partition: int | None = None) -> list[Record]:
        """Return the records of a topic, partition after partition; those of aborted transactions too."""
        found = self._cluster.controller.known(topic).partitions
        chosen = found if partition is None else [self._partition(topic, partition)]
        rows: list[Record] = []
        for one in chosen:
            log = one.log_at(one.leader)
            if isinstance(log, int):
                where = f"{topic}-{one.index}"
                raise CallError(where, "the partition has no leader", "bring a replica of the ISR online")
            for batch in parse_records(log.read(log.start, log.size)):
                rows += [] if batch.is_control else batch.records()
        return rows

    # What happened

    def frames(self, api: str | None = None, client: str | None = None) -> list[Result]:
        """Return the requests and responses so far, decoded, in the order in which they were read and written."""
        return chosen(decode_frames(self.serving.recorded.frames(), self._cluster.catalog), api, client)

    def capture(self) -> bytes:
        """Return all frames so far as a pcap file, as `kwire decode` and Wireshark read it."""
        stream = io.BytesIO()
        writer = CaptureWriter(stream)
        for frame in self.serving.recorded.frames():
            writer.write(frame)
        writer.close()
        return stream.getvalue()

    def forget_frames(self) -> None:
        """Forget the frames so far."""
        self.serving.recorded.clear()


def chosen(results: Iterable[Result], api: str | None, client: str | None) -> list[Result]:
    """Return the results of an api and of a client id; None is any."""
    return [
        one
        for one in results
        if api in (None, getattr(one, "api_name", None)) and client in (None, one.client.client_id)
    ]


def _headers(row: dict[str, Any]) -> tuple[RecordHeader, ...]:
    return tuple(RecordHeader(key, value) for key, value in row.get("headers") or ())
