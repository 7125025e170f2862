"""An api has the same names everywhere: in any case, as Kafka's request log writes it, and by its key."""

from __future__ import annotations

from pathlib import Path

import pytest

from kwire.cli.main import main, with_versions

REPLY = "0000001e 00000001 00 00000000 0000 05 4e4f4e45 00000001 03 6231 00002384 00"
REQUEST = "--hex=0000000e 000a 0000 0000002a 0001 6d 0001 67"
COMMANDS = [
    ["decode", REQUEST, "--jsonl", "--api", "{}"],
    ["decode", "--jsonl", "--hex", REPLY, "--as", "{}:3"],
    ["decode", "--jsonl", "--hex", "00000000", "--body", "--as", "{}Request:3"],
    ["schema", "{}"],
    ["schema", "{}:2", "--bnf"],
    ["diff", "{}:1", "{}:3"],
    ["diff", "--release", "2.0", "3.0", "{}"],
    ["apis", "{}"],
    ["call", ":9", "{}:3", "keyType:=1", "--offline"],
    ["encode", "--template", "{}:3"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_names_in_any_case_and_keys(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    texts = set()
    names = ["FindCoordinator", "findcoordinator", "FIND_COORDINATOR", "find-coordinator"]
    for name in [*names, *([] if "{}Request:3" in command else ["10"])]:
        code = main([word.format(name) for word in command])
        texts.add((code, capsys.readouterr().out))
    assert len(texts) == 1
    code, text = texts.pop()
    assert code in (0, 1)
    assert len(text) > 50


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_what_names_no_api_is_an_error_with_a_suggestion(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([word.format("FindCordinator") for word in command]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "did you mean FindCoordinator" in shown.err


@pytest.mark.parametrize("words", [["apis"], ["diff", "--release", "3.9", "4.4"]])
def test_each_of_several_names_must_name_something(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words, *(["fetch"] if words[0] == "apis" else []), "nosuch"]) == 2
    assert "there is no api 'nosuch'" in capsys.readouterr().err


def test_a_release_that_may_be_several_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["apis", "fetch", "--release", "1"]) == 0
    assert "release 1: the newest that is known, 1.1.1" in capsys.readouterr().err
    assert main(["apis", "fetch", "--release", "2.8"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "name", ["3.9", "v3.9", "kafka-3.9.1", "Kafka 3.9", "kafka_2.13-3.9.0", "3.9.x", "3.9-IV0", " 3.9 "]
)
def test_releases_as_people_write_them(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["apis", "fetch", "--release", name]) == 0
    assert "  1  Fetch                                  0-17 " in capsys.readouterr().out


@pytest.mark.parametrize("name", ["v", "kafka-", "4.00", "3.9x", "-IV0"])
def test_what_names_no_release(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["apis", "fetch", f"--release={name}"]) == 2
    assert f"there is no release '{name}'" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["KIP-36", "kip-36", "kip36", "36"])
def test_profiles_as_people_write_them(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "TopicMetadataResponse", "--profile", name]) == 0
    assert "rack" in capsys.readouterr().out


def test_versions_as_a_word_of_their_own(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["schema", "fetch", "v12", "metadata", "v9"]) == 0
    text = capsys.readouterr().out
    assert "FetchRequest v12:" in text
    assert "MetadataResponse v9:" in text
    monkeypatch.chdir(tmp_path)
    (tmp_path / "v12").write_bytes(b"")
    assert with_versions(["decode", "fetch", "v12"]) == ["decode", "fetch", "v12"]
    assert with_versions(["decode", "--client", "v1"]) == ["decode", "--client", "v1"]
    assert with_versions(["stats", "x", "v1"]) == ["stats", "x", "v1"]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["redact", "x", "-o", "y", "--keep", "topc"], "--keep topc: did you mean topic?"),
        (["stats", "x", "--by", "api,CLINT"], "did you mean client?"),
        (["errors", "NOT_LEADER_OR_FOLOWER"], "did you mean NOT_LEADER_OR_FOLLOWER?"),
        (["errors", "not_leader_or_folower"], "did you mean NOT_LEADER_OR_FOLLOWER?"),
        (["stats", "x", "--removed-in", "4.4.1.0"], "did you mean 4.4.0?"),
    ],
)
def test_suggestions(words: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert text in capsys.readouterr().err


def test_error_codes_in_any_spelling(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["errors", "unknownTopicOrPartition"]) == 0
    assert capsys.readouterr().out.startswith("   3  UNKNOWN_TOPIC_OR_PARTITION ")
