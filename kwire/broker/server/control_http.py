"""The control of a served cluster over HTTP, on this machine only: `POST /OPERATION` with its arguments as JSON."""

from __future__ import annotations

import asyncio
import hmac
import inspect
import json
import secrets
import threading
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from ...client.call_errors import call_errors
from ...errors import KwireError
from .control import OPERATIONS, Control
from .control_client import PATIENCE
from .control_json import read_bytes, to_json

HOST = "127.0.0.1"
MOST = 64 << 20  # bytes of arguments
LOOPBACK = ("127.0.0.1", "localhost")


if TYPE_CHECKING:
    from http.server import BaseHTTPRequestHandler as HttpHandler
else:
    HttpHandler = object


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
        done = self._control.do(operation, read_bytes(operation, arguments))
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
        self._send(status, "application/json", json.dumps(value, default=to_json).encode())

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
        names = [str(parameter.replace(annotation=inspect.Parameter.empty)) for parameter in _arguments(method)]
        about = (method.__doc__ or "").split("\n")[0]
        lines.append(f"{name}({', '.join(names)})\n    {about}")
    return "\n".join(lines) + "\n"


def _arguments(method: Any) -> list[inspect.Parameter]:
    return [parameter for parameter in inspect.signature(method).parameters.values() if parameter.name != "self"]
