"""The dissector for Wireshark as one Lua script: the interpreter beside this file, with the tables of a catalog."""

from __future__ import annotations

from pathlib import Path

from ...schema.catalog import Catalog
from .layout_tables import LayoutTables

TABLES = "--@TABLES@--\n"


def dissector_source(catalog: Catalog) -> str:
    """Return the Lua script.

    Args:
        catalog: the specs whose layouts it has.
    """
    script = Path(__file__).with_name("dissector.lua").read_text(encoding="utf-8")
    return script.replace(TABLES, LayoutTables(catalog).text())
