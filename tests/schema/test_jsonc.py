"""JSON with comments, where every value knows its place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kwire.errors import SpecError
from kwire.schema.json_with_comments import DEPTH, LONGEST, JsonValue, parse
from tests.conftest import spread
from tests.linear_time.effort import at_most


def plain(value: JsonValue) -> Any:
    if isinstance(value.value, dict):
        return {name: plain(member) for name, member in value.value.items()}
    return [plain(item) for item in value.value] if isinstance(value.value, list) else value.value


def every(value: JsonValue) -> Iterator[JsonValue]:
    yield value
    inner = value.value
    for item in inner.values() if isinstance(inner, dict) else inner if isinstance(inner, list) else ():
        yield from every(item)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{}", {}),
        ("[]", []),
        ("[[], {}]", [[], {}]),
        ('"a"', "a"),
        ("0", 0),
        ("-12", -12),
        ("1.5", 1.5),
        ("-0.25e-2", -0.0025),
        ("2E+3", 2000.0),
        ("true", True),
        ("false", False),
        ("null", None),
        (r'"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"', '"\\/\b\f\n\r\té😀'),
        ('"} ] , : // /* */"', "} ] , : // /* */"),
        ('{"a": 1, "b": [true, null], "c": {"d": "e"}}', {"a": 1, "b": [True, None], "c": {"d": "e"}}),
        ('// one\n{ // two\n"a" // three\n: // four\n1 // five\n} // six', {"a": 1}),
        ('/* one */ { /* two\n\n */ "a" /**/ : /* * / // */ 1 }', {"a": 1}),
        ("\ufeff[1]", [1]),
        ("\r\n\t [1] \r\n", [1]),
        ("{}//", {}),
        ('{"": 1}', {"": 1}),
        ('{"a": "0+", "b": 1, "a": "0+"}', {"a": "0+", "b": 1}),
        ("9" * 400, int("9" * 400)),
    ],
)
def test_a_document_gives_its_value(text: str, value: Any) -> None:
    parsed = plain(parse(text, "f.json"))
    assert parsed == value
    assert type(parsed) is type(value)


DOCUMENT = """\
// a comment
{
  "name": "Fetch", /* of
  two lines */ "fields": [
    { "name": "Topic",
      "odd key": 1 },
    true
  ]
}
"""


def test_every_value_has_its_file_line_and_path() -> None:
    places = [(value.line, value.json_path) for value in every(parse(DOCUMENT, "f.json"))]
    assert places == [
        (2, "$"),
        (3, "$.name"),
        (4, "$.fields"),
        (5, "$.fields[0]"),
        (5, "$.fields[0].name"),
        (6, "$.fields[0]['odd key']"),
        (7, "$.fields[1]"),
    ]
    assert {value.file for value in every(parse(DOCUMENT, "f.json"))} == {"f.json"}


@pytest.mark.parametrize(
    ("key", "path"),
    [("été", "$['été']"), ("a.b", "$['a.b']"), ("x" * 128, f"$['{'x' * 76}..."), ("\n", "$['\\n']"), ("", "$['']")],
)
def test_unusual_keys_are_in_brackets_in_a_path(key: str, path: str) -> None:
    (value,) = parse(f'{{"{key}": 1}}'.replace("\n", r"\n"), "f.json").value.values()
    assert value.json_path in (path, f"{path}]")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "f.json:1: $: a value is needed, not the end of the file"),
        ("\n// only this\n", "f.json:3: $: a value is needed, not the end of the file"),
        ("{", "f.json:1: $: a key in double quotes is needed, not the end of the file"),
        ("[1", "f.json:1: $: a comma or ']' is needed, not the end of the file"),
        ("[1,\n2,\n", "f.json:3: $[2]: a value is needed, not the end of the file"),
        ('{"a": 1', "f.json:1: $: a comma or '}' is needed, not the end of the file"),
        ('{"a"', "f.json:1: $: a colon after 'a' is needed, not the end of the file"),
        ('{"a"\n"b"}', "f.json:2: $: a colon after 'a' is needed, not '\"b\"'"),
        ('{"a":\n}', "f.json:2: $.a: a value is needed, not '}'"),
        ("[1\n,\n,\n2]", "f.json:3: $[1]: a value is needed, not ','"),
        ("[1,\n]", "f.json:1: $: there is a comma before ']'; drop it: Kafka's generator refuses it"),
        ('{"a": 1,}', "f.json:1: $: there is a comma before '}'; drop it: Kafka's generator refuses it"),
        ("{,}", "f.json:1: $: a key in double quotes is needed, not ','"),
        ("{a: 1}", "f.json:1: $: a key in double quotes is needed, not 'a'"),
        ("{'a': 1}", 'f.json:1: $: a key in double quotes is needed, not "\'"'),
        ("[1 2]", "f.json:1: $: a comma or ']' is needed, not '2'"),
        ("[1}", "f.json:1: $: a comma or ']' is needed, not '}'"),
        ("{} {}", "f.json:1: $: '{' follows the end of the document"),
        ('{"a": [1],\n"a": 2}', "f.json:2: $: the key 'a' is repeated here; keep one of them"),
        ('{"a": 1, "a": true}', "f.json:1: $: the key 'a' is repeated here; keep one of them"),
        ('{"a": {}, "a": {}}', "f.json:1: $: the key 'a' is repeated here; keep one of them"),
        ('"a\nb"', "f.json:1: $: a value is needed, not '\"'"),
        ('"abc', "f.json:1: $: a value is needed, not '\"'"),
        ('["\\q"]', "f.json:1: $[0]: '\"\\\\q\"' is not right: Invalid \\escape"),
        ("[01]", "f.json:1: $[0]: '01' is not right: Extra data"),
        ("[-]", "f.json:1: $[0]: a value is needed, not '-'"),
        ("[NaN]", "f.json:1: $[0]: a value is needed, not 'N'"),
        ("[\u0663]", "f.json:1: $[0]: a value is needed, not '\u0663'"),
        ("nullable", "f.json:1: $: 'a' follows the end of the document"),
        ("/* open", "f.json:1: $: a value is needed, not '/'"),
        ("[\0]", "f.json:1: $[0]: a value is needed, not '\\x00'"),
        ("9" * 401, "f.json:1: $: a number of 401 characters"),
        (" " * (LONGEST + 1), f"f.json:1: $: the file is longer than {LONGEST} characters"),
    ],
)
def test_what_is_no_json_is_refused_with_its_place(text: str, error: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse(text, "f.json")
    assert str(caught.value) == error


@pytest.mark.parametrize(("begin", "end"), [("[", "]"), ('{"a":', "}")])
def test_a_document_may_be_nested_up_to_a_limit(begin: str, end: str) -> None:
    assert parse(begin * DEPTH + "1" + end * DEPTH, "f.json")
    with pytest.raises(SpecError, match="nested deeper than 64 levels"):
        parse(begin * (DEPTH + 1) + "1" + end * (DEPTH + 1), "f.json")


LONG = LONGEST // 2
HOSTILE = {
    "1 MB": " " * (1 << 20),
    "depth 10,000": "[" * 10_000 + "]" * 10_000,
    "256 kB of brackets": "[" * LONGEST,
    "a key of 256 kB": '{"' + "k" * (LONGEST - 10) + '": x',
    "a key of 128 kB over 65,000 values": '{"' + "k" * LONG + '": [' + "1," * (LONG // 2 - 10) + "x",
    "a string of 256 kB that does not end": '"' + "a" * (LONGEST - 1),
    "a comment of 256 kB that does not end": "/*" + "*" * (LONGEST - 2),
    "256 kB of digits": "9" * LONGEST,
    "256 kB of quotes": '"' * LONGEST,
    "256 kB of backslashes": '["' + "\\" * (LONGEST - 2),
    "keys twice": '{"a":1,' * 60 + '"a":1,"a":2',
    "64 levels of long keys over 60,000 values": ('{"' + "k" * 60 + '":') * 60 + "[" + "1," * 60_000 + "x",
}


@pytest.mark.parametrize("text", spread(HOSTILE.values(), 6), ids=HOSTILE)
def test_hostile_text_is_refused_soon_with_a_short_error(text: str) -> None:
    with pytest.raises(SpecError) as caught, at_most(6_000_000):
        parse(text, "f.json")
    assert len(str(caught.value)) < 6_000


def first(text: str) -> JsonValue:
    (value,) = parse(text, "f.json").value
    assert isinstance(value, JsonValue)
    return value


def test_members_of_an_object_are_given_if_they_are_known() -> None:
    members = first('[{"name": "a", "type": "b"}]').members(frozenset({"name", "type", "tag"}))
    assert {name: member.value for name, member in members.items()} == {"name": "a", "type": "b"}


@pytest.mark.parametrize(
    ("text", "method", "value"),
    [
        ('["abc"]', "text", "abc"),
        ("[[]]", "items", []),
        ("[true]", "boolean", True),
        ("[false]", "boolean", False),
        ('["true"]', "boolean", True),
        ('["False"]', "boolean", False),
        ("[7]", "integer", 7),
        ("[-7]", "integer", -7),
        ('["0"]', "integer", 0),
        ('["-2147483648"]', "integer", -2147483648),
    ],
)
def test_a_value_is_given_as_what_it_is(text: str, method: str, value: Any) -> None:
    assert getattr(first(text), method)() == value
    assert type(getattr(first(text), method)()) is type(value)


KNOWN = frozenset({"name", "type"})


@pytest.mark.parametrize(
    ("text", "method", "arguments", "error"),
    [
        ("[1]", "members", [KNOWN], "$[0]: an object is needed, not a number; write { ... }"),
        ('[{"nmae": 1}]', "members", [KNOWN], "$[0].nmae: unknown key 'nmae'; did you mean name?"),
        ('[{"zzz": 1}]', "members", [KNOWN], "$[0].zzz: unknown key 'zzz'; known keys: name, type"),
        ("[{}]", "items", [], "$[0]: an array is needed, not an object; write [ ... ]"),
        ("[null]", "text", [], '$[0]: a string is needed, not null; write "..."'),
        ("[[]]", "text", [], '$[0]: a string is needed, not an array; write "..."'),
        ("[1]", "boolean", [], "$[0]: true or false is needed, not a number; write true or false, without quotes"),
        ('["yes"]', "boolean", [], "$[0]: true or false is needed, not a string; write true or false, without quotes"),
        ("[true]", "integer", [], "$[0]: an integer is needed, not a boolean; write a number, without quotes"),
        ("[1.0]", "integer", [], "$[0]: an integer is needed, not a number; write a number, without quotes"),
        ('["1.0"]', "integer", [], "$[0]: an integer is needed, not a string; write a number, without quotes"),
        ('["12345678901"]', "integer", [], "$[0]: an integer is needed, not a string; write a number, without quotes"),
        ('["\u0663"]', "integer", [], "$[0]: an integer is needed, not a string; write a number, without quotes"),
    ],
)
def test_a_value_of_another_kind_is_refused(text: str, method: str, arguments: list[Any], error: str) -> None:
    with pytest.raises(SpecError) as caught:
        getattr(first(text), method)(*arguments)
    assert str(caught.value) == f"f.json:1: {error}"
