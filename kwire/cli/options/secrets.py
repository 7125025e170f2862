"""--show-secrets: whether secrets are masked."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from ...protocol import Result


def masker(options: argparse.Namespace) -> Callable[[Result], Result]:
    """Return the function that masks the secrets of a result; with --show-secrets it changes nothing."""
    from ...redact.masking import mask

    return leave_unmasked if getattr(options, "show_secrets", False) else mask


def leave_unmasked(result: Result) -> Result:
    """Return a result as it is."""
    return result


def add_secrets(parser: argparse.ArgumentParser) -> None:
    """Add --show-secrets."""
    parser.add_argument("--show-secrets", action="store_true", help="also print passwords, proofs, keys and tokens")
