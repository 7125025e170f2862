"""Values of Protobuf, read by Google's library (the extra `values`) with descriptors of their schema."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import msgspec

from .protoc import compile_text
from .schema_document import SchemaDocument
from .schema_error import BAD_SCHEMA, BAD_VALUE, SchemaError, library_reason, missing_library
from .wire_format import split_message_indexes

FIRST = (0,)  # the path of the first message of a file
# Files that every schema may import.
_WELL_KNOWN = "any api descriptor duration empty field_mask source_context struct timestamp type wrappers".split()
# Options of Confluent's, which change no value; registries name the file in no answer.
_OPTIONS_ONLY = "confluent/meta.proto"


class ProtobufReader:
    """Reads values of the messages of one schema.

    Args:
        document: the schema, with those that it imports.

    Raises:
        SchemaError: it is not a schema of Protobuf, or a library is not installed.
    """

    def __init__(self, document: SchemaDocument) -> None:
        try:
            from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message, message_factory
        except ImportError:
            raise missing_library("Protobuf", "protobuf") from None
        self._messages, self._json, self._errors = message_factory, json_format, message.DecodeError
        self._pool = descriptor_pool.DescriptorPool()
        try:
            self._file = self._add_files(descriptor_pb2, document)
            if not self._file.message_types_by_name:
                raise SchemaError(BAD_SCHEMA, "it has no message")
        except SchemaError:
            raise
        except Exception as error:  # a library on hostile input: TypeError, KeyError, DecodeError
            raise SchemaError(BAD_SCHEMA, f"it is not a schema of Protobuf: {library_reason(error)}") from None
        self._classes: dict[tuple[int, ...], Any] = {}

    def _add_files(self, descriptor_pb2: Any, document: SchemaDocument) -> Any:
        """Add the files of a schema after those that they import; return the descriptor of the schema's own file."""
        if document.text:
            document = compile_text(document)
        files: dict[str, Any] = {_OPTIONS_ONLY: descriptor_pb2.FileDescriptorProto(name=_OPTIONS_ONLY)}
        for name in _WELL_KNOWN:
            serialized = import_module(f"google.protobuf.{name}_pb2").DESCRIPTOR.serialized_pb
            files[f"google/protobuf/{name}.proto"] = descriptor_pb2.FileDescriptorProto.FromString(serialized)
        last = ""
        for part in (*document.references, document):
            read = list(descriptor_pb2.FileDescriptorSet.FromString(part.descriptors).file)
            if part.descriptor:
                read = [descriptor_pb2.FileDescriptorProto.FromString(part.descriptor)]
                read[0].name = part.name
            for file in read:
                files[file.name] = file
                last = file.name
        for name in _ordered(files, last):
            self._pool.AddSerializedFile(files[name].SerializeToString())
        return self._pool.FindFileByName(last)

    def read(self, payload: bytes, *, framed: bool) -> tuple[str, str, int]:
        """Return name, JSON and unread bytes of a value; unframed, it is the first message. Raises SchemaError."""
        path, body = split_message_indexes(payload) if framed else (FIRST, payload)
        message_class = self._class_of(path)
        try:
            message = message_class.FromString(body)
            text = self._json.MessageToJson(
                message,
                indent=None,
                preserving_proto_field_name=True,
                always_print_fields_with_no_presence=True,
                ensure_ascii=False,
                descriptor_pool=self._pool,
            )
            text = msgspec.json.format(text, indent=-1)
            size = message.ByteSize()
            message.DiscardUnknownFields()
        except self._errors:
            raise SchemaError(BAD_VALUE, "its bytes are not those of this message") from None
        except Exception as error:  # of the library: an Any of an unknown type, a time outside the calendar
            raise SchemaError(BAD_VALUE, library_reason(error)) from None
        return message_class.DESCRIPTOR.full_name, text, size - message.ByteSize()

    def _class_of(self, path: tuple[int, ...]) -> Any:
        if path not in self._classes:
            messages = list(self._file.message_types_by_name.values())
            message: Any = None
            for index in path:
                if not 0 <= index < len(messages):
                    raise SchemaError(BAD_VALUE, f"the schema has no message {'.'.join(map(str, path))}")
                message = messages[index]
                messages = list(message.nested_types)
            self._classes[path] = self._messages.GetMessageClass(message)
        return self._classes[path]


def _ordered(files: dict[str, Any], name: str) -> list[str]:
    """Return the names of a file and of all that it imports, each after those that it imports."""
    ordered: list[str] = []
    waiting = [(name, False)]
    entered: set[str] = set()
    while waiting:
        name, is_ready = waiting.pop()
        if is_ready:
            ordered.append(name)
            continue
        if name in entered:
            continue
        entered.add(name)
        file = files.get(name)
        if file is None:
            raise SchemaError(BAD_SCHEMA, f"it imports {name}, which the source of schemas does not have"[:300])
        waiting += [(name, True), *((dependency, False) for dependency in file.dependency)]
    return ordered
