"""The options and paths that Spark passes to a data source, without those that it adds for tables."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..arrow.read_options import BadOption, Options

PATHS = "path", "paths"  # Spark passes a single path in the first option, several paths as JSON in the second
# For a table created with CREATE TABLE, Spark passes these too, and each option a second time.
OF_TABLE = "provider"
OF_TABLES = OF_TABLE, "collation", "comment", "external", "is_managed_location", "location", "owner"
SECOND = "option."


def options_of(options: Mapping[str, Any]) -> Options:
    """Return the options, without the paths and without options that Spark adds for tables."""
    return Options.parse({name: value for name, value in user_options(options).items() if name not in PATHS})


def user_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options given by the user, without options that Spark adds for tables."""
    return {name: value for name, value in options.items() if name not in OF_TABLES and not name.startswith(SECOND)}


def paths_of(options: Mapping[str, Any]) -> list[str]:
    """Return the paths; raise BadOption if there are none."""
    if "paths" in options:
        return [str(path) for path in json.loads(options["paths"])]
    if "path" not in options:
        hint = "spark.read.format('kwire').load(PATH), or CREATE TABLE ... USING kwire OPTIONS (path 'PATH')"
        raise BadOption("path", None, "there is none", hint)
    return [options["path"]]


def text_of(value: Any) -> str:
    """Return the value of an option as text for Spark."""
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
