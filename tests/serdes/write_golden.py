"""Writes tests/data/values_by_schema.json: values by the serializers of confluent-kafka 2.16.1, and their registry.

`python -m tests.serdes.write_golden` in an environment with confluent-kafka[schemaregistry,avro,json,protobuf] and
grpcio-tools; kwire takes no part in it.
"""

from __future__ import annotations

import base64
import importlib
import json
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

from tests.serdes.registry import Registry, served

FILE = Path(__file__).parent.parent / "data/values_by_schema.json"
MONEY = {
    "type": "record",
    "name": "Money",
    "namespace": "shop",
    "fields": [
        {"name": "amount", "type": {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}},
        {"name": "currency", "type": {"type": "enum", "name": "Currency", "symbols": ["EUR", "NOK"]}},
    ],
}
ORDER = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "price", "type": "shop.Money"},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "counts", "type": {"type": "map", "values": "int"}},
        {"name": "raw", "type": "bytes"},
        {"name": "weight", "type": "double"},
        {"name": "uuid", "type": {"type": "string", "logicalType": "uuid"}},
    ],
}
TREE = {
    "type": "record",
    "name": "Tree",
    "fields": [{"name": "n", "type": "int"}, {"name": "left", "type": ["null", "Tree"]}],
}
JSON_SCHEMA = {"$schema": "http://json-schema.org/draft-07/schema#", "title": "Click", "type": "object"}
COMMON_PROTO = """syntax = "proto3";
package shop;
message Place { string city = 1; double latitude = 2; }
"""
PROTO = """syntax = "proto3";
package shop;
import "common/place.proto";
import "google/protobuf/timestamp.proto";
message Unused { int32 a = 1; }
message Shipment {
  int64 id = 1;
  Place place = 2;
  google.protobuf.Timestamp at = 3;
  repeated string items = 4;
  map<string, uint32> counts = 5;
  bytes raw = 6;
  message Box { message Label { string text = 1; } int32 size = 1; }
}
"""


def avro_cases(client: Any) -> list[dict[str, Any]]:
    from confluent_kafka.schema_registry import Schema, SchemaReference
    from confluent_kafka.schema_registry.avro import AvroSerializer
    from confluent_kafka.serialization import MessageField, SerializationContext

    client.register_schema("money", Schema(json.dumps(MONEY), "AVRO"))
    reference = SchemaReference("shop.Money", "money", 1)
    order = {
        "id": 4711,
        "at": datetime(2026, 11, 29, 17, 30, tzinfo=UTC),
        "price": {"amount": Decimal("-12.50"), "currency": "NOK"},
        "note": "for Eve",
        "tags": ["new", "ø"],
        "counts": {"apples": 3},
        "raw": b"\x00\xff",
        "weight": 1.5,
        "uuid": UUID("12345678-1234-5678-1234-567812345678"),
    }
    tree = {"n": 1, "left": {"n": 2, "left": None}}
    cases: list[dict[str, Any]] = []
    for name, schema, value, part in [
        ("a record with logical types and a reference", Schema(json.dumps(ORDER), "AVRO", [reference]), order, "value"),
        ("a record that holds itself", Schema(json.dumps(TREE), "AVRO"), tree, "value"),
        ("a primitive type", Schema('{"type": "string"}', "AVRO"), "eve", "key"),
    ]:
        write = AvroSerializer(client, schema)
        data = write(value, SerializationContext(f"orders-{len(cases)}", MessageField(part)))
        cases.append({"case": name, "part": part, "data": data.hex()})
    return cases


def json_cases(client: Any) -> list[dict[str, Any]]:
    from confluent_kafka.schema_registry.json_schema import JSONSerializer
    from confluent_kafka.serialization import MessageField, SerializationContext

    write = JSONSerializer(json.dumps(JSON_SCHEMA), client)
    data = write({"page": "/ø", "n": 9007199254740993}, SerializationContext("clicks", MessageField.VALUE))
    return [{"case": "JSON", "part": "value", "data": data.hex()}]


def protobuf_cases(client: Any, registry: Registry) -> list[dict[str, Any]]:
    from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
    from confluent_kafka.serialization import MessageField, SerializationContext

    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "common").mkdir()
        (folder / "common/place.proto").write_text(COMMON_PROTO)
        (folder / "shipment.proto").write_text(PROTO)
        files = ["common/place.proto", "shipment.proto"]
        command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{scratch}", f"--python_out={scratch}", *files]
        subprocess.run(command, check=True)
        sys.path.insert(0, scratch)
        place = importlib.import_module("common.place_pb2")
        shipment = importlib.import_module("shipment_pb2")
        message = shipment.Shipment(id=9, items=["a", "b"], counts={"x": 7}, raw=b"\x01")
        message.place.CopyFrom(place.Place(city="Bergen", latitude=60.39))
        message.at.FromJsonString("2026-11-29T17:30:00.5Z")
        cases = []
        for name, value in [
            ("the second message of a file, with imports", message),
            ("a message in a message in a message", shipment.Shipment.Box.Label(text="fragile")),
            ("the first message", shipment.Unused()),
        ]:
            write = ProtobufSerializer(type(value), client, {"use.deprecated.format": False})
            data = write(value, SerializationContext("shipments", MessageField.VALUE))
            cases.append({"case": name, "part": "value", "data": data.hex()})
    # confluent-kafka registers descriptors in base64; Java's clients register the text, and registries give both.
    texts = {"common/place.proto": COMMON_PROTO, "shipment.proto": PROTO}
    for schema in registry.schemas.values():
        if schema.get("schemaType") == "PROTOBUF":
            data = base64.b64decode(schema["schema"])
            text = next((text for name, text in texts.items() if name.encode() in data[:40]), None)
            if text is not None:
                registry.serialized[text] = schema["schema"]
                schema["schema"] = text
    return cases


def main() -> None:
    from confluent_kafka.schema_registry import SchemaRegistryClient

    with served(Registry()) as registry:
        client = SchemaRegistryClient({"url": registry.url})
        cases = [*avro_cases(client), *json_cases(client), *protobuf_cases(client, registry)]
    document = {
        "writer": "the serializers of confluent-kafka 2.16.1, with fastavro 1.13.1 and protobuf 7.36.2",
        "schemas": {str(number): schema for number, schema in registry.schemas.items()},
        "subjects": registry.subjects,
        "serialized": registry.serialized,
        "cases": cases,
    }
    FILE.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
