"""`kwire pipeline`: converts captures to tables on Spark, on this machine or a cluster."""

from __future__ import annotations

import argparse
import re
import shlex
from pathlib import Path

from ...errors import MissingExtra
from ...render.escaping import json_text
from ..options.usage_error import UsageError
from ..terminal.remarks import remark

EXAMPLES = """\
  kwire pipeline captures/ --out lake             on all cores of this machine
  kwire pipeline 'a/*.pcap' --out lake --plots    with a drawing of each cluster
  kwire pipeline /data --out s3a://lake/kafka --master spark://host:7077
  kwire pipeline /data --out lake --format delta  for Delta Lake, or iceberg
  kwire pipeline --zip kwire.zip                  for spark-submit

The table lake/frames has one row per frame, by date and cluster. Other tables:
partition_states, brokers, offline_replicas (KIP-112), rack_violations (KIP-36,
KIP-879), isr_shrinks, reassignments, metrics (KIP-112), conflicts, sources.
The captures of a folder belong to one cluster, unless --cluster names it.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("files", nargs="*", metavar="FILE", help="captures, folders of captures, or globs")
    parser.add_argument("--out", metavar="DIR", help="output folder")
    parser.add_argument(
        "--master", metavar="URL", help="the Spark master: local[2], spark://host:7077, yarn, sc://host:15002"
    )
    bodies = ("json", "raw", "none")
    parser.add_argument("--body", choices=bodies, default="json", help="content of the column message; default: json")
    parser.add_argument(
        "--cluster", metavar="REGEX", help="its first group, matched on a file's path, is the cluster's name"
    )
    parser.add_argument("--plots", action="store_true", help="draw the history of each cluster to DIR/plots")
    parser.add_argument("--overwrite", action="store_true", help="replace the tables in DIR; else captures are added")
    parser.add_argument(
        "--format",
        choices=("parquet", "delta", "iceberg"),
        default="parquet",
        help="of the tables; default: parquet. Delta Lake and Iceberg need a Spark for which they have a runtime",
    )
    parser.add_argument(
        "--option", action="append", metavar="NAME=VALUE", help="a data source option, such as maxPartitionBytes=64m"
    )
    parser.add_argument("--conf", action="append", metavar="NAME=VALUE", help="a Spark setting")
    parser.add_argument("--json", action="store_true", help="the counts as one JSON object")
    parser.add_argument("--zip", metavar="FILE", help="write kwire as a zip for spark-submit, and its script")


def run(options: argparse.Namespace) -> int:
    """Run the job, or write the zip. Returns 1 if there are frames that could not be decoded; bytes of other protocols
    do not count.
    """
    if options.zip is not None:
        return _zip(Path(options.zip))
    if not options.files or options.out is None:
        raise UsageError("name captures and a folder: kwire pipeline CAPTURES... --out DIR")
    if options.cluster is not None:
        _check(options.cluster)
    given = {"body": options.body, **_pairs(options.option, "--option")}
    settings = _pairs(options.conf, "--conf")
    try:
        from ...spark import pipeline, session, worker_engines
        from ...spark.history_plots import need_matplotlib
        from ...spark.lakes.table_formats import format_settings
    except ModuleNotFoundError as error:
        raise MissingExtra("kwire pipeline", (error.name or "pyspark").partition(".")[0], "spark") from None
    if options.plots:
        need_matplotlib()
    settings = {**format_settings(options.format, options.out), **settings}
    with session.session(options.master, settings) as spark:
        counts = pipeline.run(
            spark,
            options.files,
            options.out,
            options=given,
            clusters=options.cluster,
            overwrite=options.overwrite,
            plots=options.plots,
            table_format=options.format,
        )
        slow = worker_engines.engine_notices(spark)
    for notice in (*counts.notices, *slow):
        remark(notice)
    _print(counts._asdict(), options.json)
    return 1 if counts.corrupt else 0


def _check(pattern: str) -> None:
    try:
        groups = re.compile(pattern).groups
    except re.error as error:
        raise UsageError(f"--cluster {pattern}: {error}") from None
    if not groups:
        raise UsageError(f"--cluster {pattern}: it needs a group in parentheses, which names the cluster")


def _pairs(given: list[str] | None, option: str) -> dict[str, str]:
    pairs = {}
    for pair in given or ():
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise UsageError(f"{option} {pair}: it is NAME=VALUE")
        pairs[name] = value
    return pairs


def _print(counts: dict[str, object], as_json: bool) -> None:
    rows = counts.pop("rows")
    plots = counts.pop("plots")
    notices = counts.pop("notices")
    assert isinstance(rows, dict)
    assert isinstance(plots, tuple)
    if as_json:
        print(json_text({**counts, "tables": rows, "plots": plots, "notices": notices}))
        return
    for name, count in {**counts, **rows}.items():
        print(f"{name:<17} {count:>15,}")
    for file in plots:
        print(file)


def _zip(file: Path) -> int:
    from ...spark.package_zip import NEEDED, write_zip

    script = write_zip(file)
    print(f"spark-submit --py-files {shlex.quote(str(file))} {shlex.quote(str(script))} CAPTURES... --out DIR")
    remark(f"on the cluster these have to be installed: {', '.join(NEEDED)}")
    return 0
