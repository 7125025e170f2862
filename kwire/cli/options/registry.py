"""--registry: the schemas by which keys and values of records are decoded."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..terminal.remarks import remark

if TYPE_CHECKING:
    from ...serdes import RecordDeserializer


def add_registry(parser: argparse._ActionsContainer) -> None:
    """Add --registry."""
    about = "decode keys and values: the URL of a schema registry, or a folder of schemas"
    parser.add_argument("--registry", metavar="URL|DIR", help=about)


def deserializer_of(options: argparse.Namespace) -> RecordDeserializer | None:
    """Return what decodes keys and values by the schemas that --registry names, one per run; None without it.

    Raises:
        CallError, DumpError: it is neither the URL of a registry nor a folder of schemas.
    """
    if getattr(options, "registry", None) is None:
        return None
    if "deserializer" not in options:
        from ...client.registry.schema_registry import open_schemas
        from ...serdes import RecordDeserializer

        options.deserializer = RecordDeserializer(open_schemas(options.registry))
    deserializer: RecordDeserializer = options.deserializer
    return deserializer


def count_undecoded(options: argparse.Namespace) -> int:
    """Return how many keys and values were not decoded by their schemas; a remark says why."""
    values = deserializer_of(options)
    if values is None:
        return 0
    counts = dict(values.counts)
    decoded = counts.pop("decoded", 0)
    remark(f"by schema: {decoded} keys and values decoded, {sum(counts.values())} not decoded")
    for code, count in sorted(counts.items()):
        remark(f"{count} {code}, first {values.first_problems[code]}")
    return sum(counts.values())
