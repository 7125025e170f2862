"""Options that take words separated by commas, and may be given several times."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any


class JoinWords(argparse.Action):
    """Adds the words of an option to those that it was given before; argparse would forget the earlier ones.

    >>> parser = argparse.ArgumentParser()
    >>> action = parser.add_argument("--remove", action=JoinWords)
    >>> parser.parse_args(["--remove", "3,4", "--remove", "5"]).remove
    '3,4,5'
    """

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        """Keep the words."""
        earlier = getattr(namespace, self.dest)
        setattr(namespace, self.dest, str(values) if earlier is None else f"{earlier},{values}")
