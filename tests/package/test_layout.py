"""One subject a file, one name a class, short folders: the layout of kwire."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.conftest import ROOT
from tests.package.source_files import FILES, PACKAGE, nodes_of, parsed

SUBJECT = 60  # lines: connected definitions of at least this size are a subject of their own
# Kafka itself calls several things so: a value of the model here, a part of the served broker there.
KAFKA = {"LogDir", "Member", "Node", "Partition", "Settings"}
# Public names that users have: of Spark and of simulations, of results and of simulations.
PUBLIC = {"Client", "History"}
COMMANDS = PACKAGE / "cli/commands"  # a file per command, however many there are
HANDS_ON = {"__all__", "__dir__", "__getattr__", "__version__"}  # what an __init__.py may define

Definitions = dict[str, ast.stmt]


def definitions(tree: ast.Module) -> Definitions:
    """Return the top-level definitions of a module by name; names that are assigned together have one statement."""
    found: Definitions = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = (name for target in targets for name in ast.walk(target) if isinstance(name, ast.Name))
            found |= {name.id: node for name in names if isinstance(name.ctx, ast.Store)}
    return found


def count_lines(node: ast.stmt) -> int:
    first = min((decorator.lineno for decorator in getattr(node, "decorator_list", ())), default=node.lineno)
    return (node.end_lineno or node.lineno) - int(first) + 1


def subjects(tree: ast.Module) -> list[tuple[int, list[str]]]:
    """Return the connected parts of a module: their lines and names. An edge is where one definition names another."""
    defined = definitions(tree)
    neighbours: dict[str, set[str]] = {name: set() for name in defined}
    for name, node in defined.items():
        used = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)} & defined.keys()
        for other in used:
            neighbours[name].add(other)
            neighbours[other].add(name)
    parts = []
    left = set(defined)
    while left:
        part, border = set[str](), [left.pop()]
        while border:
            name = border.pop()
            part.add(name)
            border += neighbours[name] - part
        left -= part
        nodes = {id(defined[name]): defined[name] for name in part}
        parts.append((sum(map(count_lines, nodes.values())), sorted(part)))
    return sorted(parts, reverse=True)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_a_file_has_one_subject() -> None:
    for path in FILES:
        large = [part for part in subjects(parsed(path)) if part[0] >= SUBJECT]
        assert len(large) <= 1, (path, large)


def test_a_file_is_short_and_called_by_its_subject() -> None:
    for path in FILES:
        assert path.read_text("utf-8").count("\n") <= 450, path
        assert "_and_" not in name_of(path)


def test_a_package_hands_names_on_and_defines_none() -> None:
    for path in FILES:
        assert path.name != "__init__.py" or definitions(parsed(path)).keys() <= HANDS_ON, path


def test_a_folder_has_at_most_twenty_files() -> None:
    folders = {path.parent for path in FILES} - {COMMANDS}
    assert {name_of(folder): count for folder in folders if (count := len(list(folder.glob("*.py")))) > 20} == {}


def classes() -> Iterator[tuple[str, str]]:
    for path in FILES:
        for node in nodes_of(path):
            if isinstance(node, ast.ClassDef):
                yield node.name, name_of(path)


def test_a_class_has_a_name_of_its_own() -> None:
    places = defaultdict(list)
    for name, path in classes():
        places[name].append(path)
    assert {name: paths for name, paths in places.items() if len(paths) > 1 and name not in KAFKA | PUBLIC} == {}


def test_unconnected_definitions_are_two_subjects() -> None:
    text = "A = 1\ndef f(): return A\ndef g(): return f()\nclass C: ...\nB, D = 1, 2\ndef h(): return C, D\n"
    assert [names for _, names in subjects(ast.parse(text))] == [["B", "C", "D", "h"], ["A", "f", "g"]]
