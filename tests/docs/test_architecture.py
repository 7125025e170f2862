"""The architecture page has every layer and every package, and names modules that exist."""

from __future__ import annotations

import re
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from kwire.runtime import loggers
from tests.cases import case_by_case
from tests.conftest import ROOT
from tests.docs.layers import MARKED, PAGE, picture
from tests.docs.pages import PAGES, text_of

PACKAGE = ROOT / "kwire"
# Extras, and what only an installed kwire has.
OPTIONAL = ("kwire.spark", "kwire.arrow")
LOGGERS = {logger.name for logger in (loggers.BROKER, loggers.CLIENT, loggers.PROXY)}


def test_the_picture_is_that_of_the_contract() -> None:
    found = MARKED.search(PAGE.read_text("utf-8"))
    assert found
    assert found[2] == picture(), "python -m tests.docs.layers draws it anew"


def test_every_package_is_on_the_page_and_the_page_has_no_other() -> None:
    files = [f"kwire/{path.name}" for path in PACKAGE.glob("*.py") if path.name != "__init__.py"]
    packages = [f"kwire/{path.parent.name}/" for path in PACKAGE.glob("*/__init__.py")]
    listed = re.findall(r"^\| `(kwire/[\w/.]+)` \|", PAGE.read_text("utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(files + packages)


@case_by_case("page", PAGES)
def test_the_paths_that_a_page_names_exist(page: str) -> None:
    roots = "kwire|tests|schemas|fixtures|benchmarks|docs"
    for path in re.findall(rf"`((?:{roots})/[\w./-]*)`", text_of(page)):
        assert (ROOT / path).exists(), path


@case_by_case("page", PAGES)
def test_the_names_that_a_page_names_exist(page: str) -> None:
    for name in re.findall(r"(?:`|^::: )(kwire(?:\.\w+)+)(?:\([^`]*\))?(?:`|$)", text_of(page), re.MULTILINE):
        if not name.startswith(OPTIONAL) and name not in LOGGERS:
            assert found(name) is not None, name


def found(name: str) -> Any:
    """Return a module, or what a dotted name means; AttributeError if there is no such thing."""
    parts = name.split(".")
    place = max(n for n in range(1, len(parts) + 1) if is_module(".".join(parts[:n])))
    thing: Any = import_module(".".join(parts[:place]))
    for part in parts[place:]:
        thing = getattr(thing, part)
    return thing


def is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except (ImportError, AttributeError):
        return False
