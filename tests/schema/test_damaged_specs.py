"""Kwire's own specs with a few changes: each is read, or refused as a spec; no other error, and no endless work."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from kwire.errors import SpecError
from kwire.schema.spec_reader import read_spec
from kwire.schema.version_ranges import Versions
from tests.conftest import ROOT
from tests.linear_time.effort import no_hang
from tests.seeds import TRIES, named, seeded

FILES = sorted((ROOT / "schemas").glob("**/*Re*.json"))
PIECES = [
    "",
    "{",
    "}",
    "[]",
    '"',
    ",",
    ":",
    "0",
    "-1",
    "0-",
    "0+",
    "1-0",
    "none",
    "null",
    "true",
    "32767",
    "// x\n",
    "/*",
]
PIECES += ["string", "[]int32", "records", "bytes", "Nothing", "\\u0000", "\ud800", "99999999999999999999", '"type"']


def damaged(text: str, rng: Random) -> str:
    """Change a few places: a piece for a run of characters, or for a word that stands there, or another word."""
    for _ in range(rng.choice((1, 1, 2, 5))):
        at, words = rng.randrange(len(text)), text.split('"')
        if rng.random() < 0.5:
            words[rng.randrange(len(words))] = rng.choice((*PIECES, rng.choice(words)))
            text = '"'.join(words) or "x"
        else:
            text = (text[:at] + rng.choice(PIECES) + text[at + rng.choice((0, 0, 1, 4)) :]) or "x"
    return text


def is_read(text: str) -> bool:
    """Whether it is read; what comes of it names its structs and fields, what is refused has a place and few words."""
    try:
        spec = read_spec(text, "x.json")
    except SpecError as error:
        assert error.json_path.startswith("$")
        assert len(str(error)) < 6000
        return False
    for field in (field for struct in spec.structs() for field in struct.fields):
        assert field.name
        assert Versions.parse(str(field.versions)) == field.versions  # "none" is legal: Kafka's generator takes it
    return True


@pytest.mark.fuzz
@pytest.mark.parametrize("part", range(4))
def test_a_damaged_spec_is_read_or_refused_as_a_spec(part: int) -> None:
    rng, verdicts = seeded(f"specs {part}"), {True: 0, False: 0}
    for path in rng.sample(FILES, 40):
        text = Path(path).read_text("utf-8")
        assert is_read(text)
        for bad in (damaged(text, rng) for _ in range(5 * TRIES)):
            with named(json.dumps(bad)), no_hang():
                verdicts[is_read(bad)] += 1
    assert min(verdicts.values()) > 0
