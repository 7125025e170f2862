"""JSON is validated by its schema: as the library does, and within bounds that the library does not have."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from kwire.serdes import SchemaDocument, SchemaError
from kwire.serdes.json_schema import DRAFT_7, JsonSchema
from kwire.serdes.json_values import JsonReader
from tests.serdes.registry import Registry
from tests.serdes.test_record_doors import frames, log, run  # noqa: F401

library: Any = importlib.import_module("jsonschema")
DRAFTS = {
    "4": "http://json-schema.org/draft-04/schema#",
    "6": "http://json-schema.org/draft-06/schema#",
    "7": DRAFT_7,
    "2019-09": "https://json-schema.org/draft/2019-09/schema",
    "2020-12": "https://json-schema.org/draft/2020-12/schema",
}


def validate(schema: Any, value: Any, *references: SchemaDocument) -> str:
    text = schema if isinstance(schema, str) else json.dumps(schema)
    data = json.dumps(value)
    return JsonSchema(SchemaDocument("JSON", text, references=references)).find_problem(value, len(data))


ORDER = {
    "title": "Order",
    "type": "object",
    "required": ["id"],
    "properties": {
        "id": {"type": "integer", "minimum": 1},
        "state": {"enum": ["NEW", "PAID"]},
        "code": {"pattern": "^[A-Z]{2}-[0-9]+$"},
        "items": {"type": "array", "uniqueItems": True, "items": {"$ref": "#/definitions/item"}},
        "next": {"$ref": "#"},
        "price": {"anyOf": [{"type": "number"}, {"type": "null"}]},
    },
    "patternProperties": {"^x-": {"type": "string"}},
    "additionalProperties": False,
    "definitions": {"item": {"type": "object", "properties": {"sku": {"type": "string", "maxLength": 3}}}},
}
VALUES: list[tuple[Any, str]] = [
    ({"id": 7}, ""),
    ({"id": 7, "x-note": "a", "price": None, "next": {"id": 8}}, ""),
    ({"id": 7, "items": [{"sku": "a"}, {"sku": "b"}]}, ""),
    ({}, "$: 'id' is a required property"),
    ([], "$: [] is not of type 'object'"),
    ({"id": 0}, "$.id: 0 is less than the minimum of 1"),
    ({"id": True}, "$.id: True is not of type 'integer'"),
    ({"id": 7, "state": "SENT"}, "$.state: 'SENT' is not one of ['NEW', 'PAID']"),
    ({"id": 7, "code": "de-1"}, "$.code: 'de-1' does not match '^[A-Z]{2}-[0-9]+$'"),
    ({"id": 7, "items": [{"sku": "a"}, {"sku": "a"}]}, "has non-unique elements"),
    ({"id": 7, "items": [{"sku": "a"}, {"sku": "abcd"}]}, "$.items[1].sku: 'abcd' is too long"),
    ({"id": 7, "next": {"id": "8"}}, "$.next.id: '8' is not of type 'integer'"),
    ({"id": 7, "price": "1"}, "$.price: '1' is not"),
    ({"id": 7, "x-note": 1}, "1 is not of type 'string'"),
    ({"id": 7, "note": 1}, "$: 'note' is no property of the schema, which allows no others"),
]


@pytest.mark.parametrize("draft", DRAFTS)
def test_values_are_judged_as_by_the_library(draft: str) -> None:
    schema = {"$schema": DRAFTS[draft], **ORDER}
    checked = JsonSchema(SchemaDocument("JSON", json.dumps(schema)))
    for value, problem in VALUES:
        found = checked.find_problem(value, len(json.dumps(value)))
        assert problem in found if problem else not found, value
        assert library.validators.validator_for(schema)(schema).is_valid(value) == (not found), value


def test_references_of_newer_drafts() -> None:
    tree = {
        "$schema": DRAFTS["2020-12"],
        "$dynamicAnchor": "node",
        "type": "object",
        "properties": {"left": {"$dynamicRef": "#node"}, "size": {"$ref": "#size"}},
        "$defs": {"size": {"$anchor": "size", "type": "integer"}},
        "required": ["n"],
    }
    assert validate(tree, {"n": 1, "left": {"n": 2}, "size": 3}) == ""
    assert validate(tree, {"n": 1, "left": {}}) == "$.left: 'n' is a required property"
    assert validate(tree, {"n": 1, "size": "3"}) == "$.size: '3' is not of type 'integer'"


@pytest.mark.parametrize("id_", [None, "http://shop.example/order.json"])
def test_references_are_the_schemas_that_the_registry_names(id_: str | None) -> None:
    customer = SchemaDocument("JSON", '{"type": "object", "required": ["id"]}', name="customer.json")
    order = {**({} if id_ is None else {"$id": id_}), "properties": {"customer": {"$ref": "customer.json"}}}
    assert validate(order, {"customer": {"id": 7}}, customer) == ""
    assert validate(order, {"customer": {}}, customer) == "$.customer: 'id' is a required property"


def test_nothing_is_fetched(registry: Registry) -> None:
    for keyword, draft in (("$ref", "7"), ("$ref", "4"), ("$ref", "2020-12"), ("$dynamicRef", "2020-12")):
        schema = {"$schema": DRAFTS[draft], "properties": {"a": {keyword: f"{registry.url}/schemas/ids/5"}}}
        with pytest.raises(SchemaError, match="it cannot be applied: Unresolvable"):
            validate(schema, {"a": 1})
    assert registry.asked == []


TWICE: dict[str, Any] = {f"s{level}": {"allOf": [{"$ref": f"#/definitions/s{level + 1}"}] * 2} for level in range(40)}
MANY = [{"n": number} for number in range(20_000)]
HOSTILE: dict[str, tuple[Any, Any, str]] = {
    "references that double": ({"$ref": "#/definitions/s0", "definitions": {**TWICE, "s40": {}}}, {}, "too many steps"),
    "a reference to itself": ({"$ref": "#"}, 7, "nested too deep"),
    "a reference to itself in a list": ({"allOf": [{"$ref": "#"}]}, 7, "nested too deep"),
    "doubling, of another draft": (
        {"$ref": "#/definitions/s0", "definitions": {**TWICE, "s40": {"$schema": DRAFTS["4"]}}},
        {},
        "too many steps",
    ),
    "doubling, all of another draft": (
        {
            "$ref": "#/definitions/s0",
            "definitions": {name: {"$schema": DRAFTS["4"], **part} for name, part in TWICE.items()} | {"s40": {}},
        },
        {},
        "too many steps",
    ),
    "doubling below unevaluatedProperties": (
        {
            "unevaluatedProperties": False,
            "$ref": "#/definitions/s0",
            "definitions": {**TWICE, "s40": {}},
            "$schema": DRAFTS["2020-12"],
        },
        {"a": 1},
        "too many steps",
    ),
    "items that are compared": ({"uniqueItems": True}, MANY, "too many steps"),
    "items of two types that are compared": (
        {"uniqueItems": True},
        [*range(50_000), *map(str, range(50_000))],
        "steps",
    ),
    "lists of values": ({"items": {"not": {"enum": [[number] for number in range(20_000)]}}}, MANY, "too many steps"),
    "errors that hold the value": ({"anyOf": [{"type": "string"}] * 5_000}, MANY, "too many steps"),
    "items times properties": (
        {"items": {"properties": {f"p{number}": {} for number in range(10_000)}}},
        MANY,
        "too many steps",
    ),
    "a pattern that takes any time": ({"pattern": "^(a+)+$"}, "a" * 100_000 + "b", "does not match"),
    "patterns of names": ({"patternProperties": {"^(a+)+$": {"type": "null"}}}, {"a" * 100_000: 1}, "not of type"),
    "patterns of names that leave others out": (
        {"patternProperties": {"^(a+)+$": True}, "additionalProperties": False},
        {"a" * 50_000 + "b": 1},
        "no property of the schema",
    ),
    "a pattern that looks ahead": ({"pattern": "(?=a)b"}, "b", "its pattern '(?=a)b': "),
    "no schema": (7, 7, "it is not a JSON Schema"),
    "a type that is none": ({"type": "integr"}, 7, "it is not a JSON Schema: $.type: 'integr' is not valid"),
    "a type that is a number": ({"properties": {"a": {"type": 7}}}, 7, "it is not a JSON Schema: $.properties.a.type"),
    "a draft that is none": ({"$schema": "http://shop.example/schema"}, 7, "its draft is not known"),
    "a draft that is a number": ({"$schema": 7}, 7, "its draft is not known"),
    "an id that is none": ({"$id": "http://[::1"}, 7, "it is not a JSON Schema"),
    "a number of the largest kind": ({"multipleOf": 0.1}, 10**400, "it cannot be applied"),
    "a step of zero": ({"multipleOf": 0}, 7, "it is not a JSON Schema"),
    "brackets": ("[" * 100_000, 7, "brackets in each other"),
    "a place that is not there": ({"$ref": "#/definitions/none"}, 7, "it cannot be applied"),
}


@pytest.mark.limit(20)
@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_schemas_and_values_are_named_and_cost_little(case: str) -> None:
    schema, value, reason = HOSTILE[case]
    try:
        problem = validate(schema, value)
    except SchemaError as error:
        problem = str(error)
    assert reason in problem
    assert len(problem) < 400


def test_large_values_have_steps_enough() -> None:
    orders = [{"id": number, "items": [{"sku": "a"}, {"sku": "b"}], "price": None} for number in range(1, 3000)]
    assert validate({"type": "array", "items": ORDER, "definitions": ORDER["definitions"]}, orders) == ""


def test_texts_without_re2_are_matched_as_far_as_it_is_safe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwire.runtime.regular_expressions._load_re2", lambda: None)
    importlib.import_module("kwire.runtime.regular_expressions").compile_pattern.cache_clear()
    try:
        assert validate({"pattern": "^[a-z]+$"}, "abc") == ""
        assert "does not match" in validate({"pattern": "^[a-z]+$"}, "abC")
        with pytest.raises(SchemaError, match=r"need google-re2: pip install 'kwire\[regex\]'"):
            validate({"pattern": "^[a-z]+$"}, "a" * 129)
        with pytest.raises(SchemaError, match=r"kwire\[regex\]"):
            validate({"pattern": "^(a+)+$"}, "a")
    finally:
        importlib.import_module("kwire.runtime.regular_expressions").compile_pattern.cache_clear()


def test_without_the_library_values_are_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    with pytest.raises(SchemaError, match=r"pip install 'kwire\[values\]'") as missing:
        JsonReader(SchemaDocument("JSON", "{}")).read(b'{"n": 1}', framed=False)
    assert (missing.value.code, missing.value.json) == ("NO_LIBRARY", '{"n":1}')


def test_a_value_that_does_not_fit_is_named_and_kept(log: str, registry: Registry, tmp_path: Path) -> None:  # noqa: F811
    folder = tmp_path / "schemas"
    folder.mkdir()
    (folder / "5.json").write_text('{"title": "Click", "properties": {"n": {"maximum": 10}}}')
    words = ("decode", log, "--registry", str(folder))
    shown = run(*words, code=1)
    json_text, problem = '{"page":"/ø","n":9007199254740993}', "$.n: 9007199254740993 is greater than the maximum of 10"
    assert f"Click, schema 5: {problem}" in shown.err
    tree = run(*words, "-v", code=1).out
    assert f"    value: Click, schema 5\n      {json_text}\n" in tree
    assert f"    ! value: Click, schema 5: {problem}\n" in tree
    record = json.loads(run(*words, "--jsonl", "--first", "1", code=1).out)
    assert record["value"] == {
        "schema": {"type": "JSON", "id": 5, "name": "Click"},
        "payload": json.loads(json_text),
        "error": {"code": "BAD_VALUE", "message": problem},
    }
    chosen = run(*words, "--where", "value.n > 1 and undecodable == 'BAD_VALUE'", "--fields", "value", code=1).out
    assert chosen.splitlines()[1:] == [json_text]
