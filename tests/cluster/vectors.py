"""What Kafka's own code answered: cases out of the folder that KWIRE_VECTORS names, of the material beside the project,
or a sample in the project, whichever is there first."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kwire.cluster import Broker
from kwire.errors.refused import Refused
from tests.conftest import ROOT, SHARED

SAMPLE = ROOT / "tests" / "data" / "vectors"
FOLDERS = [*map(Path, filter(None, [os.environ.get("KWIRE_VECTORS")])), SHARED / "vectors", SAMPLE, SAMPLE.parent]
Case = dict[str, Any]


def cases(file: str, **columns: Any) -> list[Case]:
    """The cases of a file, such as `placer_kraft`, in which these columns have these values."""
    path = next(path for path in (folder / f"{file}.jsonl" for folder in FOLDERS) if path.is_file())
    found = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [case for case in found if all(case.get(name) == value for name, value in columns.items())]


def check(found: list[Case], answer: Callable[[Case], Any], release: str = "") -> None:
    """Compare our answer to each case with what is expected of it, or was in a release."""
    assert found
    wrong = {}
    for case in found:
        expected = case.get("expected_in", {}).get(release, case["expected"])
        if (ours := answer(case)) != expected:
            wrong[case["id"]] = ours, expected
    assert not wrong, f"{len(wrong)} of {len(found)}: {dict(list(wrong.items())[:5])}"


def by_release(found: list[Case]) -> dict[str, list[Case]]:
    """The cases that each release answered, in one way or another."""
    releases: dict[str, list[Case]] = {}
    for case in found:
        for release in (*case["releases"], *case.get("expected_in", ())):
            releases.setdefault(release, []).append(case)
    return releases


def answer_of(call: Callable[[], Any], **renamed: str) -> Any:
    """What a call answers, or refuses, as the files write it; a class of Java by the name that a release had for it."""
    try:
        return {"result": call()}
    except Refused as error:
        return {"error": {"class": renamed.get(type(error).__name__, error.exception), "reason": error.reason}}


def reason_of(call: Callable[[], Any]) -> Any:
    """The same, where no release of Kafka has a class for the refusal."""
    answer = answer_of(call)
    return {"error": {"reason": answer["error"]["reason"]}} if "error" in answer else answer


def brokers_of(case: Case) -> list[Broker]:
    return [Broker(node_id, rack=rack, fenced=any(fenced)) for node_id, rack, *fenced in case["brokers"]]


def by_text(assignment: dict[int, Any]) -> dict[str, Any]:
    """Numbers as the keys of JSON objects."""
    return {str(partition): replicas for partition, replicas in assignment.items()}


def by_number(assignment: dict[str, Any]) -> dict[int, Any]:
    return {int(partition): replicas for partition, replicas in assignment.items()}
