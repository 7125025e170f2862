"""What may stand at the cursor, for each kind of word; and bash takes the script and completes with it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import kwire
from kwire.cli.command_table import COMMANDS
from kwire.cli.help.filter_completion import OPERATORS
from kwire.cli.help.parser_words import words_of
from kwire.cli.help.shell_completion import SCRIPTS, SHELLS, VALUES, complete
from kwire.cli.main import main, parser_for
from tests.conftest import ROOT

FETCH_FIELD = [f"api == fetch and partition_max_bytes {sign}" for sign in OPERATORS]
PCAP = str(ROOT / "fixtures/dumps/kafka-3.9-zk.pcap")


@pytest.mark.parametrize(
    ("line", "answers"),
    [
        ("kwire de", ["decode", "demo"]),
        ("kwire --ver", ["--version"]),
        ("kwire --print-completion ", ["bash", "zsh", "fish"]),
        ("kwire decode --js", ["--json", "--jsonl"]),
        ("kwire x.pcap --js", ["--json", "--jsonl"]),
        ("kwire decode x.bin --color a", ["auto", "always"]),
        ("kwire spec ch", ["check"]),
        ("kwire spec check --h", ["--help"]),
        ("kwire stats dump.bin --rem", ["--removed-in"]),
        ("kwire decode stats --gu", ["--guess"]),
        ("kwire decode nothing-like-it", []),
        ("kwire decode x.pcap --api leaderandisr", ["LeaderAndIsr", "LeaderAndIsrRequest", "LeaderAndIsrResponse"]),
        ("kwire schema ListOffsets:", [str(version) for version in range(11, -1, -1)]),
        ("kwire call :9092 leaveg", ["LeaveGroup", "LeaveGroupRequest", "LeaveGroupResponse"]),
        ("kwire apis --release 3.9", ["3.9.2"]),
        ("kwire diff --release 3.9 4.0", ["4.0.2"]),
        ("kwire diff --release 3.9 4.0 FetchReq", ["FetchRequest"]),
        ("kwire stats x --by client,to", ["client,topic"]),
        ("kwire redact x --keep group", ["group", "groupid"]),
        ("kwire errors not_l", ["NOT_LEADER_OR_FOLLOWER"]),
        ("kwire help ex", ["exit-codes", "explain"]),
        (f"kwire cluster {PCAP} --topic pa", ["payments"]),
        (f"kwire decode {PCAP} --client kcat-g", ["kcat-group"]),
        (f"kwire {PCAP} --fields frame,protocol_t", ["frame,protocol_type"]),
        ("kwire decode --where 'request_f", [f"request_frame {sign}" for sign in OPERATORS]),
        ("kwire decode --where 'api == fetchs", ["api == FetchSnapshot"]),
        (
            "kwire decode --where 'api in (fetch, fetchs",
            ["api in (fetch, FetchSnapshot,", "api in (fetch, FetchSnapshot)"],
        ),
        ("kwire decode --where 'api == fetch and partition_m", FETCH_FIELD),
        ("kwire decode --api fetch --where 'topics[].topic_", ["topics[].topic_id " + sign for sign in OPERATORS]),
        ("kwire decode --api fetch --where 'isolation_level == read_c", ["isolation_level == READ_COMMITTED"]),
        ("kwire decode --where 'latency > 20ms a", ["latency > 20ms and"]),
        ("kwire decode --where 'latency no", ["latency not in ("]),
        ("kwire decode --where 'type == req", ["type == request"]),
        ("kwire decode --where 'cluster_i", [f"cluster_id {sign}" for sign in OPERATORS]),
        ("kwire decode --where 'client_id == \"a", []),
        ("kwire decode --where 'latency > 20parsecs a", []),
        ("kwire", []),
    ],
)
def test_words(line: str, answers: list[str]) -> None:
    assert complete("bash", line, parser_for()) == answers


def test_paths_of_fields_have_brackets_after_arrays_of_structs_only() -> None:
    """An array of numbers is a value of its own, and so is the only struct of a nullable field."""
    for command, expected in [
        ("decode --api MetadataResponse --where 'topics[].partitions[].i", "topics[].partitions[].isr_nodes =="),
        ("decode --api DescribeTopicPartitionsResponse --where 'next_cursor.t", "next_cursor.topic_name =="),
    ]:
        assert complete("bash", f"kwire {command}", parser_for())[0] == expected


def test_descriptions() -> None:
    assert complete("fish", "kwire dem", parser_for()) == ["demo\texplain a bundled dump of a real broker"]
    assert complete("zsh", "kwire dem", parser_for()) == ["demo:explain a bundled dump of a real broker"]
    assert complete("zsh", "kwire schema ListGroups:5", parser_for()) == ["ListGroups\\:5"]


def test_names_that_a_shell_would_run_are_left_out(tmp_path: Path) -> None:
    clients = ("good-1", "$(touch x)", "a b", "`x`", "-rf", "a\nb")
    frames = [kwire.encode_request(kwire.messages.MetadataRequest(topics=None), 1, client_id=one) for one in clients]
    (tmp_path / "dump.bin").write_bytes(b"".join(frames))
    assert complete("bash", f"kwire decode {tmp_path}/dump.bin --client ", parser_for()) == ["good-1"]


def test_the_command_answers_and_reads_no_more_than_it_must(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--complete", "bash", "kwire stats --rem"]) == 0
    assert capsys.readouterr().out == "--removed-in\n"
    assert main(["--complete", "bash", "kwire decode /no/such/file --client "]) == 0
    assert capsys.readouterr().out == ""


def test_the_table_names_options_and_arguments_that_exist() -> None:
    known = {
        name
        for path in (one.path for one in words_of(parser_for()))
        for action in _parser_of(path)._actions
        for name in (action.option_strings or [f"{' '.join(path)} {action.dest}"])
    }
    assert set(VALUES) <= known


def _parser_of(path: tuple[str, ...]):  # type: ignore[no-untyped-def]
    parser = parser_for()
    for word in path:
        parser = next(action.choices[word] for action in parser._actions if isinstance(action.choices, dict))
    return parser


def test_bash_completes(tmp_path: Path) -> None:
    script = tmp_path / "kwire"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kwire "$@"\n')
    script.chmod(0o755)
    line = "kwire decode --api LeaderAndIsr:6"
    words = "COMP_WORDS=(kwire decode --api LeaderAndIsr : 6); COMP_CWORD=5"
    ask = f"{SCRIPTS['bash']}\n{words}; COMP_LINE='{line}'; COMP_POINT={len(line)}; _kwire; echo \"${{COMPREPLY[@]}}\""
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, check=True, env=env)
    assert (done.stdout, done.stderr) == ("6\n", "")


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shell_takes_the_script(shell: str) -> None:
    found = shutil.which(shell)
    if found:  # bash is wherever these tests run; the others are tried where they are
        subprocess.run([found, "-n", "/dev/stdin"], input=SCRIPTS[shell], text=True, check=True, capture_output=True)
    assert found or shell != "bash"


def test_the_words_are_those_of_the_parser() -> None:
    words = {one.path: one for one in words_of(parser_for())}
    assert tuple(words[()].commands) == tuple(COMMANDS)
    assert words["stats",].options["--removed-in"].startswith("list clients that use")
