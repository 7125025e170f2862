"""--release: finds the Kafka release that is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..terminal.remarks import remark

if TYPE_CHECKING:
    from ...schema.releases import Release


def named_release(text: str) -> Release:
    """Find the release that --release names; if the text is ambiguous (`1`), print the chosen release to stderr.

    Raises UnknownMessage if there is none.
    """
    from ...schema.releases import release, releases

    known_release = release(text)
    if sum(name.startswith(f"{text}.") for name in releases().names) > 1:
        remark(f"release {text}: the newest that is known, {known_release.name}")
    return known_release
