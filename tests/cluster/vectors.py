"""What Kafka's own code answered: cases out of the folder that KWIRE_VECTORS names, of the material beside the project,
or a sample in the project, whichever is there first."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.conftest import ROOT, SHARED

SAMPLE = ROOT / "tests" / "data" / "vectors"
FOLDERS = [*map(Path, filter(None, [os.environ.get("KWIRE_VECTORS")])), SHARED / "vectors", SAMPLE]


def cases(file: str, **columns: Any) -> list[dict[str, Any]]:
    """The cases of a file, such as `placer_kraft`, in which these columns have these values."""
    path = next(path for path in (folder / f"{file}.jsonl" for folder in FOLDERS) if path.is_file())
    found = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [case for case in found if all(case.get(name) == value for name, value in columns.items())]


def check(found: list[dict[str, Any]], answer: Callable[[dict[str, Any]], Any]) -> None:
    """Compare our answer to each case with what is expected of it."""
    assert found
    wrong = {case["id"]: (ours, case["expected"]) for case in found if (ours := answer(case)) != case["expected"]}
    assert not wrong, f"{len(wrong)} of {len(found)}: {dict(list(wrong.items())[:5])}"
