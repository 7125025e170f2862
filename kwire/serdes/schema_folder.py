"""Schemas in files of a folder, by their names: `7.avsc` by id, `orders-value.proto` by subject."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec

from ..errors import DumpError
from .schema_document import AVRO, JSON, KINDS, MOST_BYTES, PROTOBUF, Part, SchemaDocument
from .schema_error import BAD_SCHEMA, NO_SCHEMA, SchemaError

MOST_FILES = 10_000
_KINDS = {".avsc": AVRO, ".json": JSON, ".proto": PROTOBUF, ".desc": PROTOBUF}


class SchemaFolder:
    """A source of schemas: the files of a folder.

    Names: `ID.avsc` for the id of a registry; `TOPIC-key.avsc` and `TOPIC-value.avsc` (or `TOPIC.avsc`) for a topic.
    Endings: `.avsc` (Avro), `.json` (JSON Schema, or a registry's answer to `GET /schemas/ids/ID`), `.proto`, `.desc`
    (a FileDescriptorSet, as `protoc --include_imports --descriptor_set_out` writes it).

    Args:
        folder: the folder.

    Raises:
        DumpError: the folder cannot be read, holds no schema, or two for the same id or subject.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(folder)
        self._files = _list_files(self._folder)

    @property
    def name(self) -> str:
        """The folder."""
        return str(self._folder)

    def find_by_id(self, schema_id: int) -> SchemaDocument:
        """Return the schema in the file of an id. Raises SchemaError."""
        document = self._read(str(schema_id))
        if document is None:
            raise SchemaError(NO_SCHEMA, f"{self.name} has no file of this id")
        return document

    def find_by_topic(self, topic: str, part: Part) -> SchemaDocument | None:
        """Return the schema in the file of a topic's keys or values; None if there is none. Raises SchemaError."""
        document = self._read(f"{topic}-{part}")
        return self._read(topic) if document is None and part == "value" else document

    def _read(self, stem: str) -> SchemaDocument | None:
        path = self._files.get(stem)
        if path is None:
            return None
        kind = _KINDS[path.suffix]
        try:
            with path.open("rb") as file:
                data = file.read(MOST_BYTES + 1)
            if len(data) > MOST_BYTES:
                raise SchemaError(BAD_SCHEMA, f"{path.name} has more than {MOST_BYTES:,} bytes")
            if path.suffix == ".desc":
                return SchemaDocument(kind, descriptors=data, name=path.name)
            text = data.decode("utf-8-sig")
        except OSError as error:
            raise SchemaError(BAD_SCHEMA, f"{path.name}: {error.strerror}") from None
        except UnicodeDecodeError:
            raise SchemaError(BAD_SCHEMA, f"{path.name} is not UTF-8") from None
        answer = _registry_answer(text) if kind == JSON else None
        return SchemaDocument(kind, text, name=path.name) if answer is None else _document_of(answer, path.name)


def _list_files(folder: Path) -> dict[str, Path]:
    """Return the files with schemas by their names without endings."""
    files: dict[str, Path] = {}
    try:
        for path in sorted(folder.iterdir()):
            if path.suffix not in _KINDS:
                continue
            if path.stem in files:
                names = f"{files[path.stem].name} and {path.name}"
                raise DumpError(f"two schemas of {path.stem}: {names}", file=str(folder), hint="remove one of them")
            if len(files) == MOST_FILES:
                raise DumpError(f"more than {MOST_FILES:,} schemas", file=str(folder))
            files[path.stem] = path
    except OSError as error:
        raise DumpError(error.strerror or "it cannot be read", file=str(folder)) from None
    if not files:
        hint = f"files are called by id or topic: 7.avsc, orders-value.proto ({', '.join(_KINDS)})"
        raise DumpError("no schemas in it", file=str(folder), hint=hint)
    return files


def _registry_answer(text: str) -> dict[str, Any] | None:
    """Return a saved answer of a registry; None if the text is a JSON Schema."""
    try:
        answer = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None
    is_answer = isinstance(answer, dict) and isinstance(answer.get("schema"), str)
    return answer if is_answer and "$schema" not in answer and "type" not in answer else None


def _document_of(answer: dict[str, Any], name: str) -> SchemaDocument:
    kind = answer.get("schemaType", AVRO)
    if kind not in KINDS:
        raise SchemaError(BAD_SCHEMA, f"{name}: schemaType is none of {', '.join(KINDS)}")
    if answer.get("references"):
        raise SchemaError(BAD_SCHEMA, f"{name}: its references are not in it; ask the registry, or write one schema")
    return SchemaDocument(kind, answer["schema"], name=name)
