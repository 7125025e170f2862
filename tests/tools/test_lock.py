"""The lock has what pyproject.toml requires, at versions that it allows, with hashes, and names no registry."""

from __future__ import annotations

import re
import tomllib

import pytest
from packaging.requirements import Requirement

from tests.tools.lock import FOLDER, LAYERS, ROOT, entries, name_of

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
EXTRAS = {**PROJECT["project"]["optional-dependencies"], **PROJECT["dependency-groups"]}
LOCKED = {layer: entries((FOLDER / f"{layer}.txt").read_text("utf-8"))[1:] for layer in LAYERS}
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="this is no checkout")


def requirements(layer: str) -> list[Requirement]:
    """Return what the extras and groups of a layer require, with those of the extras that they include."""
    if layer == "build":
        return [Requirement(line) for line in PROJECT["build-system"]["requires"]]
    left, direct = list(LAYERS[layer]), [*PROJECT["project"]["dependencies"]] if layer == "test" else []
    while left:
        for line in EXTRAS[left.pop()]:
            requirement = Requirement(line)
            if requirement.name == "kwire":
                left += requirement.extras
            else:
                direct.append(line)
    return [Requirement(line) for line in direct]


@pytest.mark.parametrize("layer", LAYERS)
def test_everything_required_is_locked_at_a_version_that_is_allowed(layer: str) -> None:
    layers = list(LAYERS)[: list(LAYERS).index(layer) + 1]
    locked: dict[str, list[str]] = {}
    for entry in (entry for one in layers for entry in LOCKED[one]):
        version = re.match(r"\S+==(\S+)", entry)
        assert version, entry
        locked.setdefault(name_of(entry), []).append(version[1])
    assert requirements(layer)
    for requirement in requirements(layer):
        versions = locked[name_of(requirement.name)]
        assert all(requirement.specifier.contains(version) for version in versions), requirement


@pytest.mark.parametrize("layer", LAYERS)
def test_every_entry_has_hashes_and_no_registry_is_named(layer: str) -> None:
    assert LOCKED[layer]
    for entry in LOCKED[layer]:
        head, *hashes = [line.strip(" \\") for line in entry.strip().split("\n")]
        assert re.fullmatch(r"[a-z0-9.-]+==[\w.+]+( ; .*)?", head), entry
        assert hashes and all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", line) for line in hashes), entry


def test_no_package_is_in_two_files() -> None:
    names = [name for layer in LAYERS for name in {name_of(entry) for entry in LOCKED[layer]}]
    assert len(names) == len(set(names))


def test_dev_installs_every_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    import dev

    *_, most = dev.LAYERS.values()
    assert ["build", *most] == list(LAYERS)
    *_, extras = dev.LAYERS
    added = [name for names in LAYERS.values() for name in names]
    assert sorted([*extras.split(","), *dev.TESTED]) == sorted(added)
