"""Specs that mean harm are refused, with a place, in no time, and run nothing (test plan T15)."""

from __future__ import annotations

import pytest

from kwire.errors import SpecError
from kwire.schema.spec_reader import MOST_ERRORS, read_spec
from tests.conftest import spread
from tests.linear_time.effort import at_most
from tests.messages.small_specs import document, field, spec_of, struct

INT = field()


def chain(length: int) -> str:
    structs = [struct(f"S{n}", field("Y", f"S{n + 1}")) for n in range(1, length)]
    return document(field(type="S1"), commonStructs=[*structs, struct(f"S{length}", INT)])


CODE = [
    "a\nb",
    'x"',
    "x'",
    'x");import os#',
    "x=1",
    "__class__",
    "x__",
    "a.b",
    "a\0",
    "",
    "1x",
    "é",
    "x ",
    "\u202ex",
    "x" * 200,
]
PLACES = {
    "a message": lambda text: document(INT, name=text),
    "a field": lambda text: document(field(text)),
    "a type": lambda text: document(field(type=text)),
    "an array's type": lambda text: document(field(type="[]" + text)),
    "a struct": lambda text: document(field(type=text, fields=[INT])),
    "a common struct": lambda text: document(INT, commonStructs=[struct(text, INT)]),
    "an integer's default": lambda text: document(field(default=text or " ")),
    "a float's default": lambda text: document(field(type="float64", default=text or " ")),
    "a uuid's default": lambda text: document(field(type="uuid", default=text or " ")),
    "versions": lambda text: document(field(versions=text)),
    "a tag": lambda text: document(field(tag=text, taggedVersions="2+")),
    "an entity type": lambda text: document(field(entityType=text)),
    "a listener": lambda text: document(INT, listeners=[text]),
    "a key": lambda text: document({**INT, text: 1}),
}


@pytest.mark.parametrize("text", CODE)
@pytest.mark.parametrize("place", PLACES)
def test_what_is_no_plain_word_is_refused_wherever_a_word_is_needed(place: str, text: str) -> None:
    with pytest.raises(SpecError) as caught:
        read_spec(PLACES[place](text))
    assert caught.value.json_path.startswith("$.")
    assert caught.value.problem.isprintable()
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    "word", ["class", "import", "from", "None", "True", "lambda", "self", "cls", "exec", "msgspec"]
)
def test_words_of_python_are_only_names(word: str) -> None:
    spec = spec_of(field(word), field("Struct", word.capitalize(), fields=[field(word)]))
    assert [field.name for field in spec.struct.fields] == [word, "Struct"]
    assert all(field.attribute.isidentifier() for field in spec.struct.fields)


HOSTILE = {
    "a name of 200 kB": document(field("x" * 200_000)),
    "a type of 200 kB": document(field(type="X" * 200_000)),
    "versions of 200 kB": document(field(versions="0," * 100_000)),
    "versions up to 2147483647": document(INT, valid="0-2147483647"),
    "versions up to 2147483647 of a field": document(field(versions="0-2147483647")),
    "a default of 200 kB": document(field(default="9" * 200_000)),
    "100,000 fields": document(*[INT] * 100_000),
    "4,000 fields of one name": document(*[INT] * 4_000),
    "4,000 unknown types": document(*[field(f"F{n}", f"Typ{n}") for n in range(4_000)], commonStructs=[]),
    "2,000 unknown types beside 2,000 known": document(
        *[field(f"F{n}", f"S{n}a") for n in range(1500)],
        commonStructs=[struct(f"S{n}b") for n in range(1500)],
    ),
    "structs nested 10,000 deep": document(*[field(f"F{n}", f"S{n}", fields=[]) for n in range(2)]).replace(
        '"fields": []', '"fields": [' * 10_000 + "]" * 10_000
    ),
    "a chain of 2,000 structs": chain(2_000),
    "2 to the 30 fields": document(
        field(type="S1"),
        commonStructs=[
            *(struct(f"S{n}", field("A", f"S{n + 1}"), field("B", f"S{n + 1}")) for n in range(1, 30)),
            struct("S30", INT),
        ],
    ),
    "a struct in itself": document(field(type="Self"), commonStructs=[struct("Self", field("Again", "[]Self"))]),
    "a tag of 2147483647": document(field(tag=2147483647, taggedVersions="2+")),
    "a tag below zero": document(field(tag=-1, taggedVersions="2+")),
    "a tag given twice": document(*(field(name, tag=0, taggedVersions="2+") for name in "XY")),
    "an element of no bytes": document(field(type="[]In", fields=[])),
    "an api key beyond int16": document(INT, type="metadata", apiKey=32768),
    "an api key of ten digits": document(INT, type="metadata", apiKey=9999999999),
}


@pytest.mark.parametrize("text", spread(HOSTILE.values(), 10), ids=HOSTILE)
def test_a_hostile_spec_is_refused_soon_with_a_short_error(text: str) -> None:
    with pytest.raises(SpecError) as caught, at_most(6_000_000):
        read_spec(text)
    assert caught.value.json_path.startswith("$")
    assert len(str(caught.value)) < 1000
    assert len(caught.value.others) < MOST_ERRORS
