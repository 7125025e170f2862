"""The documentation site: built without network, in strict mode, with every public name and every command."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from kwire.cli.command_table import COMMANDS
from tests.docs.pages import text_of

LOADED = re.compile(r"<(?:script|link|img|iframe)\b[^>]*?(?:src|href)=\"?(https?:[^\" >]*)")
NAMES = [name for name in import_module("kwire").__all__ if name not in ("messages", "values")]


def test_every_public_name_is_in_the_reference() -> None:
    named = re.findall(r"^::: kwire\.(\w+)$", text_of("docs/reference/api.md"), re.MULTILINE)
    assert sorted(named) == NAMES


def test_every_strategy_is_in_the_reference() -> None:
    page = text_of("docs/reference/strategies.md")
    named = re.findall(r"^::: kwire\.testing\.strategies\.(\w+)$", page, re.MULTILINE)
    assert sorted(named) == import_module("kwire.testing.strategies").__all__


@pytest.mark.ci
def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) >= 20
    for page in pages:
        loaded = LOADED.findall(page.read_text("utf-8"))
        assert loaded == [], page


@pytest.mark.ci
def test_reference_pages_are_complete(site: Path) -> None:
    api = (site / "reference/api.html").read_text("utf-8")
    assert [name for name in NAMES if f'id="kwire.{name}"' not in api] == []
    assert "AbortedTxn" not in api, "an overload of kwire.codec for each message"
    commands = (site / "reference/commands.html").read_text("utf-8")
    assert [name for name in COMMANDS if f"usage: kwire {name}" not in commands] == []
    errors = (site / "reference/errors.html").read_text("utf-8")
    listed = set(re.findall(r"kwire\.[\w.]*?(\w+)</code>", errors))
    assert {"DecodeError", "Truncated", "Tolerated", "Refused"} <= listed
    assert "maxPartitionBytes" in (site / "reference/spark.html").read_text("utf-8")
