"""Words that were replaced by standard terms of Kafka, TCP and Python; they must not come back, as names or in text."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.conftest import ROOT
from tests.package.source_files import FILES, PACKAGE, nodes_of

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
# Parameters say what they hold. These do not; the packages whose signatures still have them are fewer each time.
LEFT_IN_SIGNATURES = {
    "asked": "arrow broker capture cluster protocol testing zookeeper",
    "found": "arrow broker capture cli cluster codecs protocol query redact render spark",
    "held": "broker cluster redact",
    "least": "arrow capture cluster codecs protocol",
    "most": "arrow broker capture cli client cluster codecs errors render statistics",
    "one": "arrow broker capture cli cluster render schema spark",
    "place": "arrow broker capture cli cluster codecs protocol redact render schema statistics zookeeper",
    "told": "",
}


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


def parameters(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for argument in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]:
                yield argument.lineno, argument.arg


def test_parameters_say_what_they_hold() -> None:
    vague = []
    for path in FILES:
        package = path.relative_to(PACKAGE).parts[0]
        for number, name in parameters(nodes_of(path)):
            if name in LEFT_IN_SIGNATURES and package not in LEFT_IN_SIGNATURES[name].split():
                vague.append((str(path), number, name))
    assert vague == []
    assert list(parameters(ast.walk(ast.parse("def f(found, *, held=1): ...")))) == [(1, "found"), (1, "held")]


def test_the_pattern_finds_names_and_text() -> None:
    assert PATTERN.findall("is_told, _said; a Talk with strangers, but soldier, toldo and TOLD_") == [
        "told",
        "said",
        "Talk",
        "strangers",
        "TOLD",
    ]
