"""Every command that takes a dump ends with words and an exit code over every fixture, never with a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from kwire import arrow
from kwire.cli.main import main
from kwire.cluster.events.draft_names import RELEASED
from kwire.schema.catalog import profiles
from tests.conftest import ROOT, spread

FIXTURES = ROOT / "fixtures"
FILES = sorted(path for path in FIXTURES.rglob("*") if path.is_file())
# Kafka's own are many of one kind: of those that lie together, one stands for all here.
FEW = list({path if "by-hand" in path.parts else path.parent: path for path in reversed(FILES)}.values())
COMMANDS = {
    "decode": ["decode", "FILE"],
    "trees": ["decode", "-v", "FILE"],
    "json": ["decode", "--json", "FILE"],
    "guess": ["decode", "--guess", "FILE"],
    "explain": ["explain", "FILE"],
    "page": ["explain", "--html", "FILE"],
    "report": ["report", "FILE", "-o", "OUT"],
    "check": ["check", "FILE"],
    "stats": ["stats", "FILE"],
    "cluster": ["cluster", "FILE"],
    "cluster-json": ["cluster", "--json", "FILE"],
    "place": ["place", "--from", "FILE"],
    "redact": ["redact", "FILE", "-o", "OUT"],
    "slice": ["slice", "FILE", "--errors", "-w", "OUT"],
    "fields": ["decode", "FILE", "--fields", "frame,api,error_code,latency"],
    "encode": ["encode", "FILE", "-o", "OUT"],
    "diff": ["diff", "FILE", "FILE"],
    "parquet": ["decode", "--parquet", "OUT", "FILE"],
    "spec": ["spec", "check", "FILE"],
}


def ends_well(command: str, files: list[Path], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number, file in enumerate(files):
        given = {"FILE": str(file), "OUT": str(folder / f"out-{number}")}
        code = main([given.get(word, word) for word in COMMANDS[command]])
        seen = capsys.readouterr()
        assert code in (0, 1, 2), file
        assert "Traceback" not in seen.err, file
        assert code != 2 or seen.err, file


@pytest.mark.parametrize("command", spread([name for name in COMMANDS if name != "guess"], 6))
def test_no_command_ends_in_a_traceback(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(FEW) > 20
    ends_well(command, FEW, tmp_path, capsys)


@pytest.mark.ci
@pytest.mark.parametrize("command", COMMANDS)
def test_nor_over_all_the_others(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ends_well(command, FILES if command == "guess" else [file for file in FILES if file not in FEW], tmp_path, capsys)


@pytest.mark.parametrize("profile", profiles())
def test_fixtures_of_drafts_reach_the_tables(profile: str) -> None:
    for file in sorted((FIXTURES / "by-hand" / profile).iterdir()):
        rows = {name: table.num_rows for name, table in arrow.history(str(file), profile=profile).items()}
        tells = any(file.name.startswith(name) for name in (*RELEASED, "LeaderAndIsr", "Metadata", "UpdateMetadata"))
        assert bool(rows["partition_states"] + rows["brokers"]) == tells, file
        assert bool(rows["offline_replicas"]) == ("offline-replica" in file.name), file
