"""Control of a running served cluster: rules, brokers, leaders, disks, the clock, and recorded frames.

Every operation takes and returns JSON values, so that `control_http` can serve it.
"""

from __future__ import annotations

import inspect
import io
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from ssl import SSLContext
from typing import Any

from msgspec import Struct

from ... import messages
from ...codecs.message_codec import codec
from ...codecs.records import Record, RecordHeader, build_batch, parse_records
from ...errors import CallError, excerpt
from ...protocol import Request, Response, Result, decode_frames
from ...schema.catalog import catalog_for
from ...values import ErrorCode
from .. import ServedCluster, fault_rule_checks, fault_rules
from ..configs import check_configs
from ..controller.partition import Partition
from ..fault_rule_checks import check_rule, error_code
from ..fault_rules import FaultRule
from ..internal_topics import coordinator_of
from ..node import LogDir, Node
from .frame_recorder import FrameRecorder
from .network import Network
from .operation_arguments import check_arguments
from .operation_journal import OperationJournal, PerformedOperation
from .server_state import Note
from .socket_server import SocketServer

NO_GROUP = "Dead"  # the state of a group that is not there, in Kafka's words
MOST_NOTES = 1000
OPERATIONS = frozenset(
    "add_rule remove_rule clear_rules hits stop_broker start_broker set_network isolate_broker rejoin_broker"
    " kill_connections disturbances create_topic delete_topic move_leader shrink_isr expand_isr partition log_dirs"
    " fail_log_dir fill_log_dir heal_log_dir advance group_state coordinator committed notes failures produce records"
    " frames capture recording forget_frames".split()
)
DIRECTIONS: dict[str | None, Any] = {None: object, "request": Request, "response": Response}


class Control:
    """Operations on a served cluster. Each method is an operation; methods that wait are coroutines.

    Args:
        serving: the cluster, on sockets. All methods must be called in its event loop.
        noted: the messages for the operator so far.
    """

    def __init__(self, serving: SocketServer, noted: Sequence[str]) -> None:
        self.serving: SocketServer = serving
        self._cluster = serving.cluster
        self._noted = noted
        self._rules: dict[int, FaultRule] = {}
        self._journal = OperationJournal()

    @classmethod
    def of(
        cls,
        cluster: ServedCluster,
        note: Note | None = None,
        is_recorded: bool = True,
        tls: SSLContext | None = None,
    ) -> Control:
        """Return the control of a cluster that it begins to serve.

        Args:
            cluster: the cluster to serve.
            note: called with messages for the operator, which are also kept.
            is_recorded: whether frames are kept.
            tls: the TLS settings, if clients must use TLS.
        """
        noted: deque[str] = deque(maxlen=MOST_NOTES)

        def keep(text: str) -> None:
            noted.append(text)
            if note is not None:
                note(text)

        return cls(SocketServer(cluster, keep, recorded=FrameRecorder() if is_recorded else None, tls=tls), noted)

    async def do(self, operation: str, arguments: Mapping[str, Any]) -> Any:
        """Perform an operation, see `begin`, and return its result."""
        done = self.begin(operation, arguments)
        return await done if inspect.isawaitable(done) else done

    def begin(self, operation: str, arguments: Mapping[str, Any]) -> Any:
        """Perform an operation by name and return its result, which is awaitable if the operation waits.

        Raises:
            ValueError: there is no such operation.
            TypeError: it has no such argument, or one of another type.
        """
        if operation not in OPERATIONS:
            raise ValueError(f"there is no operation {operation!r}; operations are {', '.join(sorted(OPERATIONS))}")
        method = getattr(self, operation)
        check_arguments(method, arguments)
        members = tuple(sorted(self.serving.connected_members())) if operation == "advance" else ()
        position, now = self.serving.recorded.added, self.serving.wall_ms() / 1000
        self._journal.add(PerformedOperation(position, now, operation, arguments, members))
        return method(**arguments)

    # Rules

    def add_rule(self, *, action: str, error: str | int | None = None, **fields: Any) -> int:
        """Add a rule; returns its number. The fields are the attributes of `kwire.broker.fault_rules.FaultRule`."""
        if action not in fault_rules.ACTIONS:
            raise ValueError(f"{action!r} is not an action; actions are {', '.join(fault_rules.ACTIONS)}")
        if unknown := fields.keys() - fault_rule_checks.FIELDS:
            raise ValueError(
                f"a rule has no {sorted(unknown)[0]}; it has {', '.join(sorted(fault_rule_checks.FIELDS))}"
            )
        if isinstance(fields.get("answer"), dict) and fields.get("api"):
            fields["answer"] = self._response(fields["api"], fields["answer"])
        rule = FaultRule(action=action, code=0 if error is None else error_code(error), **fields)
        check_rule(rule, self._cluster.table)
        number = len(self._rules) + 1
        self._rules[number] = self._cluster.rules.add(rule)
        return number

    def _response(self, api: str, value: dict[str, Any]) -> Struct | dict[str, Any]:
        spec = self._cluster.table.get(api)
        if spec is None:
            return value  # `check_rule` raises the error
        response: Struct = codec(f"{api}Response", spec.last).from_json(value, defaults=True)
        return response

    def remove_rule(self, rule: int) -> None:
        """Remove a rule; its count remains available."""
        self._cluster.rules.remove(self._rule(rule))

    def clear_rules(self) -> None:
        """Remove all rules."""
        self._cluster.rules.clear()

    def hits(self, rule: int) -> int:
        """Return the number of requests to which a rule has applied."""
        return self._rule(rule).hits

    def failures(self) -> list[str]:
        """Return the errors in the broker's own code so far, one line each; there should be none."""
        return [note for error in self.serving.failures.errors for note in getattr(error, "__notes__", ())]

    def failed(self) -> Exception | None:
        """Return the first exception in a handler, or in a function of a rule, once; not an operation over HTTP."""
        return self.serving.failures.take()

    def _rule(self, number: int) -> FaultRule:
        if number not in self._rules:
            raise ValueError(f"there is no rule {number}")
        return self._rules[number]

    # Brokers and the network

    async def stop_broker(self, broker: int) -> None:
        """Stop a broker: its connections close, and other brokers lead its partitions."""
        self._cut(broker, is_cut=False)
        self._cluster.stop(broker)
        self.serving.settle()

    async def start_broker(self, broker: int) -> None:
        """Restart a stopped broker on its previous port; its replicas catch up."""
        self._cut(broker, is_cut=False)
        await self.serving.resume(broker)

    def set_network(
        self,
        broker: int | None = None,
        *,
        delay: float = 0.0,
        bytes_per_second: float | None = None,
        is_cut: bool = False,
    ) -> None:
        """Set the quality of the network between clients and a broker, or all brokers; isolated ones stay isolated."""
        fault_rule_checks.check_seconds(delay, "delay")
        if bytes_per_second is not None and not (
            fault_rule_checks.is_number(bytes_per_second) and bytes_per_second >= 1
        ):
            raise ValueError(f"bytes_per_second is {excerpt(bytes_per_second)}; give at least 1, or null for no limit")
        for node in self._cluster.controller.nodes.values() if broker is None else [self._node(broker)]:
            is_isolated = not node.is_alive and self.serving.network(node.node_id).is_cut
            self.serving.set_network(node.node_id, Network(delay, bytes_per_second, is_cut or is_isolated))

    def isolate_broker(self, broker: int) -> None:
        """Cut a broker off from clients and from the other brokers: other brokers lead, and its connections hang."""
        self._cut(broker, is_cut=True)
        self._cluster.stop(broker)
        self.serving.settle()

    async def rejoin_broker(self, broker: int) -> None:
        """Reconnect an isolated broker; it catches up and serves again."""
        await self.start_broker(broker)

    def _cut(self, broker: int, *, is_cut: bool) -> None:
        network = self.serving.network(self._node(broker).node_id)
        self.serving.set_network(broker, network._replace(is_cut=is_cut))

    def kill_connections(self, broker: int | None = None, client: str | None = None) -> int:
        """Reset the connections to a broker or of a client id, and return their number."""
        return self.serving.reset(broker, client)

    def _node(self, broker: int) -> Node:
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
        controller.create(topic, placed, check_configs((configs or {}).items(), controller.configs.topic_definitions))

    def delete_topic(self, topic: str) -> None:
        """Delete a topic."""
        self._cluster.delete(self._cluster.controller.known(topic))
        self.serving.settle()

    def move_leader(self, topic: str, partition: int, broker: int) -> None:
        """Move the leadership of a partition to another in-sync replica."""
        self._cluster.move_leader(self._partition(topic, partition), self._node(broker).node_id)
        self.serving.settle()

    def shrink_isr(self, topic: str, partition: int, brokers: Sequence[int]) -> None:
        """Remove replicas from the ISR."""
        self._cluster.shrink_isr(self._partition(topic, partition), brokers)
        self.serving.settle()

    def expand_isr(self, topic: str, partition: int) -> None:
        """Make all online replicas catch up and join the ISR."""
        self._cluster.expand_isr(self._partition(topic, partition))
        self.serving.settle()

    def partition(self, topic: str, partition: int) -> dict[str, Any]:
        """Return leader, replicas, ISR and offsets of a partition."""
        state = self._partition(topic, partition)
        log = state.replicas[state.leader].log if state.leader >= 0 else None
        return {
            "leader": state.leader,
            "leader_epoch": state.leader_epoch,
            "replicas": list(state.replicas),
            "isr": list(state.isr),
            "offline": list(state.offline),
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
        return [log_dir.path for log_dir in self._node(broker).log_dirs]

    def fail_log_dir(self, broker: int, log_dir: int | str) -> None:
        """Make a log directory fail as if its disk had failed (KIP-112)."""
        self.serving.fail(self._log_dir(broker, log_dir))

    def fill_log_dir(self, broker: int, log_dir: int | str) -> None:
        """Fill the disk of a log directory: the next write to it fails and takes it offline, as in Kafka."""
        self._log_dir(broker, log_dir).is_full = True

    def heal_log_dir(self, broker: int, log_dir: int | str) -> None:
        """Repair a log directory; its replicas catch up. In Kafka this requires a restart of the broker."""
        failed = self._log_dir(broker, log_dir)
        self._cluster.heal(failed)
        self.serving.settle()

    def _log_dir(self, broker: int, which: int | str) -> LogDir:
        log_dirs = self._node(broker).log_dirs
        if isinstance(which, int) and 0 <= which < len(log_dirs):
            return log_dirs[which]
        for log_dir in log_dirs:
            if log_dir.path == which:
                return log_dir
        raise ValueError(f"broker {broker} has no log directory {which!r}; it has {len(log_dirs)}, counted from 0")

    # The clock, and states

    def advance(self, seconds: float, keep_connected: bool = True) -> None:
        """Advance the clock, which affects sessions, transactions, retention and long polls."""
        self.serving.advance(seconds, keep_connected=keep_connected)

    def group_state(self, group: str) -> str:
        """Return the state of a group by Kafka's name; `Dead` if the group does not exist."""
        known_group = self._cluster.groups.find(group)
        return NO_GROUP if known_group is None else str(known_group.state.value)

    def coordinator(self, group: str) -> int:
        """Return the id of the broker that coordinates a group; -1 if no broker does."""
        node_id = coordinator_of(group, self._cluster.controller)
        return -1 if node_id is None else node_id

    def committed(self, group: str, topic: str, partition: int) -> int:
        """Return the offset that a group has committed for a partition; -1 if it has committed none."""
        known_group, of = self._cluster.groups.find(group), self._cluster.controller.known(topic)
        commit = known_group.commits.get(topic, partition, of.topic_id) if known_group is not None else None
        return -1 if commit is None else commit.offset

    def disturbances(self) -> list[str]:
        """Return what chaos did to requests so far, one line each."""
        return list(self._cluster.chaos.noted) if self._cluster.chaos is not None else []

    def notes(self) -> list[str]:
        """Return the messages for the operator so far, such as refused connections and failed directories."""
        return list(self._noted)

    # Records

    def produce(self, topic: str, records: list[dict[str, Any]], partition: int = 0) -> int:
        """Append records, each with `key`, `value`, `headers` and `timestamp`, as bytes; returns the first offset."""
        rows = [
            Record(index, row.get("timestamp", self.serving.wall_ms()), row.get("key"), row.get("value"), _headers(row))
            for index, row in enumerate(records)
        ]
        state = self._partition(topic, partition)
        part = messages.ProduceRequest.PartitionProduceData(index=partition, records=build_batch(rows))
        row = messages.ProduceRequest.TopicProduceData(name=topic, partition_data=(part,))
        request = messages.ProduceRequest(acks=-1, timeout_ms=0, topic_data=(row,))
        answer = self._cluster.answer(state.leader, request, 9, now=self.serving.now())
        self.serving.settle()
        outcome = answer.responses[0].partition_responses[0]
        if outcome.error_code:
            raise CallError(f"{topic}-{partition}", f"it cannot be written: {ErrorCode(outcome.error_code)}", "")
        return int(outcome.base_offset)

    def records(self, topic: str, partition: int | None = None) -> list[Record]:
        """Return the records of a topic, partition by partition, including records of aborted transactions."""
        if partition is None:
            partitions = self._cluster.controller.known(topic).partitions
        else:
            partitions = [self._partition(topic, partition)]
        rows: list[Record] = []
        for state in partitions:
            log = state.log_at(state.leader)
            if isinstance(log, int):
                where = f"{topic}-{state.index}"
                raise CallError(where, "the partition has no leader", "bring a replica of the ISR online")
            for batch in parse_records(log.read(log.start, log.size)):
                rows += [] if batch.is_control else batch.tolerant_records()
        return rows

    # What happened

    def frames(self, api: str | None = None, client: str | None = None, direction: str | None = None) -> list[Result]:
        """Return the decoded requests and responses so far, in the order in which they were read and written."""
        return choose_results(
            decode_frames(self.serving.recorded.frames(), self._cluster.catalog), api, client, direction
        )

    def capture(self) -> bytes:
        """Return all frames so far as a pcap file, for `kwire decode` and Wireshark."""
        stream = io.BytesIO()
        from ...capture.capture_writer import CaptureWriter  # here: serve starts sooner

        writer = CaptureWriter(stream)
        for frame in self.serving.recorded.frames():
            writer.write(frame)
        writer.close()
        return stream.getvalue()

    def recording(self) -> dict[str, Any]:
        """Return what is needed to play the requests again: operations with their places among the frames, the number
        of frames before the first one in `capture`, and the ports of the brokers."""
        nodes = self._cluster.controller.nodes
        versions = {name: api.last for name, api in self._cluster.table.items()}
        return {
            "operations": self._journal.rows(versions),
            "missing": self.serving.recorded.missing,
            "redacted": self.serving.recorded.has_secrets,
            "ports": {str(node_id): node.port for node_id, node in nodes.items()},
        }

    def forget_frames(self) -> None:
        """Discard the frames so far."""
        self.serving.recorded.clear()


def choose_results(
    results: Iterable[Result], api: str | None, client: str | None, direction: str | None
) -> list[Result]:
    """Return the results of an api, of a client id, and of a direction; None is any.

    Raises:
        UnknownMessage: Kafka has no such api.
        ValueError: the direction is neither `request` nor `response`.
    """
    if api is not None:
        catalog_for().spec(f"{api}Request")
    if direction not in DIRECTIONS:
        raise ValueError(f"direction is {direction!r}; write 'request' or 'response'")
    return [
        result
        for result in results
        if api in (None, getattr(result, "api_name", None))
        and client in (None, result.client.client_id)
        and isinstance(result, DIRECTIONS[direction])
    ]


def _headers(row: dict[str, Any]) -> tuple[RecordHeader, ...]:
    return tuple(RecordHeader(key, value) for key, value in row.get("headers") or ())
