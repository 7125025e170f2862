"""The container image: what it copies is there, and clients of the host are told an address that they reach."""

from __future__ import annotations

import re

from kwire.cli.serving.server_properties import read_properties
from tests.conftest import ROOT

DOCKER = ROOT / ".github/docker"


def test_what_the_image_copies_is_there_and_sent_to_the_builder() -> None:
    lines = (DOCKER / "Dockerfile").read_text("utf-8").splitlines()
    sent = [line[1:] for line in (DOCKER / "Dockerfile.dockerignore").read_text("utf-8").splitlines() if line[0] == "!"]
    copied = [line.split()[1:-1] for line in lines if line.startswith("COPY ") and "--from" not in line]
    files = [file for row in copied for file in row]
    assert len(files) == 7
    assert sorted(files) == sorted(sent)
    assert all((ROOT / file).exists() for file in files)


def test_the_image_serves_what_its_properties_say() -> None:
    row = read_properties(str(DOCKER / "server.properties")).row
    assert (row["host"], row["port"], row["id"]) == ("0.0.0.0", 9092, 1)
    assert "localhost" in str(row["advertised"])
    command = re.search(r"^CMD \[(.*)\]$", (DOCKER / "Dockerfile").read_text("utf-8"), re.MULTILINE)
    assert command is not None
    assert command[1].replace('"', "").split(", ") == ["serve", "--config", "/etc/kwire/server.properties", "--public"]
