"""Schemas of a schema registry, over its REST interface (Confluent's, which Karapace and Apicurio serve too).

What the registry says is as hostile as what a broker says: one deadline covers all that is asked of it, answers are
bounded, redirects are not followed, and user and password of its URL are never shown.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

import msgspec

from ...errors import CallError
from ...serdes.schema_document import (
    AVRO,
    KINDS,
    MOST_BYTES,
    MOST_REFERENCES,
    PROTOBUF,
    Part,
    SchemaDocument,
    SchemaSource,
)
from ...serdes.schema_error import BAD_SCHEMA, NO_ANSWER, NO_SCHEMA, SchemaError
from ...serdes.schema_folder import SchemaFolder
from .http_server import HttpServer

USER_INFO = "KWIRE_REGISTRY_USER_INFO"  # an environment variable: USER:PASSWORD
SECONDS = 30.0  # for all that a registry is asked, together
_REFUSALS = (401, 403, 407)  # no other question will be answered, either


def open_schemas(source: str, *, timeout: float = SECONDS) -> SchemaSource:
    """Return the schemas of a registry, or those in the files of a folder.

    Args:
        source: the URL of a registry (`http://localhost:8081`), or the path of a folder (see `SchemaFolder`). User and
            password are taken from the URL, or else from the environment variable KWIRE_REGISTRY_USER_INFO.
        timeout: the seconds that all requests to the registry may take together. It is asked for each schema once, on
            first use; after a failure to connect it is not asked again.

    Raises:
        DumpError: the folder cannot be read, or has no schemas.
        CallError: the URL is not one of a registry.

    >>> open_schemas("http://eve:secret@localhost:8081/").name
    'http://localhost:8081'
    """
    if "://" not in source:
        return SchemaFolder(source)
    return SchemaRegistry(source, timeout=timeout)


class SchemaRegistry:
    """A source of schemas: a registry. For the arguments see `open_schemas`."""

    def __init__(self, url: str, *, timeout: float = SECONDS, environment: Mapping[str, str] = os.environ) -> None:
        user = environment.get(USER_INFO, "")
        self._server = HttpServer(url, timeout=timeout, user=user, most_bytes=MOST_BYTES)
        self.name: str = self._server.name
        self._lost: SchemaError | None = None  # why the registry is not asked any more

    def find_by_id(self, schema_id: int) -> SchemaDocument:
        """Return the schema with an id, and those that it refers to. Raises SchemaError."""
        return self._document(f"/schemas/ids/{schema_id}", "", [])

    def find_by_topic(self, topic: str, part: Part) -> SchemaDocument | None:
        """Return None: values of a registry's serializers name the id of their schema."""
        return None

    def _document(self, path: str, name: str, seen: list[str]) -> SchemaDocument:
        """Ask for a schema and for those that it refers to, each once."""
        answer = self._ask(path)
        kind = answer.get("schemaType") or AVRO
        if kind not in KINDS:
            raise SchemaError(BAD_SCHEMA, f"{self.name}: schemaType {kind!r} is none of {', '.join(KINDS)}"[:200])
        references = []
        for reference in self._references(answer):
            where = f"/subjects/{quote(reference['subject'], safe='')}/versions/{reference['version']}"
            if where in seen:
                continue
            seen.append(where)
            if len(seen) > MOST_REFERENCES:
                raise SchemaError(BAD_SCHEMA, f"it refers to more than {MOST_REFERENCES} schemas")
            referenced = self._document(where, reference["name"], seen)
            references += [*referenced.references, msgspec.structs.replace(referenced, references=())]
        if kind != PROTOBUF:
            return SchemaDocument(kind, answer["schema"], name=name, references=tuple(references))
        # As descriptors, which need no parser; registries that do not know the format answer with the text again.
        serialized = self._ask(f"{path}?format=serialized")["schema"]
        descriptor = _descriptor_of(serialized)
        text = "" if descriptor else answer["schema"]
        return SchemaDocument(kind, text, descriptor=descriptor, name=name, references=tuple(references))

    def _references(self, answer: dict[str, Any]) -> Iterator[dict[str, Any]]:
        references = answer.get("references") or []
        for reference in references if isinstance(references, list) else [None]:
            kinds = {"name": str, "subject": str, "version": int}
            if not isinstance(reference, dict) or not all(
                isinstance(reference.get(part), kind) for part, kind in kinds.items()
            ):
                raise SchemaError(BAD_SCHEMA, f"{self.name}: a reference has no name, subject and version")
            yield reference

    def _ask(self, path: str) -> dict[str, Any]:
        """Return the JSON object that answers a request, with the text `schema`. Raises SchemaError."""
        if self._lost is not None:
            raise self._lost
        try:
            status, body = self._server.get(path)
        except CallError as error:  # what fails once would only be waited for again
            self._lost = SchemaError(NO_ANSWER, str(error))
            raise self._lost from None
        if len(body) > MOST_BYTES:
            raise SchemaError(BAD_SCHEMA, f"{self.name}: an answer of more than {MOST_BYTES:,} bytes")
        try:
            answer = msgspec.json.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            answer = None
        if status != 200:
            message = answer.get("message") if isinstance(answer, dict) else None
            reason = f": {message}"[:200] if isinstance(message, str) else ""
            refusal = SchemaError(NO_SCHEMA if status == 404 else NO_ANSWER, f"{self.name}: HTTP {status}{reason}")
            if status in _REFUSALS:
                self._lost = refusal
            raise refusal
        if not isinstance(answer, dict) or not isinstance(answer.get("schema"), str):
            raise SchemaError(NO_ANSWER, f"{self.name}: the answer has no schema; is this a schema registry?")
        return answer


def _descriptor_of(serialized: str) -> bytes:
    """Return the bytes of a FileDescriptorProto in base64; nothing if the text is not base64."""
    try:
        return base64.b64decode(serialized, validate=True)
    except ValueError:
        return b""
