"""Statistics of frames: counts by client, api and version, versions that a release does not support, `kwire report`.

Frames and headers are counted; bodies are decoded only if a column needs them.
"""

from .traffic_counter import (
    COLUMNS,
    NOTHING,
    Answered,
    Count,
    Counted,
    Latencies,
    Row,
    Traffic,
    Unspoken,
    percentile,
    unspoken,
)
from .unanswered import REASONS, UnansweredRequest, UnansweredRequests

__all__ = [
    "COLUMNS",
    "NOTHING",
    "REASONS",
    "Answered",
    "Count",
    "Counted",
    "Latencies",
    "Row",
    "Traffic",
    "UnansweredRequest",
    "UnansweredRequests",
    "Unspoken",
    "percentile",
    "unspoken",
]
