"""README.md as a registry shows it: a metadata hook of hatchling, which makes links absolute.

`KWIRE_HOME` is the address of the repository, such as `https://example.org/kwire`; the release workflow sets it. Links
then lead to the files of the release there, and the metadata has the addresses of the project. Without it, nobody knows
where the files are: links become plain text, because a registry would resolve them to pages of its own.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

GUIDE = {"Kafka protocol guide": "https://kafka.apache.org/protocol.html"}
ADDRESS = "ADDRESS"  # what stands for the repository in the README's line for git clone
_LINK = re.compile(r"\[([^\]\n]+)\]\((?!\w+:|#)([^)\s]+)\)")
_PICTURE = re.compile(r"!\[([^\]\n]*)\]\((?!\w+:)([^)\s]+)\)\n?")
_FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


class RegistryReadmeHook(MetadataHookInterface):
    """Sets `readme` and `urls`."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Add what depends on the address of the repository."""
        home = os.environ.get("KWIRE_HOME", "").rstrip("/")
        files = f"{home}/blob/v{metadata['version']}" if home else ""
        text = Path(self.root, "README.md").read_text("utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": with_absolute_links(text, home, files)}
        own = {"Source": home, "Changelog": f"{files}/CHANGELOG.md", "Issues": f"{home}/issues"} if home else {}
        metadata["urls"] = {**own, **GUIDE}


def with_absolute_links(text: str, home: str, files: str) -> str:
    """Return Markdown whose links lead to files of the repository wherever it is shown.

    Args:
        text: the Markdown; code blocks stay as they are.
        home: the address of the repository; empty if it has none.
        files: the address of its folder of files.

    >>> with_absolute_links("See [limits](docs/limits.md#tls).", "https://a.example", "https://a.example/blob/v1")
    'See [limits](https://a.example/blob/v1/docs/limits.md#tls).'
    >>> with_absolute_links("See [limits](docs/limits.md#tls).", "", "")
    'See limits.'

    A picture's link leads to the picture itself, not to the page about it; without an address there is no picture:

    >>> with_absolute_links("![A report](docs/report.svg)", "https://a.example", "https://a.example/blob/v1")
    '![A report](https://a.example/blob/v1/docs/report.svg?raw=true)'
    >>> with_absolute_links("![A report](docs/report.svg)", "", "")
    ''
    """
    parts = _FENCED.split(text)
    for index in range(0, len(parts), 2):
        parts[index] = _PICTURE.sub(rf"![\1]({files}/\2?raw=true)" if files else "", parts[index])
        parts[index] = _LINK.sub(rf"[\1]({files}/\2)" if files else r"\1", parts[index])
    joined = "".join(parts)
    return joined.replace(f"git clone {ADDRESS}", f"git clone {home}") if home else joined
