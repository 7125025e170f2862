"""Applies the answers of live brokers to groups, by the handlers of captured responses."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...protocol import Frame, Source
from .captured_groups import CapturedGroups
from .responses import HANDLERS


class _Answer(NamedTuple):
    """What handlers read of a response or a request: the message, and a frame without bytes or a time."""

    message: Any
    frame: Frame = Frame(b"", Source())


def take_answer(groups: CapturedGroups, message: Any, request: Any = None) -> None:
    """Apply an answer.

    Args:
        groups: receives what it says.
        message: the message of the response.
        request: the message of the request, where the response alone does not say what it answers.
    """
    HANDLERS[type(message).__name__](groups, _Answer(message), None if request is None else _Answer(request))
