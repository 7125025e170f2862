"""The workflows parse, and a release has all its parts; actionlint checks them where it is installed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import distribution, requires
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.tools.sbom import bill_of_materials, name_of

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def read_workflow(path: Path) -> dict[str, Any]:
    yaml = pytest.importorskip("yaml", reason="pyyaml, which the site needs too, is not installed")
    workflow: dict[str, Any] = yaml.safe_load(path.read_text("utf-8"))
    return workflow


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_has_no_more_rights_than_it_says(path: Path) -> None:
    workflow = read_workflow(path)
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        assert {"runs-on", "steps"} <= set(job), name
        for step in job["steps"]:
            assert ("uses" in step) is not ("run" in step), (name, step)
            assert "@" in step.get("uses", "@"), (name, step)


def test_actionlint_has_nothing_to_say() -> None:
    if shutil.which("actionlint"):
        done = subprocess.run(["actionlint", "-color=false", *map(str, WORKFLOWS)], capture_output=True, text=True)
        assert done.stdout == ""


def test_a_release_is_published_after_it_was_built_attested_and_described() -> None:
    jobs = read_workflow(ROOT / ".github/workflows/release.yml")["jobs"]
    assert {name: job.get("needs", []) for name, job in jobs.items()} == {
        "wheels": [],
        "source": [],
        "program": [],
        "image": [],
        "attest": ["wheels", "source", "program"],
        "publish": "attest",
        "announce": "publish",
    }
    used = {step["uses"].split("@")[0] for job in jobs.values() for step in job["steps"] if "uses" in step}
    assert {"actions/attest-build-provenance", "actions/attest-sbom", "pypa/gh-action-pypi-publish"} <= used
    commands = "\n".join(step.get("run", "") for step in jobs["source"]["steps"])
    for command in ("python -m build", "twine check --strict dist/*", "tests/tools/sbom.py kwire.cdx.json"):
        assert command in commands


def test_wheels_are_built_for_every_python_and_system() -> None:
    options = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["cibuildwheel"]
    assert options["build"] == ["cp311-*", "cp312-*", "cp313-*", "cp314-*", "cp314t-*"]
    assert not any("musllinux_x86_64" in skipped or "manylinux_x86_64" in skipped for skipped in options["skip"])
    matrix = read_workflow(ROOT / ".github/workflows/release.yml")["jobs"]["wheels"]["strategy"]["matrix"]["os"]
    assert {system.split("-")[0] for system in matrix} == {"ubuntu", "macos", "windows"}
    assert len(matrix) == sum(len(options[system]["archs"]) for system in ("linux", "macos", "windows"))


def test_the_bill_of_materials_has_what_an_installation_needs(tmp_path: Path) -> None:
    names = re.findall(r"^[\w-]+(?!.*extra ==)", "\n".join(requires("kwire") or ()), re.MULTILINE)
    installed = [distribution(name) for name in ["kwire", *names]]
    document = bill_of_materials(installed)
    root = document["metadata"]["component"]
    assert (root["name"], root["purl"]) == ("kwire", f"pkg:pypi/kwire@{root['version']}")
    assert [component["name"] for component in document["components"]] == sorted(map(str.lower, names))
    (needed,) = (each["dependsOn"] for each in document["dependencies"] if each["ref"] == root["bom-ref"])
    assert needed == [component["bom-ref"] for component in document["components"]]
    assert bill_of_materials(installed[::-1]) == document
    script = [sys.executable, str(ROOT / "tests/tools/sbom.py"), str(tmp_path / "kwire.cdx.json")]
    subprocess.run(script, cwd=tmp_path, check=True)
    written = json.loads((tmp_path / "kwire.cdx.json").read_text("utf-8"))
    assert {component["bom-ref"] for component in document["components"]} < {
        component["bom-ref"] for component in written["components"]
    }
    assert name_of(distribution("kwire")) not in [component["name"] for component in written["components"]]
