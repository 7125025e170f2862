"""`kwire apis`: lists apis, their keys and versions, and the releases that added and removed them."""

from __future__ import annotations

import argparse

from ...render.table import TableColumn, TableView
from ...schema.catalog import catalog_for
from ...schema.releases import ReleasedApi, first_release, removed_in
from ..options.api_names import found_apis
from ..options.releases import named_release
from ..output.table_forms import add_table_forms, print_for_program

EXAMPLES = """\
  kwire apis fetch
  kwire apis --release 2.8
"""


ApiVersions = tuple[ReleasedApi, object]  # an api, and its versions
COLUMNS: list[TableColumn[ApiVersions]] = [
    TableColumn("key", lambda row: row[0].key, right=True),
    TableColumn("api", lambda row: row[0].name, text="{:<37}".format),
    TableColumn("versions", lambda row: str(row[1]), text="{:<8}".format),
    TableColumn("since", lambda row: first_release(row[0].key), text="{:<9}".format),
    TableColumn("removedIn", lambda row: removed_in(row[0].key), "removed in", nothing=""),
]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("names", nargs="*", metavar="API", help="a key, a name, or a part of one; default: all")
    parser.add_argument("--release", help="the versions that this Kafka release supports")
    add_table_forms(parser)


def run(options: argparse.Namespace) -> int:
    """Print the table of apis: key, name, versions, first and last release; for a single api, every change."""
    apis = found_apis(options.names)
    release = named_release(options.release) if options.release else None
    rows = [(api, release.versions(api.key) if release else _all_versions(api)) for api in apis]
    titles = ["key", "api", "versions", "since", "removed in"]
    table = TableView(COLUMNS, [row for row in rows if row[1] or options.names], titles)
    if print_for_program(table, options):
        return 0
    print("\n".join(table.lines()))
    if len(apis) == len(options.names) == 1 and apis[0].is_named(options.names[0]) and not release:
        for name, versions in apis[0].changes.items():
            print(f"     from {name:<10} {versions}")
    return 0


def _all_versions(api: ReleasedApi) -> str:
    spec = catalog_for().find(api.key, "request")
    return str(spec.versions) if spec else "none"
