"""Values that confluent-kafka's serializers wrote, decoded with the schemas that they registered."""

from __future__ import annotations

import pytest

from kwire.client.registry.schema_registry import open_schemas
from kwire.serdes import RecordDeserializer
from tests.serdes.conftest import CASES
from tests.serdes.registry import Registry

EXPECTED = {
    "a record with logical types and a reference": (
        "shop.Order, schema 2",
        '{"id":4711,"at":"2026-11-29T17:30:00Z","price":{"amount":"-12.50","currency":"NOK"},"note":"for Eve",'
        '"tags":["new","ø"],"counts":{"apples":3},"raw":"AP8=","weight":1.5,'
        '"uuid":"12345678-1234-5678-1234-567812345678"}',
    ),
    "a record that holds itself": ("Tree, schema 3", '{"n":1,"left":{"n":2,"left":null}}'),
    "a primitive type": ("AVRO, schema 4", '"eve"'),
    "JSON": ("Click, schema 5", '{"page":"/ø","n":9007199254740993}'),
    "the second message of a file, with imports": (
        "shop.Shipment, schema 7",
        '{"id":"9","place":{"city":"Bergen","latitude":60.39},"at":"2026-11-29T17:30:00.500Z",'
        '"items":["a","b"],"counts":{"x":7},"raw":"AQ=="}',
    ),
    "a message in a message in a message": ("shop.Shipment.Box.Label, schema 7", '{"text":"fragile"}'),
    "the first message": ("shop.Unused, schema 7", '{"a":0}'),
}


def test_each_value_is_decoded(registry: Registry) -> None:
    values = RecordDeserializer(open_schemas(registry.url))
    decoded = {case: values.read("orders", "value", data) for case, data in CASES.items()}
    assert {case: (value.title, value.json) for case, value in decoded.items() if value is not None} == EXPECTED
    assert values.counts == {"decoded": len(CASES)}


def test_a_registry_that_knows_only_text_needs_protoc(registry: Registry) -> None:
    registry.serialized = {}
    values = RecordDeserializer(open_schemas(registry.url))
    case = "the second message of a file, with imports"
    value = values.read(None, "value", CASES[case])
    assert value is not None
    assert (value.title, value.json) == EXPECTED[case]


def test_a_schema_is_asked_for_once(registry: Registry) -> None:
    values = RecordDeserializer(open_schemas(registry.url))
    for _ in range(3):
        for data in CASES.values():
            values.read("orders", "value", data)
        values.read("orders", "value", bytes.fromhex("00 00000063 00"))
    assert len(registry.asked) == len(set(registry.asked)), registry.asked
    assert registry.asked.count("/schemas/ids/99") == 1
    assert values.counts == {"decoded": 3 * len(CASES), "NO_SCHEMA": 3}


@pytest.mark.parametrize("case", sorted(CASES))
def test_a_value_that_is_cut_short_is_named(registry: Registry, case: str) -> None:
    values = RecordDeserializer(open_schemas(registry.url))
    for size in range(5, len(CASES[case])):
        value = values.read("orders", "value", CASES[case][:size])
        assert value is not None
        # Protobuf and its message indexes can end after any field; what is cut off is not said by its bytes.
        if value.kind != "PROTOBUF":
            assert value.error is not None, size
            assert value.error.code == "BAD_VALUE"
            assert value.problem.startswith(value.title)
