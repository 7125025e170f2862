"""A small schema registry over HTTP: schemas by id and subject, as Confluent's client registers and asks for them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

Answer = tuple[int, Any]


class Registry:
    """Schemas by id, in the order in which they were registered.

    Attributes:
        url: where it listens.
        asked: the paths that were asked for, with their queries.
        authorizations: the header of each request.
        answers: path -> status and body, instead of what the registry would say; bytes are sent as they are.
    """

    def __init__(self) -> None:
        self.url: str = ""
        self.schemas: dict[int, dict[str, Any]] = {}
        self.serialized: dict[str, str] = {}  # text of a .proto file -> its descriptor in base64
        self.subjects: dict[str, list[int]] = {}
        self.asked: list[str] = []
        self.authorizations: list[str | None] = []
        self.answers: dict[str, Answer] = {}

    def register(self, subject: str, schema: dict[str, Any]) -> int:
        """Register a version of a subject; return the id."""
        known = next((number for number, one in self.schemas.items() if one == schema), None)
        number = len(self.schemas) + 1 if known is None else known
        self.schemas[number] = schema
        versions = self.subjects.setdefault(subject, [])
        if number not in versions:
            versions.append(number)
        return number

    def answer(self, target: str) -> Answer:
        """Answer a GET request."""
        url = urlsplit(target)
        if url.path in self.answers:
            return self.answers[url.path]
        parts = [unquote(part) for part in url.path.strip("/").split("/")]
        try:
            if parts[:2] == ["schemas", "ids"]:
                return 200, self._with_format(self.schemas[int(parts[2])], url.query)
            if parts[0] == "subjects" and parts[2] == "versions":
                number = self.subjects[parts[1]][-1 if parts[3] == "latest" else int(parts[3]) - 1]
                version = {"subject": parts[1], "version": self.subjects[parts[1]].index(number) + 1, "id": number}
                return 200, {**version, **self._with_format(self.schemas[number], url.query)}
        except (KeyError, IndexError):
            return 404, {"error_code": 40403, "message": "Schema not found"}
        return 404, {"error_code": 404, "message": "HTTP 404 Not Found"}

    def _with_format(self, schema: dict[str, Any], query: str) -> dict[str, Any]:
        if parse_qs(query).get("format") == ["serialized"] and schema["schema"] in self.serialized:
            return {**schema, "schema": self.serialized[schema["schema"]]}
        return schema


@contextmanager
def served(registry: Registry) -> Iterator[Registry]:
    """Serve a registry on loopback."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            registry.asked.append(self.path)
            registry.authorizations.append(self.headers["Authorization"])
            self._send(*registry.answer(self.path))

        def do_POST(self) -> None:
            schema = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            schema = {name: value for name, value in schema.items() if name in ("schema", "schemaType", "references")}
            if schema.get("schemaType") == "AVRO":
                del schema["schemaType"]  # as Confluent's registry leaves it out
            subject = unquote(urlsplit(self.path).path.split("/")[2])
            number = registry.register(subject, schema)
            version = registry.subjects[subject].index(number) + 1
            self._send(200, {"id": number, "subject": subject, "version": version, **schema})

        def _send(self, status: int, body: Any) -> None:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    registry.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield registry
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
