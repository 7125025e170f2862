"""Values, schemas and registries that want to take all memory, all time, or the process."""

from __future__ import annotations

import json
import socket
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from kwire.client.registry.schema_registry import SchemaRegistry, open_schemas
from kwire.errors import CallError, DumpError
from kwire.serdes import RecordDeserializer, SchemaFolder, SchemaValue
from tests.serdes.conftest import CASES
from tests.serdes.registry import Registry

RECORD = {"type": "record", "name": "R"}
ITSELF = {**RECORD, "fields": [{"name": "next", "type": ["null", "R"]}]}
HUGE_COUNT = bytes.fromhex("feffffffffffffffff01")  # 2**63 - 1 as a varint of Avro


def read_by(schema: object, payload: bytes, tmp_path: Path) -> SchemaValue:
    """Decode a framed value by a schema of Avro in a folder."""
    (tmp_path / "7.avsc").write_text(schema if isinstance(schema, str) else json.dumps(schema))
    value = RecordDeserializer(SchemaFolder(tmp_path)).read(None, "value", bytes.fromhex("00 00000007") + payload)
    assert value is not None
    return value


def many_fields(types: list[Any]) -> dict[str, Any]:
    return {**RECORD, "fields": [{"name": f"f{index}", "type": type_} for index, type_ in enumerate(types)]}


def doubling(levels: int) -> dict[str, Any]:
    """Return a schema of 2 ** levels records without a byte."""
    inner: dict[str, Any] = {"type": "record", "name": "R0", "fields": []}
    for level in range(1, levels):
        fields = [{"name": "a", "type": inner}, {"name": "b", "type": f"R{level - 1}"}]
        inner = {"type": "record", "name": f"R{level}", "fields": fields}
    return inner


VALUES: dict[str, tuple[object, bytes, str]] = {
    "a list as deep as it is long": (ITSELF, b"\x02" * 900_000 + b"\x00", "more than 64 values in each other"),
    "a record that always holds itself": ({**RECORD, "fields": [{"name": "r", "type": "R"}]}, b"", "in each other"),
    "nulls without bytes": ({"type": "array", "items": "null"}, HUGE_COUNT, "more than 1,0"),
    "a union of nulls": ({"type": "array", "items": ["null", "int"]}, HUGE_COUNT + b"\x00" * 9, "cut short"),
    "records without bytes": ({"type": "array", "items": many_fields([])}, HUGE_COUNT, "more than 1,0"),
    "records of records without bytes": (doubling(40), b"", "more than 1,0"),
    "items that are not there": ({"type": "array", "items": "long"}, HUGE_COUNT, "cut short"),
    "a negative count": ({"type": "array", "items": "null"}, bytes.fromhex("01") + HUGE_COUNT, ""),
    "text longer than the value": ('"string"', HUGE_COUNT + b"x", "cut short"),
    "a decimal of many digits": (
        {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2},
        bytes.fromhex("80b518") + b"\x7f" * 200_000,
        "a decimal of 200,000 bytes",
    ),
    "a time outside of the calendar": ({"type": "long", "logicalType": "timestamp-millis"}, HUGE_COUNT, "too large"),
    "a branch that a union does not have": (["null", "int"], b"\x08", ""),
    "text that is not UTF-8": ('"string"', b"\x02\xff", "utf-8"),
    "bytes after the value": ('"int"', b"\x02\x02", "1 byte after it"),
}


@pytest.mark.limit(10)
@pytest.mark.parametrize("case", VALUES)
def test_hostile_values_are_named_and_cost_little(case: str, tmp_path: Path) -> None:
    schema, payload, reason = VALUES[case]
    value = read_by(schema, payload, tmp_path)
    assert value.error is not None, value.json[:100]
    assert value.error.code == "BAD_VALUE"
    assert reason in value.problem
    assert len(value.problem) < 400


def test_values_without_bytes_are_read(tmp_path: Path) -> None:
    assert read_by(many_fields(["null", {"type": "fixed", "name": "F", "size": 0}]), b"", tmp_path).json == (
        '{"f0":null,"f1":""}'
    )
    assert read_by(ITSELF, b"\x02" * 20 + b"\x00", tmp_path).error is None


def test_numbers_that_json_has_not_are_text(tmp_path: Path) -> None:
    nan, infinity = bytes.fromhex("000000000000f87f"), bytes.fromhex("000000000000f0ff")
    assert read_by({"type": "array", "items": "double"}, b"\x04" + nan + infinity + b"\x00", tmp_path).json == (
        '["NaN","-Infinity"]'
    )


SCHEMAS: dict[str, str] = {
    "brackets": "[" * 100_000,
    "nested arrays": '{"type":"array","items":' * 150 + '"int"' + "}" * 150,
    "not JSON": "{",
    "a type that is not there": '"shop.Nothing"',
    "a number": "7",
    "null": "null",
    "fields that are a number": '{"type":"record","name":"R","fields":7}',
    "a size that is text": '{"type":"fixed","name":"F","size":"7"}',
    "one name twice": '[{"type":"enum","name":"E","symbols":["A"]},{"type":"enum","name":"E","symbols":["B"]}]',
    "too large": '"' + "x" * (1 << 20) + '"',
}


@pytest.mark.limit(10)
@pytest.mark.parametrize("case", SCHEMAS)
def test_hostile_schemas_are_named(case: str, tmp_path: Path) -> None:
    value = read_by(SCHEMAS[case], b"\x00", tmp_path)
    assert value.error is not None, value.json
    assert value.error.code in ("BAD_SCHEMA", "BAD_VALUE")
    assert len(value.problem) < 400


def proto_of(text: str, tmp_path: Path, payload: bytes = b"\x00") -> SchemaValue:
    (tmp_path / "7.proto").write_text(text)
    value = RecordDeserializer(SchemaFolder(tmp_path)).read(None, "value", bytes.fromhex("00 00000007") + payload)
    assert value is not None
    return value


def test_protobuf_that_is_nested_too_deeply_is_named(tmp_path: Path) -> None:
    body = b""
    for _ in range(150):
        size = len(body)
        body = b"\x0a" + (bytes([size]) if size < 128 else bytes([size & 127 | 128, size >> 7])) + body
    value = proto_of('syntax = "proto3"; message M { M m = 1; }', tmp_path, b"\x00" + body)
    assert value.problem == "PROTOBUF, schema 7: its bytes are not those of this message"


def test_bytes_of_fields_that_a_message_does_not_have_are_counted(tmp_path: Path) -> None:
    value = proto_of('syntax = "proto3"; message M { int32 a = 1; }', tmp_path, bytes.fromhex("00 0801 1a03616263"))
    assert (value.json, value.unread) == ('{"a":1}', 5)


@pytest.mark.parametrize(
    "text",
    [
        "message {",
        'import "/etc/passwd.proto";',
        'import "7.proto";',
        'syntax = "proto3";',
        "\x00",
        'syntax = "proto9";',
    ],
)
def test_texts_that_protoc_refuses_are_named(text: str, tmp_path: Path) -> None:
    value = proto_of(text, tmp_path)
    assert value.error is not None
    assert value.error.code == "BAD_SCHEMA"
    assert str(tmp_path) not in value.problem


def test_a_reference_cannot_name_a_file_elsewhere(registry: Registry) -> None:
    registry.serialized = {}
    registry.schemas[7]["references"] = [{"name": "../../evil.proto", "subject": "money", "version": 1}]
    value = RecordDeserializer(open_schemas(registry.url)).read(None, "value", CASES["the first message"])
    assert value is not None
    assert "'../../evil.proto' is not the path of a .proto file" in value.problem


@pytest.mark.parametrize(
    "answer",
    [
        (200, b"\xff\xfe"),
        (200, b"[" * 100_000),
        (200, []),
        (200, {"schema": 7}),
        (200, {"schema": "x", "schemaType": {"a": 1}}),
        (200, {"schema": '"int"', "references": [7]}),
        (200, {"schema": '"int"', "references": 7}),
        (200, {"schema": '"int"', "references": [{"name": "a", "subject": "money", "version": "x"}]}),
        (200, {"schema": '"int"' + " " * (1 << 20)}),
        (200, {"schema": "AAAA", "schemaType": "PROTOBUF"}),
        (302, b""),
        (500, {"message": "\x1b[31m" + "x" * 10_000}),
    ],
)
def test_hostile_answers_are_named(registry: Registry, answer: tuple[int, Any]) -> None:
    registry.answers["/schemas/ids/7"] = answer
    values = RecordDeserializer(open_schemas(registry.url))
    for _ in range(2):
        value = values.read("t", "value", bytes.fromhex("00 00000007 00"))
        assert value is not None
        assert value.error is not None, value.json
        assert len(value.problem) < 500
    assert len(registry.asked) <= 2


def test_schemas_that_refer_to_each_other_end(registry: Registry) -> None:
    registry.schemas[1]["references"] = [{"name": "shop.Money", "subject": "money", "version": 1}]
    value = RecordDeserializer(open_schemas(registry.url)).read("t", "value", bytes.fromhex("00 00000001 0200"))
    assert value is not None
    assert len(registry.asked) == 2


def test_after_a_refusal_the_registry_is_left_alone(registry: Registry) -> None:
    registry.answers = {f"/schemas/ids/{number}": (401, {"message": "who are you?"}) for number in range(1, 9)}
    values = RecordDeserializer(open_schemas(registry.url))
    for data in CASES.values():
        values.read("t", "value", data)
    assert registry.asked == ["/schemas/ids/2"]
    assert values.first_problems == {"NO_ANSWER": f"schema 2: {registry.url}: HTTP 401: who are you?"}


def test_user_and_password_are_sent_and_never_shown(registry: Registry) -> None:
    url = registry.url.replace("://", "://eve:se%40cret@")
    source = open_schemas(url)
    RecordDeserializer(source).read("t", "value", CASES["a primitive type"])
    assert registry.authorizations == ["Basic ZXZlOnNlQGNyZXQ="]
    assert source.name == registry.url
    by_variable = SchemaRegistry(registry.url, environment={"KWIRE_REGISTRY_USER_INFO": "eve:se@cret"})
    by_variable.find_by_id(4)
    assert registry.authorizations[1:] == ["Basic ZXZlOnNlQGNyZXQ="]


@pytest.mark.parametrize(
    "url", ["ftp://a:geheim@b", "http://", "http://a:geheim@[b", "http://a:geheim@h:99999", "http://a:geheim@h?x"]
)
def test_what_is_not_a_registry_is_refused(url: str) -> None:
    with pytest.raises(CallError) as refused:
        open_schemas(url)
    assert "geheim" not in str(refused.value)


def test_a_registry_that_answers_slowly_has_one_deadline() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        ended = threading.Event()

        def drip() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 200 OK\r\n")
                while not ended.wait(0.02):
                    try:
                        connection.sendall(b"X-A: b\r\n"[:1])
                    except OSError:
                        return

        thread = threading.Thread(target=drip, daemon=True)
        thread.start()
        values = RecordDeserializer(open_schemas(f"http://127.0.0.1:{server.getsockname()[1]}", timeout=0.3))
        begun = time.monotonic()
        problems = {values.read("t", "value", data).problem for data in CASES.values()}  # type: ignore[union-attr]
        took = time.monotonic() - begun
        ended.set()
        thread.join()
    assert took < 5
    assert all("no answer in time" in problem for problem in problems)


def test_what_is_not_http_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"\x00\x00\x00\x04abcd\n\n")

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        values = RecordDeserializer(open_schemas(f"http://127.0.0.1:{server.getsockname()[1]}", timeout=5))
        value = values.read("t", "value", CASES["JSON"])
        thread.join()
    assert value is not None
    assert "HTTP" in value.problem or "reset" in value.problem


def test_a_source_is_asked_for_a_bounded_number_of_schemas(tmp_path: Path) -> None:
    (tmp_path / "1.avsc").write_text('"int"')
    values = RecordDeserializer(SchemaFolder(tmp_path))
    for number in range(1, 2000):
        values.read(None, "value", b"\0" + number.to_bytes(4, "big") + b"\x02")
    value = values.read(None, "value", bytes.fromhex("00 000007d0 02"))
    assert value is not None
    assert value.problem == "schema 2000: it is not one of the first 1,000 schemas asked for"


def test_values_above_the_limit_are_not_decoded(tmp_path: Path) -> None:
    value = read_by('"bytes"', b"\0" * (1 << 21), tmp_path)
    assert value.problem == "AVRO, schema 7: 2,097,152 bytes: values of up to 1,048,576 are decoded"


@pytest.mark.parametrize("names", [[], ["a.txt"], ["7.avsc", "7.json"]])
def test_folders_without_clear_schemas_are_refused(names: list[str], tmp_path: Path) -> None:
    for name in names:
        (tmp_path / name).write_text('"int"')
    with pytest.raises(DumpError):
        SchemaFolder(tmp_path)


def test_topics_without_schemas_take_no_place_of_those_with(registry: Registry) -> None:
    values = RecordDeserializer(open_schemas(registry.url))
    for number in range(2000):
        assert values.read(f"t{number}", "value", b"text") is None
    value = values.read("t", "value", CASES["a primitive type"])
    assert value is not None
    assert value.json == '"eve"'


def test_a_schema_that_is_too_large_does_not_end_the_questions(registry: Registry) -> None:
    registry.answers["/schemas/ids/7"] = (200, {"schema": '"int"' + " " * (1 << 20)})
    values = RecordDeserializer(open_schemas(registry.url))
    large = values.read("t", "value", bytes.fromhex("00 00000007 00"))
    small = values.read("t", "value", CASES["a primitive type"])
    assert large is not None and small is not None
    assert large.problem == f"schema 7: {registry.url}: an answer of more than 1,048,576 bytes"
    assert small.json == '"eve"'
