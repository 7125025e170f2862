"""The message reference: a page for each message, and links that lead somewhere."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import PurePosixPath

import pytest

from kwire.schema.catalog import catalog_for
from kwire.schema.enums import kinds
from tests.conftest import ROOT


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    sys.path.insert(0, str(ROOT / "docs" / "site"))
    try:
        return dict(import_module("message_pages").message_pages())
    finally:
        del sys.path[0]


def test_each_message_has_a_page(pages: dict[str, str]) -> None:
    names = catalog_for().names()
    assert set(pages) == {
        "reference/messages.md",
        "reference/messages/values.md",
        *(f"reference/messages/{name}.md" for name in names),
    }
    for name in names:
        page = pages[f"reference/messages/{name}.md"]
        assert page.startswith(f"# {name}\n")
        assert f"[{name}](messages/{name}.md)" in pages["reference/messages.md"]


def test_links_between_the_pages_lead_somewhere(pages: dict[str, str]) -> None:
    anchors = {name.lower() for name in kinds()}
    assert [name for name in kinds() if f"\n## {name}\n" not in pages["reference/messages/values.md"]] == []
    for path, page in pages.items():
        for target, anchor in re.findall(r"\]\(([\w/]+\.md)(?:#(\w+))?\)", page):
            assert str(PurePosixPath(path).parent / target) in pages, (path, target)
            assert not anchor or anchor in anchors, (path, anchor)


def test_what_a_page_says(pages: dict[str, str]) -> None:
    page = pages["reference/messages/JoinGroupRequest.md"]
    assert "| 5 | since 2.3 | adds `group_instance_id: nullable string` |" in page
    assert "| 6 | since 2.4 | flexible: compact lengths, tagged fields (KIP-482) |" in page
    assert "| `reason` | string<br>null in 8+<br>default `null` | 8+ | Why the member joins" in page
    assert "| &emsp;`metadata` | bytes | 0+ | " in page
    assert "    metadata => COMPACT_BYTES" in page
    assert re.search(r'href="[^"]+browser.html#hex=[0-9a-f]+&amp;as=JoinGroupRequest:9&amp;body=1"', page)
    assert "(values.md#errorcode)" in pages["reference/messages/JoinGroupResponse.md"]
    assert "| 4 | 1.0 to 3.9 |" in pages["reference/messages/UpdateMetadataRequest.md"]
