"""Runs a target under atheris, as OSS-Fuzz does; atheris is imported here alone, so that tests need not have it."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable
from itertools import islice
from types import FunctionType

FEW = 50  # seeds that load what kwire imports on first use


def run(target: Callable[[bytes], None], seeds: Iterable[bytes]) -> None:
    """Fuzz a target with libFuzzer's options from the command line; the branches of kwire's functions guide it.

    Args:
        target: the function.
        seeds: cases that it accepts.
    """
    import atheris  # type: ignore[import-untyped,import-not-found,unused-ignore]

    for seed in islice(seeds, FEW):
        target(seed)
    for function in gc.get_objects():
        if isinstance(function, FunctionType) and (function.__module__ or "").startswith("kwire."):
            atheris.instrument_func(function)
    atheris.Setup(sys.argv, target)
    atheris.Fuzz()
