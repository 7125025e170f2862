"""The quality of the network between clients and a served broker."""

from __future__ import annotations

from typing import NamedTuple


class Network(NamedTuple):
    """The quality of the network between clients and a broker.

    `delay` is the delay of each response in seconds; `bytes_per_second` is the rate of responses (None for no limit).
    If
    it `is_cut`, connections stay open, and nothing arrives.
    """

    delay: float = 0.0
    bytes_per_second: float | None = None
    is_cut: bool = False


GOOD = Network()
