"""`kwire decode --parquet`: a table with a row for each frame."""

from __future__ import annotations

import argparse
from typing import Any

from ...codecs.columns.read_columns import need_libraries
from ...render.value_text import count_text
from ..options.usage_error import UsageError
from ..terminal.remarks import remark

# Options that choose frames or how to read them. They do not apply to Parquet, whose readers select rows themselves.
OTHERS = ("client", "conn", "errors", "since", "until", "named", "body", "log_of", "schemas", "hex", "strict")


def parquet(options: argparse.Namespace) -> int:
    """Write the table. Returns 1 if there are frames that could not be decoded."""
    given = [name for name in OTHERS if getattr(options, name, None)]
    if given:
        raise UsageError(
            f"--parquet writes all frames, or those of an --api: it cannot be combined with {', '.join(given)}"
        )
    if not options.files or "-" in options.files:
        raise UsageError("--parquet reads files: name them")
    apis = options.api or []
    if any(":" in api for api in apis):
        raise UsageError("--parquet takes an api of all versions: leave out :VERSION, the table has a column for it")
    need_libraries()
    from ...arrow import write_parquet

    body = "struct" if len(apis) == 1 else "json"  # a struct has the fields of one api
    more = {"profile": options.profile} if options.profile else {}
    folders = {"recursive_file_lookup": "true"} if getattr(options, "recursive", False) else {}
    written = write_parquet(
        options.files,
        options.parquet,
        threads=options.jobs,
        apis=",".join(apis),
        body=body,
        mask_secrets=not options.show_secrets,
        **more,
        **folders,
    )
    bad = f", {written.corrupt:,} not decoded" if written.corrupt else ""
    secrets = "; secrets in it are not masked" if options.show_secrets else ""
    remark(f"{count_text(written.frames, 'frame')}{bad} in {written.file}{secrets}")
    return 1 if _write_records(options, folders) + written.corrupt else 0


def _write_records(options: argparse.Namespace, more: dict[str, Any]) -> int:
    """Write the records by schema beside the frames if --registry is given; return how many were not read."""
    if options.registry is None:
        return 0
    from ...arrow import write_records

    apis = ",".join(options.api or [])
    written = write_records(options.files, options.parquet, registry=options.registry, apis=apis, **more)
    bad = f", {written.corrupt:,} not read" if written.corrupt else ""
    remark(f"{count_text(written.frames, 'record')}{bad} in {written.file}")
    return written.corrupt
