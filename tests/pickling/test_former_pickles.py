"""Pickles of earlier commits load, whatever their modules and classes are called now."""

from __future__ import annotations

import copy
import gzip
import io
import json
import pickle
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module
from types import BuiltinMethodType, MethodType
from typing import Any

import pytest

from kwire.cluster.events.event import ReportedState
from kwire.cluster.source_counts import Sources
from kwire.runtime import former_names
from tests.conftest import ROOT
from tests.pickling import pickled_values

PICKLES = ROOT / "tests/data/pickles/b6d4b524.jsonl.gz"
# The modules that these pickles name, without `kwire.`.
MODULES = """
arrow.cluster_tables arrow.frame_rows arrow.growing_files_and_streams arrow.read_options_and_splits
cluster.cluster_model cluster.events cluster.history_tables cluster.metadata_log cluster.multi_level_placement
cluster.offline_replicas cluster.rack_aware_placement cluster.reassignment_plan cluster.state cluster.timeline
cluster.znode_events codecs codecs.column_reader
display_filter errors errors.refused internal.topic_records logs.disk_files logs.segment_reader messages
messages.classes native protocol.framing protocol.header_reader protocol.results protocol.sasl_tokens records.batch
records.record_layouts_and_checksums spark.session spec.catalog spec.model spec.releases testing.backends values
""".split()


class Loader(pickle.Unpickler):
    """Loads a pickle, and notes the modules that it names."""

    modules: set[str]

    def __init__(self, data: bytes) -> None:
        super().__init__(io.BytesIO(data))
        self.modules = set()

    def find_class(self, module: str, name: str) -> Any:
        self.modules.add(module)
        return super().find_class(module, name)


def pickles() -> Iterator[tuple[str, bytes]]:
    with gzip.open(PICKLES) as lines:
        for line in map(json.loads, lines):
            yield line["name"], bytes.fromhex(line["pickle"])


def known_before(value: Any) -> Any:
    """Return a value without what earlier versions did not read: deletions of topics, and epochs of controllers."""
    if isinstance(value, Sources):
        value = copy.copy(value)
        value._newest = -1, None
    return value._replace(is_deleting=None) if isinstance(value, ReportedState) else value


def contents(value: Any, outer: tuple[int, ...] = ()) -> Any:
    """Return what a value is made of in lists that compare, also for values that are only equal to themselves."""
    if id(value) in outer:
        return "a value around it"
    outer = (*outer, id(value))
    if type(value) in (list, tuple):
        return [contents(item, outer) for item in value]
    if type(value) in (set, frozenset):
        return sorted(map(repr, value))
    if type(value) is dict:
        return sorted((repr(key), contents(item, outer)) for key, item in value.items())
    if isinstance(value, MethodType | BuiltinMethodType):
        return [value.__name__, contents(value.__self__, outer)]
    if isinstance(value, type) or type(value).__module__ == "builtins":
        return repr(value)
    reduced = known_before(value).__reduce_ex__(4)
    if isinstance(reduced, str):
        return reduced
    function, arguments, state, items, pairs = (*reduced, None, None, None)[:5]
    return [
        repr(function),
        *(contents(part, outer) for part in (arguments, state, list(items or ()), dict(pairs or ()))),
    ]


def test_pickles_of_earlier_commits_load(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)  # paths are in the values
    made, modules = pickled_values.made(), set[str]()
    names = set()
    for name, data in pickles():
        loader = Loader(data)
        assert contents(loader.load()) == contents(made[name]), name
        modules |= loader.modules
        names.add(name)
    assert len(names) > 180
    assert {module.removeprefix("kwire.") for module in modules if module.startswith("kwire.")} == set(MODULES)


def test_a_former_module_is_found_by_a_program_that_has_not_imported_kwire() -> None:
    name, data = next((name, data) for name, data in pickles() if name == "rack mode")
    program = (
        f"import pickle, sys; value = pickle.loads(bytes.fromhex({data.hex()!r})); import kwire.cluster;"
        "print(value is kwire.cluster.RackAwareMode.ENFORCED)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "True\n", name


def test_importing_kwire_does_not_import_the_table() -> None:
    program = "import sys, kwire, kwire.cluster; print('kwire.runtime.former_names' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_each_line_of_the_table_names_a_module_that_exists() -> None:
    for former, modules in former_names.MODULES.items():
        for module in modules:
            assert import_module(module).__name__ == module != f"kwire.{former}"
    for former in former_names.NAMES:
        module, _, name = former.rpartition(".")
        assert former_names.find_name(f"kwire.{module}", name)


def test_only_former_names_are_found() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'kwire\.nothing'"):
        import_module("kwire.nothing")
    for module in ("kwire.cluster.timeline", "kwire.cluster.events"):
        with pytest.raises(AttributeError, match=f"module '{module}' has no attribute 'Nothing'"):
            import_module(module).Nothing  # noqa: B018


GONE = [former for former in former_names.MODULES if not (ROOT / "kwire" / former.replace(".", "/")).is_dir()]


def test_nothing_else_uses_a_former_name() -> None:
    modules = [f"kwire.{former}" for former in GONE]
    names = defaultdict(set)
    for module in modules:
        parent, _, name = module.rpartition(".")
        names[parent].add(name)
    used = re.compile(r"\bkwire(?:\.\w+)+|from (kwire[.\w]*) import (?=(.*))")
    former = re.compile(rf"(?:{'|'.join(map(re.escape, modules))})\b")
    files = [*ROOT.glob("kwire/**/*.py"), *ROOT.glob("tests/**/*.py"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("*.toml")]
    assert len(files) > 1000
    using = []
    for path in files:
        for match in used.finditer(path.read_text("utf-8")):
            parent, imported = match.groups()
            is_imported = parent is not None and not names[parent].isdisjoint(re.findall(r"\w+", imported))
            if is_imported or former.match(parent or match[0]):
                using.append((path.name, match[0]))
    assert [use for use in using if use[0] not in ("former_names.py", "test_former_pickles.py")] == []
