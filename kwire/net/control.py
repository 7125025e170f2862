"""Control of a running served cluster: rules, brokers, leaders, disks, the clock, and recorded frames. Also over HTTP,
on this machine only, with KIP-112's metrics for Prometheus.

Every operation takes and returns JSON values, so that `POST /OPERATION` can request it. Bytes are text if they are
UTF-8, and `{"base64": "..."}` otherwise; both forms are accepted. Metrics have the names that Prometheus's JMX
exporter gives Kafka's MBeans.
"""

from __future__ import annotations

import asyncio
import base64
import hmac
import inspect
import io
import json
import secrets
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from ssl import SSLContext
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any

from .. import messages
from ..broker import ServedCluster, faults
from ..broker.faults import Rule, check_rule, error_code
from ..broker.internal_topics import coordinator_of
from ..broker.partition_leader_and_isr import Partition
from ..broker.settings_and_quotas import checked
from ..codecs import codec
from ..errors import CallError, KwireError, MissingExtra, excerpt
from ..protocol import Request, Response, Result, decode_frames
from ..records import Record, RecordHeader, build_batch, parse_records
from ..spec.catalog import catalog_for
from ..values import ErrorCode
from .client import Address
from .failures import call_errors
from .limits import Recorder
from .server import Network, Note, Serving

if TYPE_CHECKING:
    from http.server import BaseHTTPRequestHandler as HttpHandler
else:
    HttpHandler = object

NO_GROUP = "Dead"  # the state of a group that is not there, in Kafka's words
MOST_NOTES = 1000
OPERATIONS = frozenset(
    "add_rule remove_rule clear_rules hits stop_broker start_broker set_network isolate_broker rejoin_broker"
    " kill_connections create_topic delete_topic move_leader shrink_isr expand_isr partition log_dirs"
    " fail_log_dir fill_log_dir heal_log_dir advance group_state coordinator committed notes failures produce records"
    " frames capture forget_frames".split()
)


class Control:
    """Operations on a served cluster. Each method is an operation; methods that wait are coroutines.

    Args:
        serving: the cluster, on sockets. All methods must be called in its event loop.
        noted: the messages for the operator so far.
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

        return cls(Serving(cluster, keep, recorded=Recorder() if is_recorded else None, tls=tls), noted)

    async def do(self, operation: str, arguments: Mapping[str, Any]) -> Any:
        """Perform an operation by name and return its result; raises ValueError for an unknown name."""
        if operation not in OPERATIONS:
            raise ValueError(f"there is no operation {operation!r}; operations are {', '.join(sorted(OPERATIONS))}")
        done = getattr(self, operation)(**arguments)
        return await done if inspect.isawaitable(done) else done

    # Rules

    def add_rule(self, *, action: str, error: str | int | None = None, **fields: Any) -> int:
        """Add a rule; returns its number. The fields are the attributes of `kwire.broker.faults.Rule`."""
        if action not in faults.ACTIONS:
            raise ValueError(f"{action!r} is not an action; actions are {', '.join(faults.ACTIONS)}")
        if unknown := fields.keys() - faults.FIELDS:
            raise ValueError(f"a rule has no {sorted(unknown)[0]}; it has {', '.join(sorted(faults.FIELDS))}")
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
            return value  # `check_rule` raises the error
        return codec(f"{api}Response", spec.last).from_json(value, defaults=True)

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

    def _rule(self, number: int) -> Rule:
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
        faults.check_seconds(delay, "delay")
        if bytes_per_second is not None and not (faults.is_number(bytes_per_second) and bytes_per_second >= 1):
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
        """Make a log directory fail as if its disk had failed (KIP-112)."""
        self.serving.fail(self._log_dir(broker, log_dir))

    def fill_log_dir(self, broker: int, log_dir: int | str) -> None:
        """Fill the disk of a log directory: the next write to it fails and takes it offline, as in Kafka."""
        self._log_dir(broker, log_dir).is_full = True

    def heal_log_dir(self, broker: int, log_dir: int | str) -> None:
        """Repair a log directory; its replicas catch up. In Kafka this requires a restart of the broker."""
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
        """Advance the clock, which affects sessions, transactions, retention and long polls."""
        self.serving.advance(seconds, keep_connected=keep_connected)

    def group_state(self, group: str) -> str:
        """Return the state of a group by Kafka's name; `Dead` if the group does not exist."""
        found = self._cluster.groups.find(group)
        return NO_GROUP if found is None else str(found.state.value)

    def coordinator(self, group: str) -> int:
        """Return the id of the broker that coordinates a group; -1 if no broker does."""
        found = coordinator_of(group, self._cluster.controller)
        return -1 if found is None else found

    def committed(self, group: str, topic: str, partition: int) -> int:
        """Return the offset that a group has committed for a partition; -1 if it has committed none."""
        found, of = self._cluster.groups.find(group), self._cluster.controller.known(topic)
        commit = found.commits.get(topic, partition, of.topic_id) if found is not None else None
        return -1 if commit is None else commit.offset

    def notes(self) -> list[str]:
        """Return the messages for the operator so far, such as refused connections and failed directories."""
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
        """Return the records of a topic, partition by partition, including records of aborted transactions."""
        found = self._cluster.controller.known(topic).partitions
        chosen = found if partition is None else [self._partition(topic, partition)]
        rows: list[Record] = []
        for one in chosen:
            log = one.log_at(one.leader)
            if isinstance(log, int):
                where = f"{topic}-{one.index}"
                raise CallError(where, "the partition has no leader", "bring a replica of the ISR online")
            for batch in parse_records(log.read(log.start, log.size)):
                rows += [] if batch.is_control else batch.tolerant_records()
        return rows

    # What happened

    def frames(self, api: str | None = None, client: str | None = None, direction: str | None = None) -> list[Result]:
        """Return the decoded requests and responses so far, in the order in which they were read and written."""
        return chosen(decode_frames(self.serving.recorded.frames(), self._cluster.catalog), api, client, direction)

    def capture(self) -> bytes:
        """Return all frames so far as a pcap file, for `kwire decode` and Wireshark."""
        stream = io.BytesIO()
        from ..capture.writer import CaptureWriter  # here: serve starts sooner

        writer = CaptureWriter(stream)
        for frame in self.serving.recorded.frames():
            writer.write(frame)
        writer.close()
        return stream.getvalue()

    def forget_frames(self) -> None:
        """Discard the frames so far."""
        self.serving.recorded.clear()


DIRECTIONS: dict[str | None, Any] = {None: object, "request": Request, "response": Response}


def chosen(results: Iterable[Result], api: str | None, client: str | None, direction: str | None) -> list[Result]:
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
        one
        for one in results
        if api in (None, getattr(one, "api_name", None))
        and client in (None, one.client.client_id)
        and isinstance(one, DIRECTIONS[direction])
    ]


def _headers(row: dict[str, Any]) -> tuple[RecordHeader, ...]:
    return tuple(RecordHeader(key, value) for key, value in row.get("headers") or ())


HOST = "127.0.0.1"
MOST = 64 << 20  # bytes of arguments
PATIENCE = 60.0  # seconds for an operation
LOOPBACK = ("127.0.0.1", "localhost")
REPLICAS = "kafka_server_replicamanager_offlinereplicacount", "replicas in log directories that are offline"
DIRECTORIES = "kafka_log_logmanager_offlinelogdirectorycount", "log directories that are offline"
COUNT_PATIENCE = 5.0  # seconds in which the cluster is to be counted


class ControlServer:
    """Serves HTTP requests in threads; operations run in the event loop of the cluster.

    All users of this machine can connect to its ports, and operations pass every ACL. So an operation needs the header
    `Authorization: Bearer TOKEN`, with a token that only the user who started the server is given.

    Args:
        control: performs the operations.
        port: the port on 127.0.0.1; 0 for any free port.
        token: the token, if it is known before; random by default.

    Attributes:
        url: the URL of the server.
        token: the token.

    Raises:
        CallError: the port is taken.
    """

    def __init__(self, control: Control, port: int, token: str = "") -> None:
        from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer  # here: 1.2 MB without --control

        self.token: str = token or secrets.token_urlsafe(16)
        self._control, self._loop = control, asyncio.get_running_loop()
        handler = type("Handler", (_Handler, BaseHTTPRequestHandler), {"owner": self})
        with call_errors(f"{HOST}:{port}", "cannot listen", "is the port taken?"):
            self._server = ThreadingHTTPServer((HOST, port), handler)
        self._server.daemon_threads = True
        self.url: str = f"http://{HOST}:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, name="kwire control", daemon=True).start()

    def do(self, operation: str, arguments: Mapping[str, Any]) -> Any:
        """Perform an operation in the event loop, and return its result."""
        done = self._control.do(operation, _read_bytes(operation, arguments))
        return asyncio.run_coroutine_threadsafe(done, self._loop).result(PATIENCE)

    def report(self, what: str, error: Exception) -> None:
        """Report an error in kwire, in the event loop."""
        self._loop.call_soon_threadsafe(
            partial(self._control.serving.failures.report, what, error, "answered status 500")
        )

    def close(self) -> None:
        """Stop serving requests."""
        self._server.shutdown()
        self._server.server_close()


class _Handler(HttpHandler):
    owner: ControlServer

    def do_GET(self) -> None:  # noqa: N802 - http.server calls it
        """List the operations."""
        if self._is_local():
            self._send(200, "text/plain; charset=utf-8", operations().encode())

    def do_POST(self) -> None:  # noqa: N802 - http.server calls it
        """Perform an operation."""
        operation = self.path.strip("/")
        if not self._is_local() or not self._is_authorized():
            return
        try:
            result = self.owner.do(operation, self._arguments())
        except (ValueError, TypeError, KwireError, RecursionError, TimeoutError) as error:
            self._send_json(400, {"error": str(error)})
        except Exception as error:
            self.owner.report(f"control operation {operation}", error)
            self._send_json(500, {"error": f"an error in kwire: {type(error).__name__}: {error}"})
        else:
            self._send_json(200, {"result": result})

    def _arguments(self) -> dict[str, Any]:
        size = int(self.headers.get("Content-Length", 0))
        if not 0 <= size <= MOST:
            raise ValueError(f"arguments of {size} bytes; up to {MOST} are read")
        arguments = json.loads(self.rfile.read(size) or b"{}", parse_constant=_refuse_constant)
        if not isinstance(arguments, dict):
            raise ValueError("arguments are a JSON object")
        return arguments

    def _is_authorized(self) -> bool:
        """Return whether a request has the token (RFC 6750)."""
        given = self.headers.get("Authorization", "").encode("utf-8", "replace")
        if hmac.compare_digest(given, f"Bearer {self.owner.token}".encode()):
            return True
        self._send_json(401, {"error": "send the header Authorization: Bearer TOKEN; kwire serve prints the token"})
        return False

    def _is_local(self) -> bool:
        """Return False for a request sent by a web page: the browser names the page's origin, or a host other than this
        machine."""
        host = self.headers.get("Host", "").rpartition(":")[0]
        if host in LOOPBACK and "Origin" not in self.headers:
            return True
        self._send_json(403, {"error": "only programs of this machine may control the cluster"})
        return False

    def _send_json(self, status: int, value: Any) -> None:
        self._send(status, "application/json", json.dumps(value, default=_as_json).encode())

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *values: Any) -> None:
        """Print nothing."""


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def operations() -> str:
    """Return the operations with their arguments as text, one per line."""
    lines = [
        "POST /OPERATION with its arguments as a JSON object, such as {}; GET / is this list.",
        "It needs the header Authorization: Bearer TOKEN, with the token that kwire serve prints.",
        "",
    ]
    for name in sorted(OPERATIONS):
        method = getattr(Control, name)
        names = [str(one.replace(annotation=inspect.Parameter.empty)) for one in _arguments(method)]
        about = (method.__doc__ or "").split("\n")[0]
        lines.append(f"{name}({', '.join(names)})\n    {about}")
    return "\n".join(lines) + "\n"


def _arguments(method: Any) -> list[inspect.Parameter]:
    return [one for one in inspect.signature(method).parameters.values() if one.name != "self"]


def _as_json(value: Any) -> Any:
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, Record):
        fields = ("offset", "timestamp", "key", "value", "headers")
        return {name: getattr(value, name) for name in fields}
    from ..render.json_objects import envelope  # here: serve starts sooner

    return envelope(value)


def _read_bytes(operation: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Convert keys, values and headers of records to bytes."""
    if operation != "produce" or not isinstance(rows := arguments.get("records"), list):
        return dict(arguments)
    return {**arguments, "records": [_record(row) for row in rows]}


def _record(row: Any) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise ValueError('a record is an object, such as {"key": "k", "value": "v"}')
    headers = [(name, _bytes(value)) for name, value in row.get("headers") or ()]
    return {**row, "key": _bytes(row.get("key")), "value": _bytes(row.get("value")), "headers": headers}


def _bytes(value: Any) -> bytes | None:
    if isinstance(value, dict):
        return base64.b64decode(value.get("base64", ""), validate=True)
    return value.encode() if isinstance(value, str) else value


class ControlClient:
    """Requests operations from a `ControlServer`.

    Args:
        url: the URL of the server.
        token: its token.
    """

    def __init__(self, url: str, token: str) -> None:
        host, _, port = url.removeprefix("http://").rpartition(":")
        self._address = Address(host, int(port))
        self._headers = {"Authorization": f"Bearer {token}"}

    def do(self, operation: str, arguments: Mapping[str, Any]) -> Any:
        """Perform an operation, and return its result, as `Control.do` does.

        Raises:
            ValueError: the server refuses the operation.
            CallError: the server no longer listens.
        """
        if any(callable(value) for value in arguments.values()):
            raise ValueError("a function cannot go to another process; use a cluster without process=True")
        if operation == "frames":
            return _frames(self._ask("capture", {}), **arguments)
        found = self._ask(operation, arguments)
        if operation == "records":
            return [_record_of(row) for row in found]
        return found

    def _ask(self, operation: str, arguments: Mapping[str, Any]) -> Any:
        from http.client import HTTPConnection  # here: serve starts sooner

        connection = HTTPConnection(*self._address, timeout=PATIENCE)
        body = json.dumps(arguments, default=_as_json)
        with closing(connection), call_errors(self._address, "cannot control the cluster", "does it run?"):
            connection.request("POST", f"/{operation}", body, self._headers)
            answer = connection.getresponse().read()
        found = json.loads(answer)
        if "error" in found:
            raise ValueError(found["error"])
        result = found["result"]
        return _bytes(result) if operation == "capture" else result


def _record_of(row: dict[str, Any]) -> Record:
    headers = tuple(RecordHeader(name, _bytes(value)) for name, value in row["headers"])
    return Record(row["offset"], row["timestamp"], _bytes(row["key"]), _bytes(row["value"]), headers)


def _frames(capture: bytes, **choice: Any) -> list[Any]:
    from ..input import read_dump  # here: serve starts sooner

    with NamedTemporaryFile(suffix=".pcap") as file:
        file.write(capture)
        file.flush()
        return chosen(decode_frames(read_dump(file.name)), **choice)


def offline_counts(cluster: ServedCluster) -> dict[int, tuple[int, int]]:
    """Return how many replicas and log directories are offline, by broker; a stopped broker has no metrics."""
    counts = {
        node_id: (0, sum(log_dir.is_offline for log_dir in node.log_dirs))
        for node_id, node in cluster.controller.nodes.items()
        if not node.is_stopped
    }
    for partition in cluster.controller.partitions():
        for node_id, replica in partition.replicas.items():
            if node_id in counts and replica.log_dir.is_offline:
                replicas, directories = counts[node_id]
                counts[node_id] = replicas + 1, directories
    return counts


class MetricsServer:
    """Serves the metrics on a port of this machine, in a thread of its own.

    Args:
        cluster: the cluster to measure, in the running event loop.
        port: the port; 0 for any free port.

    Attributes:
        url: the URL of the metrics.

    Raises:
        MissingExtra: prometheus_client is not installed.
        CallError: the port is taken.
    """

    def __init__(self, cluster: ServedCluster, port: int) -> None:
        try:
            from prometheus_client import CollectorRegistry, start_http_server
        except ImportError:
            raise MissingExtra("kwire serve --metrics", "prometheus_client", "metrics") from None
        self._cluster, self._loop = cluster, asyncio.get_running_loop()
        registry = CollectorRegistry()
        with call_errors(f"{HOST}:{port}", "cannot listen", "is the port taken?"):
            self._server, self._thread = start_http_server(port, HOST, registry)
        registry.register(self)
        self.url: str = f"http://{HOST}:{self._server.server_port}/metrics"

    def describe(self) -> list[Any]:
        """Return no descriptions, because the registry asks for them at registration, before metrics can be counted."""
        return []

    def collect(self) -> Iterator[Any]:
        """Yield both metrics, counted in the cluster's event loop."""
        from prometheus_client.core import GaugeMetricFamily

        counts = asyncio.run_coroutine_threadsafe(self._count(), self._loop).result(COUNT_PATIENCE)
        for place, (name, about) in enumerate((REPLICAS, DIRECTORIES)):
            family = GaugeMetricFamily(name, about, labels=["broker"])
            for node_id, found in sorted(counts.items()):
                family.add_metric([str(node_id)], found[place])
            yield family

    async def _count(self) -> dict[int, tuple[int, int]]:
        return offline_counts(self._cluster)

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
