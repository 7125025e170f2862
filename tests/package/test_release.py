"""What a release consists of: two archives in `dist/`, and what the wheel has beside the package."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kwire
from tests.conftest import ROOT
from tests.tools.shared_files import shared_files

SDIST, WHEEL = f"kwire-{kwire.__version__}.tar.gz", f"kwire-{kwire.__version__}-py3-none-any.whl"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder into which `python -m build` would build, but without the native engine and an environment."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    environment = {"PATH": "/usr/bin:/bin", "KWIRE_BUILD": "none", "TMPDIR": str(folder.parent)}
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    yield folder


def test_a_build_leaves_two_files(built: Path) -> None:
    assert sorted(path.name for path in built.iterdir()) == [WHEEL, SDIST]
    assert list(built.parent.glob("kwire-build-*")) == []


def test_a_wheel_has_the_man_page_and_the_completions(built: Path) -> None:
    with zipfile.ZipFile(built / WHEEL) as wheel:
        shared = f"kwire-{kwire.__version__}.data/data/share/"
        found = {name.removeprefix(shared): wheel.read(name).decode() for name in wheel.namelist() if shared in name}
        assert "kwire/messages/__init__.pyi" in wheel.namelist()
    assert found == shared_files()


def registry_metadata(home: str) -> dict[str, Any]:
    """Return what a registry gets to know, if the repository has this address."""
    command = [sys.executable, "-m", "hatchling", "metadata"]
    environment = {"PATH": "/usr/bin:/bin", "KWIRE_HOME": home}
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True)
    metadata: dict[str, Any] = json.loads(done.stdout)
    return metadata


def links_in(markdown: str) -> list[str]:
    prose = re.sub(r"^```.*?^```$", "", markdown, flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"\]\(([^)]*)\)", prose)


def test_on_a_registry_all_links_of_the_readme_are_absolute() -> None:
    """Relative ones would lead to pages of the registry, which it does not have."""
    home = "https://forge.example/kwire"
    metadata = registry_metadata(home)
    files = f"{home}/blob/v{kwire.__version__}/"
    links = [link for link in links_in(metadata["readme"]["text"]) if link.startswith(files)]
    assert [link for link in links if (".svg" in link) != link.endswith("?raw=true")] == []  # the picture, not a page
    own = [link.removeprefix(files).removesuffix("?raw=true") for link in links]
    assert own == [link for link in links_in((ROOT / "README.md").read_text("utf-8")) if "://" not in link]
    assert len(own) > 30
    assert f"git clone {home} kwire" in metadata["readme"]["text"]
    assert [link for link in links_in(metadata["readme"]["text"]) if not link.startswith("https://")] == []
    assert metadata["urls"]["Source"] == home
    assert metadata["urls"]["Changelog"] == f"{files}CHANGELOG.md"


def test_without_an_address_the_readme_has_no_dead_links() -> None:
    metadata = registry_metadata("")
    text = metadata["readme"]["text"]
    assert [link for link in links_in(text) if not link.startswith("https://")] == []
    assert "See test your service, recipes, and hostile peers." in text
    assert list(metadata["urls"]) == ["Kafka protocol guide"]
    assert ">>> with kwire.testing.Kafka(brokers=3) as kafka:" in text[: text.index("## ")]  # the first screen


def test_the_changelog_is_short_and_its_links_lead_somewhere() -> None:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert re.search(rf"^## {re.escape(kwire.__version__)}, \d{{4}}-\d\d-\d\d$", text, re.MULTILINE)
    assert text.count("\n") <= 200
    for link in links_in(text):
        assert (ROOT / link.split("#")[0]).is_file(), link


def test_the_citation_is_of_this_version() -> None:
    text = (ROOT / "docs/CITATION.cff").read_text("utf-8")
    members = dict(re.findall(r"^([a-z-]+): (.+)$", text, re.MULTILINE))
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    newest = re.search(r"^## (\d\S*), (\S+)$", changelog, re.MULTILINE)
    assert newest
    assert (members["version"], members["date-released"]) == newest.groups()
    assert members["version"] == kwire.__version__
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert members["license"] == project["license"]
    required = {"cff-version", "message", "title"}  # and authors: Citation File Format 1.2.0, "Valid keys"
    assert required <= members.keys()
    assert "\nauthors:\n  - name: " in text
