"""Specs against Kafka's own MessageGenerator, file by file: what it refuses, `kwire spec check` refuses.

The generator of Kafka 4.1 judges, and that of 3.9 what Kafka's own specs had until then: the listener `zkBroker`, and
fields of structs with taggedVersions alone.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kwire.cli.commands.spec import spec_errors
from kwire.schema.data_files import SCHEMAS
from tests.interop.kafka import JVM, message_generator, need
from tests.interop.random_specs import Specs
from tests.messages.small_specs import document, field
from tests.schema import test_parser, test_validation
from tests.schema.test_validation import REQUEST

OLDER, NEWER = "3.9.1", "4.1.1"
ONLY_OLDER = ("zkBroker", "You must specify the version of the")
COORDINATOR = 'MessageSpecType` from String "coordinator-'  # each generator refuses only what the other one takes
NO_VERSIONS = "Version ranges none and none have no versions in common."
PROGRAM = str(Path(__file__).with_name("Generated.java"))
COUNT = 3000  # random specs

pytestmark = pytest.mark.ci


def reasons(release: str, specs: Sequence[Path], folder: Path) -> list[str]:
    """Return why the generator of a release refuses each spec; empty for those that it accepts."""
    need("java", "mvn")
    folder.mkdir(parents=True)
    command = ["java", *JVM, "-cp", os.pathsep.join(message_generator(release)), PROGRAM, str(folder)]
    text = "".join(f"{spec}\n" for spec in specs)
    done = subprocess.run(command, input=text, timeout=300, capture_output=True, text=True)
    found = done.stdout.splitlines()
    assert len(found) == len(specs), done.stderr[-3000:]
    return found


def refused(specs: Sequence[Path], folder: Path) -> dict[Path, str]:
    """Return the specs that the generator refuses, and why."""
    found = dict(zip(specs, reasons(NEWER, specs, folder / NEWER), strict=True))
    older = [spec for spec, why in found.items() if any(part in why for part in ONLY_OLDER)]
    if older:
        found |= zip(older, reasons(OLDER, older, folder / OLDER), strict=True)
    return {spec: why for spec, why in found.items() if why and not only_newer(spec, why)}


def only_newer(spec: Path, why: str) -> bool:
    """Whether the older generator refuses what came after it: coordinator types, and messages without versions.

    It gives the second reason for structs without versions, too, which both generators refuse.
    """
    return COORDINATOR in why or (why.endswith(NO_VERSIONS) and json.loads(spec.read_text())["validVersions"] == "none")


def written(texts: Sequence[str], folder: Path) -> list[Path]:
    paths = [folder / f"{number}.json" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    return paths


def test_the_generator_accepts_all_our_specs(tmp_path: Path) -> None:
    specs = [sorted(SCHEMAS.glob(names)) for names in ("kafka/*.json", "drafts/*/*.json", "releases/*/*.json")]
    assert [len(some) for some in specs] == [294, 7, 36]
    assert refused([*chain(*specs)], tmp_path) == {}


def test_what_the_generator_refuses_we_refuse(tmp_path: Path) -> None:
    seed = Random().randrange(1 << 32)
    drawn = Specs(Random(seed))
    specs = written([json.dumps(drawn.next()) for _ in range(COUNT)], tmp_path)
    bad = refused(specs, tmp_path / "made")
    assert COUNT / 10 < len(bad) < COUNT * 9 / 10
    passed = {spec.read_text(): why for spec, why in bad.items() if not spec_errors(spec)}
    assert passed == {}, f"seed {seed}"


def test_a_message_without_versions_may_have_the_listener_of_older_brokers(tmp_path: Path) -> None:
    def request(valid: str, *fields: dict[str, Any]) -> str:
        return document(*fields, valid=valid, flexible="none", **REQUEST, listeners=["zkBroker"])

    nowhere = field("Outer", "In", "none", fields=[field(versions="none")])
    specs = written([request("none"), request("none", field()), request("0-3"), request("0-3", nowhere)], tmp_path)
    older = reasons(OLDER, specs, tmp_path / OLDER)
    assert [why.endswith(NO_VERSIONS) for why in older] == [True, True, False, False]
    assert [*refused(specs, tmp_path / "made")] == specs[3:]
    assert [bool(spec_errors(spec)) for spec in specs] == [False, False, False, True]


# What is an error to us alone: the Java that is made would not compile, or nothing could be read with it.
STRICTER = (
    "'fields' is missing",
    "is not a name",
    "a string is needed, not a number",
    "true or false is needed, not a number",
    "there is no struct",
    "the struct Thing occurs twice",
    "int32 has no fields",
    "two fields of Thing are called",
    "needs an api key; write",
    "message has no api key",
    "is not an api key",
    "the name of a re",
    "takes no bytes at version",
)


def test_our_errors_are_the_generators(tmp_path: Path) -> None:
    problems = {document: problem for _, problem, document in [*test_parser.REFUSED, *test_validation.REFUSED]}
    specs = written(list(problems), tmp_path)
    bad = refused(specs, tmp_path / "made")
    ours = [problem for spec, problem in zip(specs, problems.values(), strict=True) if spec not in bad]
    assert [problem for problem in ours if not any(part in problem for part in STRICTER)] == []
    assert [part for part in STRICTER if not any(part in problem for problem in ours)] == []


def test_a_trailing_comma_is_an_error_to_both(tmp_path: Path) -> None:
    text = (SCHEMAS / "kafka/FetchResponse.json").read_text("utf-8")
    (spec,) = written([text.removesuffix("}\n") + ",}\n"], tmp_path)
    assert "was expecting double-quote" in refused([spec], tmp_path / "made")[spec]
    assert "there is a comma before" in str(spec_errors(spec)[0])
