"""What a served cluster offers over HTTP on this machine: its control, and KIP-112's metrics for Prometheus.

Control is `POST /OPERATION` with arguments as JSON; what operations do is `kwire.net.control`'s. Bytes are text where
they are UTF-8, and `{"base64": "..."}` otherwise; both are read. Metrics have the names that Prometheus's JMX exporter
gives Kafka's MBeans.
"""

from __future__ import annotations

import asyncio
import base64
import inspect
import json
import threading
from collections.abc import Iterator, Mapping
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from tempfile import NamedTemporaryFile
from typing import Any

from ..broker import ServedCluster
from ..errors import CallError, KwireError, MissingExtra
from ..input import read_dump
from ..protocol import decode_frames
from ..records import Record, RecordHeader
from ..render.json_frame import envelope
from .client import Address, why
from .control import OPERATIONS, Control, chosen

HOST = "127.0.0.1"
MOST = 64 << 20  # bytes of arguments
PATIENCE = 60.0  # seconds for an operation
LOOPBACK = ("127.0.0.1", "localhost")
REPLICAS = "kafka_server_replicamanager_offlinereplicacount", "replicas in log directories that are offline"
DIRECTORIES = "kafka_log_logmanager_offlinelogdirectorycount", "log directories that are offline"
COUNT_PATIENCE = 5.0  # seconds in which the cluster is to be counted


class ControlServer:
    """Answers HTTP requests, in threads; operations are done in the event loop of the cluster.

    Args:
        control: does the operations.
        port: where to listen on 127.0.0.1; 0 is a free port.

    Raises:
        CallError: the port is taken.
    """

    def __init__(self, control: Control, port: int) -> None:
        self._control, self._loop = control, asyncio.get_running_loop()
        handler = type("Handler", (_Handler,), {"owner": self})
        try:
            self._server = ThreadingHTTPServer((HOST, port), handler)
        except OSError as error:
            raise CallError(f"{HOST}:{port}", f"cannot listen: {error.strerror}", "is the port taken?") from None
        self._server.daemon_threads = True
        self.url: str = f"http://{HOST}:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, name="kwire control", daemon=True).start()

    def do(self, operation: str, arguments: Mapping[str, Any]) -> Any:
        """Do an operation in the event loop, and wait for its result."""
        done = self._control.do(operation, _read_bytes(operation, arguments))
        return asyncio.run_coroutine_threadsafe(done, self._loop).result(PATIENCE)

    def close(self) -> None:
        """Answer no more requests."""
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    owner: ControlServer

    def do_GET(self) -> None:
        """Say which operations there are."""
        if self._is_local():
            self._send(200, "text/plain; charset=utf-8", operations().encode())

    def do_POST(self) -> None:
        """Do an operation."""
        if not self._is_local():
            return
        try:
            size = int(self.headers.get("Content-Length", 0))
            if not 0 <= size <= MOST:
                raise ValueError(f"arguments of {size} bytes; up to {MOST} are read")
            arguments = json.loads(self.rfile.read(size) or b"{}")
            if not isinstance(arguments, dict):
                raise ValueError("arguments are a JSON object")
            result = self.owner.do(self.path.strip("/"), arguments)
        except (ValueError, TypeError, KwireError, RecursionError, TimeoutError) as error:
            self._send_json(400, {"error": str(error)})
            return
        self._send_json(200, {"result": result})

    def _is_local(self) -> bool:
        """Refuse what a web page sends: a browser names the page's origin, or another host than this machine."""
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


def operations() -> str:
    """Return the operations with their arguments, one on a line, as text."""
    lines = ["POST /OPERATION with its arguments as a JSON object, such as {}; GET / is this list.", ""]
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
    return envelope(value)


def _read_bytes(operation: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Turn keys, values and headers of records into bytes."""
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
    """Asks a `ControlServer` for operations.

    Args:
        url: where it listens.
    """

    def __init__(self, url: str) -> None:
        host, _, port = url.removeprefix("http://").rpartition(":")
        self._address = Address(host, int(port))

    def do(self, operation: str, arguments: Mapping[str, Any]) -> Any:
        """Do an operation, and return its result as `Control.do` does.

        Raises:
            ValueError: it is refused.
            CallError: nothing listens there any more.
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
        connection = HTTPConnection(*self._address, timeout=PATIENCE)
        try:
            connection.request("POST", f"/{operation}", json.dumps(arguments, default=_as_json))
            found = json.loads(connection.getresponse().read())
        except OSError as error:
            raise CallError(str(self._address), f"cannot control the cluster: {error}", "does it run?") from None
        finally:
            connection.close()
        if "error" in found:
            raise ValueError(found["error"])
        result = found["result"]
        return _bytes(result) if operation == "capture" else result


def _record_of(row: dict[str, Any]) -> Record:
    headers = tuple(RecordHeader(name, _bytes(value)) for name, value in row["headers"])
    return Record(row["offset"], row["timestamp"], _bytes(row["key"]), _bytes(row["value"]), headers)


def _frames(capture: bytes, api: str | None, client: str | None) -> list[Any]:
    with NamedTemporaryFile(suffix=".pcap") as file:
        file.write(capture)
        file.flush()
        return chosen(decode_frames(read_dump(file.name)), api, client)


def offline_counts(cluster: ServedCluster) -> dict[int, tuple[int, int]]:
    """Return how many replicas and log directories are offline, by broker; a stopped broker has no metrics."""
    counts = {
        node_id: (0, sum(log_dir.is_offline for log_dir in node.log_dirs))
        for node_id, node in cluster.controller.nodes.items()
        if not any(log_dir.is_stopped for log_dir in node.log_dirs)
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
        cluster: what is counted, in the event loop that is running.
        port: 0 for any free one.

    Attributes:
        url: where the metrics are.

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
        try:
            self._server, self._thread = start_http_server(port, HOST, registry)
        except OSError as error:
            raise CallError(f"{HOST}:{port}", f"cannot listen: {why(error)}", "is the port taken?") from None
        registry.register(self)
        self.url: str = f"http://{HOST}:{self._server.server_port}/metrics"

    def describe(self) -> list[Any]:
        """Return no descriptions: the registry asks for them while it registers, when nothing can be counted."""
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
