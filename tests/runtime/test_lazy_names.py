"""A package has the names that its stub imports, also in a zip; each loads its module on first use."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

import kwire
from kwire.runtime.lazy_names import parse_stub

INIT = """
from kwire.runtime.lazy_names import attach_stub

__getattr__, __dir__ = attach_stub(__name__, subpackages=("extra",))
"""
STUB = """
from . import colours as colours
from .shapes import Circle as Circle

__version__: str
"""
FILES = {
    "drawing/__init__.py": INIT,
    "drawing/__init__.pyi": STUB,
    "drawing/colours.py": "RED = 1",
    "drawing/extra/__init__.py": "",
    "drawing/shapes.py": "class Circle: pass",
}
PROGRAM = """
import sys, drawing
before = sorted(name for name in sys.modules if name.startswith("drawing."))
print(before, drawing.__all__, [name for name in dir(drawing) if not name.startswith("__")])
print(drawing.colours.RED, drawing.Circle.__module__, drawing.extra.__name__)
from drawing import *
print(Circle is drawing.Circle, "extra" in globals())
"""


def run_with(path: Path, program: str) -> str:
    code = f"import sys; sys.path.insert(0, {str(path)!r})\n{program}"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("is_zip", [False, True])
def test_a_package_has_the_names_of_its_stub(tmp_path: Path, is_zip: bool) -> None:
    path = tmp_path / "drawing.zip" if is_zip else tmp_path
    if is_zip:
        with ZipFile(path, "w") as archive:
            for name, text in FILES.items():
                archive.writestr(name, text)
    else:
        (tmp_path / "drawing/extra").mkdir(parents=True)
        for name, text in FILES.items():
            (tmp_path / name).write_text(text)
    assert run_with(path, PROGRAM).splitlines() == [
        "[] ['Circle', 'colours'] ['Circle', 'colours']",
        "1 drawing.shapes drawing.extra",
        "True False",
    ]


def test_other_lines_of_a_stub_name_nothing() -> None:
    assert parse_stub("import sys\n\n__version__: str\n# from . import a as a\n") == {}


def test_an_unknown_name_is_refused_as_of_any_module() -> None:
    with pytest.raises(AttributeError, match=r"^module 'kwire' has no attribute 'nonsense'$"):
        kwire.nonsense  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'nonsense'"):
        exec("from kwire import nonsense")  # noqa: S102


def test_threads_find_the_same_names() -> None:
    program = (
        "import kwire, concurrent.futures as futures\n"
        "with futures.ThreadPoolExecutor(8) as pool:\n"
        "    print(len(set(pool.map(lambda _: id(kwire.codec), range(64)))))\n"
    )
    assert run_with(Path(kwire.__file__).parents[1], program) == "1\n"


def test_what_a_lazy_name_means_pickles() -> None:
    assert pickle.loads(pickle.dumps(kwire.RecordBatch)) is kwire.RecordBatch
    assert pickle.loads(pickle.dumps(kwire.codec)) is kwire.codec
