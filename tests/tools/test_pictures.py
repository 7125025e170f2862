"""The pictures of the README are what the commands show."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from tests.conftest import ROOT
from tests.tools.pictures import FOLDER, PICTURES


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_what_its_command_shows(name: str) -> None:
    written = (FOLDER / name).read_text("utf-8")
    assert written == PICTURES[name](), f"{name} is stale: python -m tests.tools.pictures"
    ElementTree.fromstring(written)
    assert len(written) < 20_000
    assert f"(docs/pictures/{name})" in (ROOT / "README.md").read_text("utf-8")
