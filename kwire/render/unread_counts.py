"""The numbers of frames that did not decode, of gaps and of other streams, as text."""

from __future__ import annotations

from collections.abc import Mapping

# code -> its name, singular and plural
WORDS = {
    "CUT_SHORT": ("frame cut short", "frames cut short"),
    "GAP": ("gap", "gaps"),
    "BEGUN_BEFORE": ("stream begun before the capture", "streams begun before the capture"),
    "FRAGMENT": ("fragment of frames", "fragments of frames"),
    "REQUEST_NOT_CAPTURED": ("response whose request was not captured", "responses whose requests were not captured"),
    "LOST_PACKETS": ("kind of packets that cannot be read", "kinds of packets that cannot be read"),
    "SASL_TOKEN": ("SASL token", "SASL tokens"),
    "NOT_KAFKA": ("stream of another protocol", "streams of other protocols"),
    "DAMAGED": ("damaged place", "damaged places"),
    "ODD_LINE": ("line of a log that cannot be read", "lines of a log that cannot be read"),
    "BODY_NOT_LOGGED": ("message whose body is not in the log", "messages whose bodies are not in the log"),
    "NO_FRAME": ("piece without frames", "pieces without frames"),
}
OTHERS = "frame that did not decode", "frames that did not decode"


def unread_text(counts: Mapping[str, int]) -> str:
    """Return the numbers of undecodable frames and of gaps as text; an empty string if there are none.

    Args:
        counts: the number of frames by code of `DecodeError`.

    >>> unread_text({"GAP": 2, "UNSUPPORTED_API": 1, "BAD_FIELD": 3})
    '4 frames that did not decode, 2 gaps'
    """
    others = sum(count for code, count in counts.items() if code not in WORDS)
    known = [(WORDS[code], counts[code]) for code in WORDS if counts.get(code)]
    named = [(OTHERS, others)] if others else []
    return ", ".join(f"{count} {words[count != 1]}" for words, count in named + known)
