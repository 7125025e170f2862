"""The assignor of replicas, its mode and its seed, as the options of `kwire place` name them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from random import SystemRandom

from ...cluster import Broker, RackAwareMode
from ..terminal.remarks import remark

EVEN = "even"


def assignor_name(options: argparse.Namespace, brokers: Sequence[Broker]) -> str:
    """Return the assignor that the options name, or else the one that suits the brokers' racks."""
    if options.mode == "disabled" and options.assignor != EVEN:
        return "simple"
    paths = brokers and all(broker.rack and broker.rack.startswith("/") for broker in brokers)
    flat = "rack-aware-safe" if options.mode == "safe" else "rack-aware"
    return str(options.assignor or ("multi-level" if paths else flat))


def mode_of(options: argparse.Namespace) -> RackAwareMode:
    """Return the mode that --mode names."""
    return RackAwareMode[options.mode.upper()]


def placement_seed(options: argparse.Namespace) -> int:
    """Return the seed. If none is given, one is drawn, stored in the options and printed, to repeat the placement."""
    if options.seed is None:
        options.seed = SystemRandom().randrange(2**31)
        if options.json or options.generate or (options.rf is not None and options.partitions is None):
            remark(f"placed with --seed {options.seed}")
    return int(options.seed)
