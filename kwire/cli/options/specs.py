"""--profile and --schemas: which specs are used."""

from __future__ import annotations

import argparse

from ...schema.catalog import Catalog, catalog_for
from .usage_error import UsageError


def catalog_of(options: argparse.Namespace) -> Catalog:
    """Return the specs that --schemas and --profile name; a folder is read once per run."""
    if options.schemas and options.profile:
        raise UsageError("--schemas and --profile cannot be combined")
    if "catalog" not in options:
        options.catalog = Catalog.from_directory(options.schemas) if options.schemas else catalog_for(options.profile)
    catalog: Catalog = options.catalog
    return catalog


def add_profile(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose specs; few need them, so only `kwire help schemas` tells of them."""
    parser.add_argument("--profile", metavar="KIP", help=argparse.SUPPRESS)
    parser.add_argument("--schemas", metavar="DIR", help=argparse.SUPPRESS)
