"""Statistics of frames: counts by client, api and version, versions that a release does not support, `kwire report`.

Frames and headers are counted; bodies are decoded only if a column needs them.
"""

from .traffic import (
    COLUMNS,
    NOTHING,
    REASONS,
    Answered,
    Count,
    Counted,
    Latencies,
    Row,
    Traffic,
    UnansweredRequest,
    UnansweredRequests,
    Unspoken,
    percentile,
    unspoken,
)

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
