"""Every command of an operator on served clusters that are not well: right answers, and nothing left behind."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kwire.cli.cluster import apply_plan
from kwire.cli.main import main
from kwire.testing import Kafka
from tests.conftest import spread

RACKS = ["/A/1", "/A/2", "/B/1", "/B/2", "/B/2"]
PLANS = {"repair": ["--repair"], "remove": ["--remove", "5"], "replace": ["--replace", "5=4"], "topics": ["--by-topic"]}


def is_well(kafka: Kafka) -> None:
    """Leave the cluster as it is."""


def with_dead_disk(kafka: Kafka) -> None:
    kafka.fail_log_dir(3, 0)


def with_dead_broker(kafka: Kafka) -> None:
    kafka.stop_broker(5)


def with_small_isr(kafka: Kafka) -> None:
    kafka.shrink_isr("t", 0, 1)


SICKNESSES: list[Callable[[Kafka], None]] = [is_well, with_dead_disk, with_dead_broker, with_small_isr]


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apply_plan, "PAUSE", 0)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = main([*arguments])
    seen = capsys.readouterr()
    assert "Traceback" not in seen.err
    assert code in (0, 1), seen.err
    return code, seen.out


def left_behind(capsys: pytest.CaptureFixture[str], where: str) -> list[str]:
    """Return the configs of throttles in the cluster."""
    settings = json.loads(run(capsys, "cluster", where, "--json")[1])["settings"]["configs"]
    return [name for row in settings for name in row["configs"] if "throttled" in name]


@pytest.mark.parametrize("sickness", spread(SICKNESSES, 1))
def test_plans_are_carried_out_and_nothing_is_left(
    sickness: Callable[[Kafka], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Kafka(brokers=5, racks=RACKS, log_dirs=2) as kafka:
        assert main(["place", kafka.address(1), "--topic", "t", "--partitions", "5", "--rf", "2", "--apply"]) == 0
        capsys.readouterr()
        sickness(kafka)
        where = kafka.address(1)
        for name, options in PLANS.items():
            file = tmp_path / f"{name}.json"
            file.write_text(run(capsys, "place", where, *options, "--json")[1])
            if not json.loads(file.read_text())["partitions"]:
                continue
            run(capsys, "place", where, "--plan", str(file), "--apply", "--throttle", "1000000", "--batch", "1")
            code, text = run(capsys, "place", where, "--plan", str(file), "--verify")
            assert (code, "0 under way, 0 to come" in text) == (0, True), text
            assert run(capsys, "place", where, "--plan", str(file), "--cancel") == (0, "cancelled: 0 partitions\n")
            assert left_behind(capsys, where) == []
        for arguments in (
            ["--metrics"],
            ["--if-lost", "1"],
            ["--may-restart", "/A"],
            ["--drain", "/B"],
            ["--why", "t-0"],
        ):
            assert run(capsys, "cluster", where, *arguments)[1]


def test_a_killed_run_is_cleaned_up_by_cancel(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def kill(progress: object) -> None:
        raise Killed

    with Kafka(brokers=5, racks=RACKS) as kafka:
        where = kafka.address(1)
        assert main(["place", where, "--topic", "t", "--partitions", "5", "--rf", "2", "--apply"]) == 0
        capsys.readouterr()
        file = tmp_path / "plan.json"
        file.write_text(run(capsys, "place", where, "--remove", "5", "--json")[1])
        monkeypatch.setattr(apply_plan, "_wait", kill)
        with pytest.raises(Killed):
            main(["place", where, "--plan", str(file), "--apply", "--throttle", "1000", "--batch", "1"])
        capsys.readouterr()
        assert left_behind(capsys, where)
        assert run(capsys, "place", where, "--plan", str(file), "--cancel")[0] == 0
        assert left_behind(capsys, where) == []
