"""The stubs that type checkers read say of messages, enums and `kwire.codec` what these are at run time."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin

import msgspec

import kwire
from kwire.schema.catalog import catalog_for
from kwire.schema.stubs import codec_stub, messages_stub, stubs, values_stub, write_stubs
from kwire.values import kind, kinds
from tests.cases import case_by_case
from tests.conftest import ROOT

NAMES = catalog_for().names()


def classes_of(text: str) -> dict[str, ast.ClassDef]:
    return {node.name: node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)}


MESSAGES = classes_of(messages_stub([catalog_for().spec(name) for name in NAMES]))
ENUMS = classes_of(values_stub())


def type_text(kind: Any) -> str:
    """Write a type of a field as the stub does."""
    if isinstance(kind, UnionType):
        return " | ".join(map(type_text, get_args(kind)))
    if get_origin(kind) is tuple:
        return f"tuple[{type_text(get_args(kind)[0])}, ...]"
    return "None" if kind is type(None) else str(kind.__qualname__)


def fields_of(node: ast.ClassDef) -> dict[str, str]:
    return {
        each.target.id: ast.unparse(each.annotation)
        for each in node.body
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    }


def init_of(node: ast.ClassDef) -> ast.arguments:
    (init,) = (each for each in node.body if isinstance(each, ast.FunctionDef))
    return init.args


def check_struct(node: ast.ClassDef, cls: type[msgspec.Struct]) -> None:
    expected = {info.name: type_text(info.type) for info in msgspec.structs.fields(cls)}
    assert list(fields_of(node).items()) == list(expected.items())
    init = init_of(node)
    assert [argument.arg for argument in init.args] == ["self", *expected]
    defaults = [ast.unparse(default) for default in init.defaults]
    for name, text, default in zip(expected, defaults, cls.__struct_defaults__, strict=True):
        is_long = isinstance(default, msgspec.Struct) or default == bytes(16)
        assert text == ("..." if is_long else repr(default)), name


@case_by_case("name", NAMES)
def test_a_class_has_the_fields_types_and_defaults_of_the_message(name: str) -> None:
    cls, node = getattr(kwire.messages, name), MESSAGES[name]
    inner = {each.name: each for each in node.body if isinstance(each, ast.ClassDef)}
    assert set(inner) == {each for each, value in vars(cls).items() if isinstance(value, type)}
    check_struct(node, cls)
    for each in inner:
        check_struct(inner[each], getattr(cls, each))


def test_constructors_take_more_than_they_keep() -> None:
    node = next(each for each in MESSAGES["MetadataResponse"].body if getattr(each, "name", "").endswith("Topic"))
    assert isinstance(node, ast.ClassDef)
    types = {each.arg: ast.unparse(each.annotation) for each in init_of(node).args[1:] if each.annotation}
    assert types["topic_id"] == "bytes | UUID"
    assert types["partitions"] == "_Array[MetadataResponse.MetadataResponsePartition]"
    described = init_of(MESSAGES["DescribeTopicPartitionsRequest"]).args[1].annotation
    assert described is not None
    assert ast.unparse(described) == "_Array[DescribeTopicPartitionsRequest.TopicRequest]"


def test_each_field_and_each_class_is_documented() -> None:
    count = 0
    for name in NAMES:
        spec = catalog_for().spec(name)
        for node in ast.walk(MESSAGES[name]):
            if isinstance(node, ast.ClassDef):
                assert ast.get_docstring(node)
        abouts = {field.about for struct in spec.structs() for field in struct.fields}
        docs = [each.value for each in ast.walk(MESSAGES[name]) if isinstance(each, ast.Constant)]
        texts = [text for text in docs if isinstance(text, str)]
        missing = {about for about in abouts if not any(text.startswith(about) for text in texts)}
        assert not missing
        count += len(abouts)
    assert count > 2000


def test_enums_have_the_members_of_their_kinds() -> None:
    assert tuple(ENUMS) == kinds()
    for name, node in ENUMS.items():
        members = {
            each.targets[0].id: ast.literal_eval(each.value)
            for each in node.body
            if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name)
        }
        known = {key: member.value for key, member in kind(name).__members__.items() if key.isidentifier()}
        assert members == known


def test_codec_has_an_overload_for_each_message() -> None:
    text = codec_stub(NAMES)
    for name in NAMES:
        assert f'(name: Literal["{name}"], version: SupportsIndex) -> Codec[m.{name}]' in text
    ast.parse(text)


def test_stubs_are_generated_without_any_library() -> None:
    program = "import kwire.schema.stubs; print(sorted(kwire.schema.stubs.stubs()))"
    done = subprocess.run([sys.executable, "-S", "-c", program], cwd=ROOT, capture_output=True, check=True)
    assert done.stdout.decode().strip() == str(sorted(stubs()))


def test_stubs_are_written_where_they_are_read(tmp_path: Path) -> None:
    assert {path.relative_to(tmp_path).as_posix(): path.read_text("utf-8") for path in write_stubs(tmp_path)} == stubs()
    for name in stubs():
        assert (ROOT / "kwire" / name).with_suffix(".py").is_file()
        assert f"/kwire/{name}\n" in (ROOT / ".gitignore").read_text()
