"""Writes the bill of materials of a release, in CycloneDX 1.6: kwire and what an environment has installed beside it.

`python tests/tools/sbom.py kwire.cdx.json` runs in an environment with the wheel and nothing else, as in the release
workflow. The same environment gives the same bytes. Needs the standard library alone.
"""

from __future__ import annotations

import json
import re
import sys
import uuid
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

ROOT = "kwire"
INSTALLERS = {"pip", "setuptools", "wheel"}  # which environments have whatever is installed


def name_of(distribution: Distribution) -> str:
    """Return the normalised name of a distribution."""
    return re.sub(r"[-_.]+", "-", distribution.metadata["Name"]).lower()


def reference_of(distribution: Distribution) -> str:
    """Return the package URL of a distribution, which identifies it in the document."""
    return f"pkg:pypi/{name_of(distribution)}@{distribution.version}"


def describe_component(distribution: Distribution) -> dict[str, Any]:
    """Return a distribution as a component, with its licence if it declares an SPDX expression."""
    reference = reference_of(distribution)
    component: dict[str, Any] = {
        "type": "library",
        "bom-ref": reference,
        "name": name_of(distribution),
        "version": distribution.version,
        "purl": reference,
    }
    if "License-Expression" in distribution.metadata:
        component["licenses"] = [{"expression": distribution.metadata["License-Expression"]}]
    return component


def list_needed(distribution: Distribution, installed: dict[str, Distribution]) -> list[str]:
    """Return the references of what a distribution requires without extras, and is installed."""
    required = [line for line in distribution.requires or () if "extra ==" not in line]
    names = [re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", line)[0]).lower() for line in required]
    return sorted({reference_of(installed[name]) for name in names if name in installed})


def bill_of_materials(found: list[Distribution]) -> dict[str, Any]:
    """Return the document for the distributions of an environment; KeyError if kwire is not among them."""
    installed = {name_of(distribution): distribution for distribution in found}
    root = installed[ROOT]
    listed = {name: installed[name] for name in sorted(installed) if name not in INSTALLERS}
    document: dict[str, Any] = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": describe_component(root)},
        "components": [describe_component(each) for name, each in listed.items() if name != ROOT],
        "dependencies": [
            {"ref": reference_of(each), "dependsOn": list_needed(each, listed)} for each in listed.values()
        ],
    }
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(document, sort_keys=True))
    return {**document, "serialNumber": f"urn:uuid:{serial}"}


if __name__ == "__main__":
    text = json.dumps(bill_of_materials(list(distributions())), indent=2)
    Path(sys.argv[1]).write_text(text + "\n", "utf-8")
