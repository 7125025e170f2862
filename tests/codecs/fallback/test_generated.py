"""Generated source, of every message and of specs that mean harm, holds nothing but the compiler's own words."""

from __future__ import annotations

import ast
import builtins
import re
from typing import Any

import pytest

import kwire
from kwire.codecs.fallback.generated_python import decoder_source, encoder_source
from kwire.codecs.schema_tree import grow_tree
from kwire.errors import SpecError
from kwire.schema.catalog import catalog_for
from kwire.schema.message_spec import MessageSpec
from kwire.schema.spec_reader import read_spec
from tests.messages.message_lists import draft_triples, released_pairs
from tests.messages.small_specs import document, field, spec_of, struct
from tests.schema.test_hostile import CODE

NODES = (
    *(ast.Module, ast.FunctionDef, ast.arguments, ast.arg, ast.Return, ast.Assign, ast.AugAssign, ast.Expr, ast.Pass),
    *(ast.If, ast.For, ast.While, ast.Raise, ast.Break, ast.Call, ast.Name, ast.Load, ast.Store, ast.Constant),
    *(ast.Attribute, ast.Subscript, ast.Slice, ast.Tuple, ast.List, ast.Starred, ast.Compare, ast.BoolOp, ast.UnaryOp),
    *(
        ast.BinOp,
        ast.Add,
        ast.Sub,
        ast.Mult,
        ast.And,
        ast.Or,
        ast.Not,
        ast.USub,
        ast.UAdd,
        ast.Is,
        ast.IsNot,
        ast.Eq,
        ast.NotEq,
    ),
    *(ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.IfExp, ast.ListComp, ast.comprehension, ast.NamedExpr, ast.UAdd),
)
METHODS = {"append", "decode", "join", "loop", "ahead", "rest", "tried", "write", "use", "on", "read"}
NAMES = re.compile(r"_|[a-z]\w*|[A-Z]\d+|BOOL|BYTE|EMPTY|Declined")


def foreign_words(text: str, fields: set[str]) -> list[str]:
    """Return whatever source holds that the compiler has no business to write."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, NODES):
            found.append(type(node).__name__)
        if isinstance(node, ast.Name) and not NAMES.fullmatch(node.id):
            found.append(node.id)
        if isinstance(node, ast.Attribute) and node.attr not in METHODS | fields:
            found.append(node.attr)
        if isinstance(node, ast.Constant) and not plain(node.value):
            found.append(repr(node.value))
    return found


def plain(value: Any) -> bool:
    """Whether a literal is a number, one of the three words, an empty value, a format code or zero bytes."""
    return (
        isinstance(value, int | None) or value in ("", b"", *"bhiqHId") or (isinstance(value, bytes) and not any(value))
    )


def check(spec: MessageSpec, version: int) -> None:
    schema = grow_tree(spec, version)
    fields = {field.attribute for struct in spec.structs() for field in struct.fields} | {"unknown_tags"}
    for source in (decoder_source(schema), encoder_source(schema)):
        assert foreign_words(source.text(), fields) == [], (spec.name, version)
        assert not set(source.constants) & set(vars(builtins)), spec.name


@pytest.mark.ci
def test_the_source_of_every_message_holds_our_own_words_only() -> None:
    pairs = [(None, *pair) for pair in released_pairs()] + list(draft_triples())
    for profile, name, version in pairs:
        check(catalog_for(profile).spec(name, version), version)
    assert len(pairs) == 897 + 9


@pytest.mark.parametrize("word", ["print(1)", "import os", "x = __import__", "{y for y in x}", "f'{x}'", "x = 'text'"])
def test_the_check_finds_what_is_foreign(word: str) -> None:
    assert foreign_words(f"def decode(b, p):\n    v1 = b[p]\n    {word}", set()) or word == "print(1)"


@pytest.mark.parametrize("text", [*CODE, "print", "b", "p", "decode", "v1", "Declined", "C1", "BOOL", "unknown_tags"])
def test_a_name_in_a_spec_runs_nothing_and_hides_nothing(text: str) -> None:
    """Names of code are refused by the reader of specs; names of our own words are only names of fields."""
    try:
        spec = read_spec(document(field(text), field("Inner", "[]Part", fields=[field(text)])))
    except SpecError:
        return
    check(spec, 0)
    check(spec, 3)
    codec = kwire.codecs.message_codec.Codec(spec, 3, grow_tree(spec, 3))
    data = bytes.fromhex("00000007 02 00000009 00 00")
    assert codec.encode(codec.decode(data)) == data


@pytest.mark.parametrize(
    "text", ['"; canary() #', "'); canary() #", "\n    canary()", "\\\n canary()", "\u2028canary()", "#"]
)
@pytest.mark.parametrize("type", ["string", "bytes"])
def test_a_default_of_a_spec_runs_nothing(text: str, type: str) -> None:
    default = {"default": text} if type == "string" else {}
    spec = spec_of(
        field("Text", type, versions="1+", ignorable=True, **default),
        field("Tagged", "string", versions="2+", tag=0, taggedVersions="2+", default=text),
        field("Number"),
    )
    for version in (0, 3):
        check(spec, version)
    codec = kwire.codecs.message_codec.Codec(spec, 0, grow_tree(spec, 0))
    assert codec.decode(bytes(4)).tagged == text


def test_names_of_python_and_structs_with_one_name_are_read() -> None:
    spec = spec_of(
        field("from"),
        field("Class", "[]Class", fields=[field("import"), field("None")]),
        commonStructs=[struct("Other", field())],
    )
    check(spec, 3)
    codec = kwire.codecs.message_codec.Codec(spec, 3, grow_tree(spec, 3))
    data = bytes.fromhex("00000001 02 00000002 00000003 00 00")
    assert codec.encode(codec.decode(data)) == data
