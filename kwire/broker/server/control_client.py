"""The client of a served cluster's control over HTTP."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from tempfile import NamedTemporaryFile
from typing import Any

from ...client.address import Address
from ...client.call_errors import call_errors
from ...protocol import decode_frames
from .control import choose_results
from .control_json import parse_bytes, parse_record, to_json

PATIENCE = 60.0  # seconds for an operation


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
            return _read_frames(self._ask("capture", {}), **arguments)
        result = self._ask(operation, arguments)
        if operation == "records":
            return [parse_record(row) for row in result]
        return result

    def _ask(self, operation: str, arguments: Mapping[str, Any]) -> Any:
        from http.client import HTTPConnection  # here: serve starts sooner

        connection = HTTPConnection(*self._address, timeout=PATIENCE)
        body = json.dumps(arguments, default=to_json)
        with closing(connection), call_errors(self._address, "cannot control the cluster", "does it run?"):
            connection.request("POST", f"/{operation}", body, self._headers)
            answer = connection.getresponse().read()
        reply = json.loads(answer)
        if "error" in reply:
            raise ValueError(reply["error"])
        result = reply["result"]
        return parse_bytes(result) if operation == "capture" else result


def _read_frames(capture: bytes, **choice: Any) -> list[Any]:
    from ...capture.open_dump import read_dump  # here: serve starts sooner

    with NamedTemporaryFile(suffix=".pcap") as file:
        file.write(capture)
        file.flush()
        return choose_results(decode_frames(read_dump(file.name)), **choice)
