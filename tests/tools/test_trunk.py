"""What another Kafka has that kwire has not is listed; of the newest release there is nothing."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest

import kwire
from kwire.schema.data_files import SCHEMAS
from kwire.schema.json_with_comments import parse_plain
from tests.interop.kafka import jars, need
from tests.tools.trunk import compare, main

PARTS = "clients|group-coordinator|raft|share-coordinator|storage|transaction-coordinator"


def spec_of(name: str) -> dict[str, Any]:
    text = (SCHEMAS / f"kafka/{name}.json").read_text("utf-8")
    plain: dict[str, Any] = json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE))
    assert parse_plain(text, name) is not None
    return plain


def written(folder: Path, *specs: dict[str, Any]) -> Path:
    for spec in specs:
        (folder / f"{spec['name']}.json").write_text(json.dumps(spec))
    return folder


def test_kwires_own_specs_have_nothing_new(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(SCHEMAS / "kafka")]) == 0
    assert capsys.readouterr().out == "kwire has all of it\n"


def test_what_is_new_is_listed_and_can_be_read(tmp_path: Path) -> None:
    request = spec_of("ListGroupsRequest")
    last = kwire.Catalog.of().spec("ListGroupsRequest").versions.last
    request["validVersions"] = f"0-{last + 1}"
    request["fields"].append({"name": "Limit", "type": "int32", "versions": f"{last + 1}+", "about": "x"})
    response = spec_of("ListGroupsResponse")
    response["fields"][0]["type"] = "int64"
    del response["fields"][1]
    new = {**spec_of("HeartbeatRequest"), "name": "PulseRequest", "apiKey": 900}
    (tmp_path / "in").mkdir()
    found = compare([written(tmp_path / "in", request, response, new)], tmp_path / "out")
    assert found == [
        f"ListGroupsRequest: new versions {last + 1}",
        f"ListGroupsRequest: new field limit int32, versions {last + 1}",
        "ListGroupsResponse: throttleTimeMs: type int64, kwire has int32",
        f"ListGroupsResponse: no field errorCode, versions {kwire.Catalog.of().spec('ListGroupsResponse').versions}",
        f"PulseRequest: new message, versions {new['validVersions']}, api 900",
    ]
    profile = kwire.Catalog.from_directory(tmp_path / "out")
    assert last + 1 in profile.spec("ListGroupsRequest").versions
    assert "PulseRequest" in profile


def test_jars_are_read_and_what_was_removed_is_no_news(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fewer = spec_of("ListGroupsRequest")
    fewer["validVersions"] = "1-3"
    fewer["fields"] = []
    with zipfile.ZipFile(tmp_path / "k.jar", "w") as jar:
        jar.writestr("common/message/ListGroupsRequest.json", json.dumps(fewer))
        jar.writestr("other/things.json", "no spec")
    assert main([str(tmp_path / "k.jar")]) == 0
    assert capsys.readouterr().out == "kwire has all of it\n"


@pytest.mark.ci
@pytest.mark.parametrize("release", ["4.4.0"])
def test_the_newest_release_has_nothing_new(release: str) -> None:
    need("java", "mvn")
    folder = Path(jars(release)).parent
    places = [path for path in folder.iterdir() if re.fullmatch(rf"kafka-({PARTS})-{release}\.jar", path.name)]
    assert len(places) == 6
    assert compare(places) == []
