"""An api has the same names everywhere: in any case, as Kafka's request log writes it, and by its key."""

from __future__ import annotations

import pytest

from kwire.cli import main

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
