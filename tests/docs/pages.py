"""The pages for users, README.md and docs/, and the code blocks in them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from tests.conftest import ROOT

PAGES = ["README.md", *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))]
_BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A code block: its language, its text, and the line of the page where it begins."""

    language: str
    text: str
    line: int

    @property
    def program(self) -> str:
        """The file name that a program's first line says, in a comment; empty for any other block."""
        found = re.match(r"# ([\w-]+\.py)\b", self.text)
        return found[1] if found and self.language == "python" else ""


def text_of(page: str) -> str:
    return (ROOT / page).read_text("utf-8")


def blocks_of(page: str) -> list[Block]:
    text = text_of(page)
    return [Block(one[1], one[2], text.count("\n", 0, one.start()) + 1) for one in _BLOCK.finditer(text)]


def program(page: str, name: str) -> str:
    """Return the program of this file name on a page."""
    (found,) = (block.text for block in blocks_of(page) if block.program == name)
    return found


def folder_for(page: str, folder: Path) -> Path:
    """Fill the folder that a page's examples run in: as a checkout, but that what they write is written here."""
    for name in ("fixtures", "schemas"):
        (folder / name).symlink_to(ROOT / name)
    for block in blocks_of(page):
        if block.program:
            (folder / block.program).write_text(block.text, "utf-8")
    return folder
