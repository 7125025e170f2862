"""Words that were replaced by standard terms of Kafka, TCP and Python; they must not come back, as names or in text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT

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


def gone_words(path: Path) -> list[tuple[int, str]]:
    lines = enumerate(path.read_text("utf-8").splitlines(), 1)
    return [(number, word.lower()) for number, line in lines for word in PATTERN.findall(line)]


@pytest.mark.parametrize("path", [*CODE, *PAGES], ids=lambda path: str(path.relative_to(ROOT)))
def test_words_that_are_gone_stay_away(path: Path) -> None:
    assert [(number, word, GONE[word]) for number, word in gone_words(path)] == []


def test_words_that_are_gone_stay_away_from_tests() -> None:
    words = {path: gone_words(path) for path in TESTS if path != Path(__file__)}
    found = [(str(path), number, word) for path in words for number, word in words[path]]
    assert [(path, number, word, GONE[word]) for path, number, word in found if word not in LEFT_IN_TESTS] == []
    assert {word for _, _, word in found} >= LEFT_IN_TESTS, "a word that is gone from tests is no exception any more"


def test_the_pattern_finds_names_and_text() -> None:
    assert PATTERN.findall("is_told, _said; a Talk with strangers, but soldier, toldo and TOLD_") == [
        "told",
        "said",
        "Talk",
        "strangers",
        "TOLD",
    ]
