"""The library hexdump writes the bytes of dumps where it is installed; without it, the text is the same."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import requires

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire.render import value_text
from tests.conftest import ROOT

WITHOUT = "import sys; sys.modules['hexdump'] = None; "  # so that its import fails
RUN = "from kwire.cli.main import main; sys.exit(main(sys.argv[1:]))"


@given(st.binary(max_size=40))
def test_both_writers_agree(data: bytes) -> None:
    value_text._find_formatter.cache_clear()
    by_hexdump = value_text.format_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "hexdump", None)
        value_text._find_formatter.cache_clear()
        assert value_text.format_bytes(data) == by_hexdump == " ".join(f"{byte:02x}" for byte in data)
    value_text._find_formatter.cache_clear()


def test_hexdump_writes_the_bytes_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    value_text._find_formatter.cache_clear()
    monkeypatch.setattr("hexdump.dump", lambda data, size, sep: f"<{data!r} {size} {sep!r}>")
    assert value_text.format_bytes(b"a") == "<b'a' 2 ' '>"
    value_text._find_formatter.cache_clear()


@pytest.mark.parametrize(
    "arguments",
    [["explain", "fixtures/dumps/kafka-4.4-metadata.bin"], ["decode", "--hex", "00 00 00 08 00 03 00 0c 00 00 00 01"]],
)
def test_commands_print_the_same_without_it(arguments: list[str]) -> None:
    outputs = []
    for start in ("import sys; ", WITHOUT):
        command = [sys.executable, "-c", start + RUN, *arguments]
        outputs.append(subprocess.run(command, cwd=ROOT, capture_output=True, text=True))
    assert outputs[0].stdout == outputs[1].stdout != ""
    assert outputs[0].returncode == outputs[1].returncode


def test_an_installation_needs_only_what_has_wheels() -> None:
    needed = [line for line in requires("kwire") or () if "extra ==" not in line]
    assert sorted(line.split(">")[0].split("<")[0] for line in needed) == ["construct", "msgspec"]
