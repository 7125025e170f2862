"""`kwire decode --parquet DIR`: dumps as a table, one row a frame."""

from __future__ import annotations

import argparse

from ..columnar import need_libraries
from ..render.values import count_text
from .inputs import UsageError
from .terminal import remark

# What chooses among frames or says how to read them, and is not for tables: who reads the table chooses.
OTHERS = ("client", "conn", "errors", "since", "until", "named", "body", "log_of", "schemas", "hex", "strict")


def parquet(options: argparse.Namespace) -> int:
    """Write the table. Returns 1 if there are frames that could not be decoded."""
    given = [name for name in OTHERS if getattr(options, name, None)]
    if given:
        raise UsageError(f"--parquet writes all frames, or those of an --api: it does not go with {', '.join(given)}")
    if not options.files or "-" in options.files:
        raise UsageError("--parquet reads files: name them")
    apis = options.api or []
    if any(":" in api for api in apis):
        raise UsageError("--parquet takes an api of all versions: leave out :VERSION, the table has a column for it")
    need_libraries()
    from ..arrow.parquet import write

    body = "struct" if len(apis) == 1 else "json"  # a struct has the fields of one api
    more = {"profile": options.profile} if options.profile else {}
    folders = {"recursive_file_lookup": "true"} if getattr(options, "recursive", False) else {}
    written = write(options.files, options.parquet, apis=",".join(apis), body=body, **more, **folders)
    bad = f", {written.corrupt:,} not decoded" if written.corrupt else ""
    remark(f"{count_text(written.frames, 'frame')}{bad} in {written.file}; secrets are in it as they were sent")
    return 1 if written.corrupt else 0
