"""`kwire apis`: lists apis, their keys and versions, and the releases that added and removed them."""

from __future__ import annotations

import argparse

from ...schema.catalog import catalog_for
from ...schema.releases import ReleasedApi, first_release, removed_in
from ..options.api_names import found_apis
from ..options.releases import named_release

EXAMPLES = """\
  kwire apis fetch
  kwire apis --release 2.8
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("names", nargs="*", metavar="API", help="a key, a name, or a part of one; default: all")
    parser.add_argument("--release", help="the versions that this Kafka release supports")


def run(options: argparse.Namespace) -> int:
    """Print the table of apis: key, name, versions, first and last release; for a single api, every change."""
    found, spoken = found_apis(options.names), named_release(options.release) if options.release else None
    print(f"{'key':>3}  {'api':<39}{'versions':<10}{'since':<11}removed in")
    for api in found:
        versions = spoken.versions(api.key) if spoken else _all_versions(api)
        if versions or options.names:
            until = removed_in(api.key) or ""
            print(f"{api.key:>3}  {api.name:<39}{versions!s:<10}{first_release(api.key):<11}{until}".rstrip())
    if len(found) == len(options.names) == 1 and found[0].is_named(options.names[0]) and not spoken:
        for name, versions in found[0].changes.items():
            print(f"     from {name:<10} {versions}")
    return 0


def _all_versions(api: ReleasedApi) -> str:
    spec = catalog_for().find(api.key, "request")
    return str(spec.versions) if spec else "none"
