"""What properties of a frame need besides the frame: names of topic ids, and the groups of requests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from ..codecs.field_search import FieldLocation, find_values, plan_fields
from ..codecs.message_codec import Codec
from ..codecs.wire import String
from ..protocol import Request, Response, Result
from ..protocol.message_summary import MessageSummary

MOST_REQUESTS = 1 << 16  # newest requests whose groups are remembered for their responses
GROUP_FIELDS = frozenset(("group_id", "group_ids", "groups_names", "groups"))
_GROUP_KEY = 0  # FindCoordinatorRequest.keyType (KIP-98): 0 group, 1 transaction, 2 share


class GroupsOfRequests:
    """The groups that messages name; a response has those of its request as well (Heartbeat, JoinGroup)."""

    def __init__(self) -> None:
        self._groups: dict[object, tuple[str, ...]] = {}

    def note(self, request: object, groups: tuple[str, ...]) -> None:
        """Remember the groups of a request, identified by its connection and frame."""
        if not groups:
            return
        self._groups[request] = groups
        if len(self._groups) > MOST_REQUESTS:
            del self._groups[next(iter(self._groups))]

    def of_request(self, request: object) -> tuple[str, ...]:
        """Return the groups of a request that `note` received."""
        return self._groups.get(request, ())

    def of(self, result: Result) -> tuple[str, ...]:
        """Return the groups of a frame; called with a request, remembers them for its response."""
        if not isinstance(result, Request | Response):
            return ()
        groups = message_groups(result.codec, result.message)
        inside = result.inside
        if isinstance(inside, Request | Response):
            groups += message_groups(inside.codec, inside.message)
        source = result.frame.source
        if isinstance(result, Request):
            if source.frame is not None:
                self.note((source.file, source.frame), groups)
        elif result.request_frame is not None:
            groups = self.of_request((source.file, result.request_frame)) + groups
        return tuple(dict.fromkeys(groups))


class FrameContext:
    """Names of topics, and groups of requests, of one input.

    Args:
        summary: knows topics and error codes.
    """

    def __init__(self, summary: MessageSummary | None = None) -> None:
        self.summary: MessageSummary = summary or MessageSummary()
        self.groups: GroupsOfRequests = GroupsOfRequests()

    def topics(self, result: Result) -> Iterable[str]:
        """Return the topics of a frame; one with an unknown id is `?` and the start of the id."""
        return [topic for codec, message in _messages(result) for topic in self.summary.facts(codec, message).topics]

    def errors(self, result: Result) -> Iterable[str]:
        """Return the names of the error codes of a frame, without NONE."""
        codes = [
            str(code) for codec, message in _messages(result) for code in self.summary.facts(codec, message).errors
        ]
        return dict.fromkeys(codes)


def _messages(result: Result) -> Iterator[tuple[Codec, Any]]:
    """Yield the message of a frame, and the one inside an envelope."""
    if isinstance(result, Request | Response):
        yield result.codec, result.message
        if isinstance(result.inside, Request | Response):
            yield from _messages(result.inside)


def message_groups(codec: Codec, message: Any) -> tuple[str, ...]:
    """Return the groups that a message names.

    >>> import kwire
    >>> message_groups(kwire.codec("HeartbeatRequest", 4), kwire.messages.HeartbeatRequest(group_id="billing"))
    ('billing',)
    """
    if codec.name == "FindCoordinatorRequest":
        is_group = getattr(message, "key_type", _GROUP_KEY) == _GROUP_KEY
        return tuple(filter(None, (message.key, *message.coordinator_keys))) if is_group else ()
    groups: list[str] = []
    for step, _, value in find_values(plan_fields(codec, _is_group), message):
        groups += value if step.is_array else (value,)
    return tuple(group for group in groups if isinstance(group, str))


@lru_cache(maxsize=1024)
def names_groups(codec: Codec) -> bool:
    """Whether messages of a codec have fields with groups."""
    return codec.name == "FindCoordinatorRequest" or bool(plan_fields(codec, _is_group))


def _is_group(location: FieldLocation) -> bool | None:
    return (isinstance(location.node, String) and location.name in GROUP_FIELDS) or None
