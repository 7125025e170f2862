"""The names of topic ids in JSON lines.

Since KIP-516 clients name topics by ids only. `payload` stays as Kafka's converters write it, and converts back to the
same bytes: the names stand beside it.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from typing import Any

from ...protocol import Request, Response, Result
from ...protocol.message_summary import MessageSummary
from ..escaping import compact_json


def named_ids(result: Result, summary: MessageSummary) -> dict[bytes, str]:
    """Return the names of the topic ids that a frame, or the frame inside it, contains without a name."""
    if not isinstance(result, Request | Response):
        return {}
    named = summary.named_ids(result.codec, result.message)
    inside = result.inside
    return named if inside is None or not isinstance(inside, Request | Response) else named | named_ids(inside, summary)


def names_json(named: dict[bytes, str]) -> dict[str, Any]:
    """Return the member `names` of a frame; an empty dict if it has none.

    >>> names_json({bytes(15) + b"\\1": "__cluster_metadata"})
    {'names': {'topics': {'AAAAAAAAAAAAAAAAAAAAAQ': '__cluster_metadata'}}}
    """
    topics = {urlsafe_b64encode(topic_id).decode().rstrip("="): name for topic_id, name in named.items()}
    return {"names": {"topics": topics}} if topics else {}


def names_text(named: dict[bytes, str]) -> str:
    """Return the member `names` as text that continues an object; an empty string if it has none."""
    return "," + compact_json(names_json(named))[1:-1] if named else ""
