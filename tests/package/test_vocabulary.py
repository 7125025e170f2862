"""Words that were replaced by standard terms of Kafka, TCP and Python; they must not come back, as names or in text."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.conftest import ROOT
from tests.package.source_files import FILES, nodes_of

# word -> what to write instead
GONE = {
    "said": "captured, reported",
    "told": "reported, given; `unless told`: by default",
    "heard": "received, observed",
    "hear": "receive, observe",
    "hears": "receives",
    "talk": "conversation, connection",
    "talks": "connections",
    "gist": "summary",
    "stranger": "non-Kafka stream",
    "strangers": "non-Kafka streams",
    "alike": "equal, of one type",
    "shaped": "projected, generated",
    "chronicle": "history",
    "chronicles": "histories",
    "storey": "layer",
    "teller": "reporter, source",
    "poorest": "least loaded",
    "richest": "most loaded",
    "reigns": "controller epochs",
    "unspoken": "unsupported",
    "whoever": "the caller, the client",
    "somebody": "a client, a user, a principal",
    "by chance": "at random, accidentally",
}
# Parts of names count, too: `unless_told`, `_said`.
PATTERN = re.compile(rf"(?<![a-z])({'|'.join(GONE)})(?![a-z])", re.IGNORECASE)
CODE = [path for path in sorted((ROOT / "kwire").rglob("*.p*")) if path.suffix in (".py", ".pyx", ".pxi")]
CODE.append(ROOT / "kwire/codecs/native/_engine.pyi")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TESTS = [path for name in ("tests", "benchmarks") for path in sorted((ROOT / name).rglob("*.py"))]
LEFT_IN_TESTS = {"said", "told", "alike"}  # what tests have still to be rid of
# Parameters and local variables say what they hold. These words do not; `one` and `other` are a pair of equals.
VAGUE = {"asked", "found", "held", "least", "most", "one", "place", "told"}


def gone_words(path: Path) -> list[tuple[int, str]]:
    lines = enumerate(path.read_text("utf-8").splitlines(), 1)
    return [(number, word.lower()) for number, line in lines for word in PATTERN.findall(line)]


def test_words_that_are_gone_stay_away() -> None:
    gone = [(path, number, word) for path in [*CODE, *PAGES] for number, word in gone_words(path)]
    assert [(str(path), number, word, GONE[word]) for path, number, word in gone] == []


def test_words_that_are_gone_stay_away_from_tests() -> None:
    words = {path: gone_words(path) for path in TESTS if path != Path(__file__)}
    found = [(str(path), number, word) for path in words for number, word in words[path]]
    assert [(path, number, word, GONE[word]) for path, number, word in found if word not in LEFT_IN_TESTS] == []
    assert {word for _, _, word in found} >= LEFT_IN_TESTS, "a word that is gone from tests is no exception any more"


def vague_names(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inner = list(ast.walk(node))
            bound = {part.arg: part.lineno for part in inner if isinstance(part, ast.arg)}
            bound |= {part.id: part.lineno for part in inner if isinstance(part, ast.Name) and is_stored(part)}
            allowed = {"one"} if "other" in bound else set()
            yield from ((bound[name], name) for name in sorted((VAGUE - allowed) & bound.keys()))


def is_stored(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def test_parameters_and_variables_say_what_they_hold() -> None:
    assert [(str(path), *vague) for path in FILES for vague in vague_names(nodes_of(path))] == []
    program = "def f(found, *, held=1): ...\ndef g(x):\n    one, other = x\ndef h(x):\n    return [one for one in x]"
    assert list(vague_names(ast.walk(ast.parse(program)))) == [(1, "found"), (1, "held"), (5, "one")]


def test_the_pattern_finds_names_and_text() -> None:
    assert PATTERN.findall("is_told, _said; a Talk with strangers, but soldier, toldo and TOLD_") == [
        "told",
        "said",
        "Talk",
        "strangers",
        "TOLD",
    ]
