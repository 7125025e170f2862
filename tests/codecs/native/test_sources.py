"""The sources of the engine: what the README says of them is there."""

from __future__ import annotations

import re
from importlib import import_module

import pytest

from kwire.codecs import native
from tests.conftest import ROOT

FOLDER = ROOT / "kwire/codecs/native"
README = (FOLDER / "README.md").read_text("utf-8")
INCLUDES = sorted(path.name for path in FOLDER.glob("*.pxi"))
TWINS = re.findall(r"^\| `(\w+)` \| `(kwire[\w.]+)\.(\w+)` \|$", README, re.MULTILINE)


def test_the_readme_lists_the_include_files_in_their_order() -> None:
    engine = (FOLDER / "_engine.pyx").read_text("utf-8")
    included = re.findall(r'^include "(\w+\.pxi)"$', engine, re.MULTILINE)
    table = README[README.index("## What holds what") : README.index("In Python:")]
    assert sorted(included) == INCLUDES
    assert [name for line in table.splitlines() for name in re.findall(r"`(\w+\.pxi)`", line)] == included


@pytest.mark.parametrize("state, module, name", TWINS)
def test_a_class_of_the_general_path_inherits_from_the_engine(state: str, module: str, name: str) -> None:
    assert issubclass(getattr(import_module(module), name), getattr(native, state))


def test_the_readme_names_what_there_is() -> None:
    source = (FOLDER / "python_state.py").read_text("utf-8")
    states = set(re.findall(r"^    class (\w+)\b", source, re.MULTILINE))
    twins = {state for state, _, _ in TWINS} | {"InFlight", "FrameBatch", "FrameRows", "FrameCount", "Selection"}
    assert twins == states - {"_State"}
    sources = "".join(path.read_text("utf-8") for path in FOLDER.glob("*.p[yx][xi]"))
    names = re.findall(r"`([A-Z]\w+)(?:\.(\w+))?`", README)
    for owner, attribute in names:
        assert re.search(rf"\b{owner}\b", sources), owner
        assert re.search(rf"\b{attribute}\b", sources), attribute
    for path in re.findall(r"`((?:tests|kwire)/[\w/.]+)`", README):
        assert (ROOT / path).exists(), path


# Words and copies out of input, addresses of bytes, and elements of `p`, which points to input by convention.
RAW_READ = re.compile(
    r"\b(?:[bl]e\d\d|memcpy)\(|<const (?:uint8_t|char)\*>|(?<![.\w])(?:p|base|data)\[|\bc\.at\[|<< ?8\b"
)


@pytest.mark.parametrize("name", ["_engine.pyx", *(name for name in INCLUDES if name != "bounds.pxi")])
def test_input_is_read_by_one_file(name: str) -> None:
    lines = (FOLDER / name).read_text("utf-8").splitlines()
    code = [line for line in lines if not re.match(r"    \w+ (?:put_)?[bl]e\d* \"kwire_", line)]
    raw = [line for line in code if RAW_READ.search(line)]
    assert raw == []


def test_a_raw_read_is_recognised() -> None:
    bounds = (FOLDER / "bounds.pxi").read_text("utf-8")
    assert len(RAW_READ.findall(bounds)) > 20
    assert RAW_READ.search("        size = signed32(be32(p + at))")
    assert RAW_READ.search("    if c.at < c.end and c.at[0] == 0:")
