"""An S3 server on loopback (moto's), which counts the ranges it is asked for and fails on purpose."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.request import Request, urlopen


@dataclass
class ObjectStore:
    """The server: its address, how many requests for objects will fail, and the ranges that were asked for."""

    endpoint: str = ""
    failures: int = 0
    ranges: list[tuple[str, int, int]] = field(default_factory=list)

    def put(self, name: str, data: bytes | None = None) -> None:
        """Write an object, `bucket/key`; without data, make a bucket."""
        headers = {"Content-Type": "application/octet-stream"}
        urlopen(Request(f"{self.endpoint}/{name}", data or b"", headers, method="PUT"), timeout=180).close()

    def environment(self) -> dict[str, str]:
        """Return what lets a process find this server as platforms do."""
        names = {"AWS_ACCESS_KEY_ID": "lab", "AWS_SECRET_ACCESS_KEY": "lab", "AWS_REGION": "us-east-1"}
        return {**names, "AWS_ENDPOINT_URL": self.endpoint, "AWS_EC2_METADATA_DISABLED": "true"}

    def noted(self, app: Callable[..., Any]) -> Callable[..., Iterable[bytes]]:
        """Note what is asked of an application, and fail as often as it is wanted."""

        def answer(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
            asked = re.fullmatch(r"bytes=(\d+)-(\d+)", environ.get("HTTP_RANGE", ""))
            if environ["REQUEST_METHOD"] == "GET" and asked:
                if self.failures:
                    self.failures -= 1
                    start("503 Slow Down", [("Content-Length", "0")])
                    return []
                self.ranges.append((environ["PATH_INFO"], int(asked[1]), int(asked[2])))
            answered: Iterable[bytes] = app(environ, start)
            return answered

        return answer


@contextmanager
def object_store() -> Iterator[ObjectStore]:
    """Run the server; raises ImportError without moto."""
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    store = ObjectStore()
    app: Any = DomainDispatcherApplication(create_backend_app)
    server = make_server("127.0.0.1", 0, store.noted(app), threaded=True)
    store.endpoint = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield store
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
