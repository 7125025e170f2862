"""The room from outside: what it loads, and what it says where libraries are missing."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import kwire
from tests.conftest import ROOT


def test_kwire_is_loaded_without_numpy_and_pyarrow() -> None:
    program = "import sys, kwire; kwire.columns, kwire.codec; print({'numpy', 'pyarrow'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, check=True, text=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize("library", ["numpy", "pyarrow"])
def test_a_missing_library_is_named_with_its_extra(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    calls: list[Any] = [lambda: kwire.columns("MetadataResponse", 1), lambda: kwire.arrow_schema("MetadataResponse")]
    for call in calls:
        with pytest.raises(kwire.MissingExtra, match=rf"columns needs the library {library}; pip install 'kwire\[arr"):
            call()
