"""Every door that shows records shows keys and values by schema, and keeps the bytes of bad ones."""

from __future__ import annotations

import argparse
import io
import json
import re
import signal
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

import pytest

import kwire
from kwire import messages
from kwire.arrow import records, write_records
from kwire.cli.commands.mcp import Tools
from kwire.cli.commands.proxy import ShownMessages
from kwire.cli.main import main
from kwire.testing import Kafka
from tests.serdes.conftest import CASES, GOLDEN
from tests.serdes.registry import Answer, Registry

CLICK, TREE, KEY = CASES["JSON"], CASES["a record that holds itself"], CASES["a primitive type"]
BAD = TREE[:-1]
UNKNOWN = bytes.fromhex("00 00000063 ff")
RECORDS = [
    kwire.Record(0, 1700000000000, KEY, CLICK),
    kwire.Record(1, 1700000000001, b"plain", BAD),
    kwire.Record(2, 1700000000002, None, UNKNOWN),
    kwire.Record(3, 1700000000003, None, None),
]
BATCH = kwire.build_batch(RECORDS)


class Shown(NamedTuple):
    out: str
    err: str


def run(*words: str, code: int = 0) -> Shown:
    """Run a command; return what it wrote."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        assert main(list(words)) == code, err.getvalue()
    out.seek(0)
    return Shown(out.read(), err.getvalue())


@pytest.fixture
def log(tmp_path: Path) -> str:
    file = tmp_path / "clicks-0/00000000000000000000.log"
    file.parent.mkdir()
    file.write_bytes(BATCH)
    return str(file)


@pytest.fixture
def frames(tmp_path: Path) -> str:
    partition = messages.ProduceRequest.PartitionProduceData(index=3, records=BATCH)
    topic = messages.ProduceRequest.TopicProduceData(name="clicks", partition_data=[partition])
    file = tmp_path / "produce.bin"
    request = messages.ProduceRequest(acks=1, topic_data=[topic])
    file.write_bytes(kwire.encode_request(request, 9, correlation_id=1, client_id="eve"))
    return str(file)


def parts(members: dict[str, Any]) -> tuple[Any, Any]:
    return members["key"], members["value"]


def check_json(found: list[dict[str, Any]]) -> None:
    """Check the JSON of `RECORDS`."""
    first, second, third, last = map(parts, found)
    assert first == (
        {"schema": {"type": "AVRO", "id": 4}, "payload": "eve"},
        {"schema": {"type": "JSON", "id": 5, "name": "Click"}, "payload": {"page": "/ø", "n": 9007199254740993}},
    )
    error = {"code": "BAD_VALUE", "message": "it is cut short"}
    schema = {"type": "AVRO", "id": 3, "name": "Tree"}
    assert second == ({"text": "plain"}, {"base64": "AAAAAAMCAgQ=", "schema": schema, "error": error})
    assert third[1]["base64"] == "AAAAAGP/"
    assert third[1]["error"]["code"] == "NO_SCHEMA"
    assert last == (None, None)


def test_lines_of_a_log(log: str, registry: Registry) -> None:
    shown = run("decode", log, "--registry", registry.url, code=1)
    assert shown.out.splitlines()[2:] == [
        '       0 22:13:20.000 "eve": {"page":"/ø","n":9007199254740993}',
        '       1 22:13:20.001 !value: Tree, schema 3: it is cut short  "plain": 00000...',
        f"       2 22:13:20.002 !value: schema 99: {registry.url}: HTTP 404: Sc...",
        "       3 22:13:20.003 null: null",
    ]
    assert "by schema: 2 keys and values decoded, 2 not decoded" in shown.err
    assert "1 BAD_VALUE, first Tree, schema 3: it is cut short" in shown.err


def test_trees_of_a_log(log: str, registry: Registry) -> None:
    text = run("decode", "-v", log, "--registry", registry.url, code=1).out
    assert '    value: Click, schema 5\n      {"page":"/ø","n":9007199254740993}\n' in text
    assert "    value: 0000000003020204 (8 bytes)\n    ! value: Tree, schema 3: it is cut short\n" in text


@pytest.mark.parametrize("form", ["--jsonl", "--json"])
def test_json_of_a_log(log: str, registry: Registry, form: str) -> None:
    text = run("decode", form, log, "--registry", registry.url, code=1).out
    check_json(json.loads(text) if form == "--json" else [json.loads(line) for line in text.splitlines()])


def test_fields_of_a_log(log: str, registry: Registry) -> None:
    chosen = ("--fields", "offset,value,undecodable", "--where", "value contains 'page'")
    text = run("decode", log, *chosen, "--registry", registry.url, code=1).out
    assert text.splitlines()[1] == '0\t{"page":"/ø","n":9007199254740993}\t'
    assert [line.split("\t")[2] for line in text.splitlines()[2:]] == []
    bad = run("decode", log, "--errors", "--fields", "offset,undecodable", "--registry", registry.url, code=1).out
    assert bad.splitlines()[1:] == ["1\tBAD_VALUE", "2\tNO_SCHEMA"]


@pytest.mark.parametrize("form", ["--jsonl", "--json"])
def test_json_of_frames_has_their_records(frames: str, registry: Registry, form: str) -> None:
    text = run("decode", form, frames, "--registry", registry.url, code=1).out
    frame = json.loads(text)[0] if form == "--json" else json.loads(text)
    check_json(frame["records"])
    assert (frame["records"][0]["topic"], frame["records"][0]["partition"]) == ("clicks", 3)


def test_json_of_frames_with_records_is_encoded_to_the_same_bytes(
    frames: str, registry: Registry, tmp_path: Path
) -> None:
    lines = tmp_path / "frames.jsonl"
    lines.write_text(run("decode", "--jsonl", frames, "--registry", registry.url, code=1).out, "utf-8")
    run("encode", str(lines), "-o", str(tmp_path / "again.bin"))
    assert (tmp_path / "again.bin").read_bytes() == Path(frames).read_bytes()


def test_trees_of_frames(frames: str, registry: Registry) -> None:
    text = run("decode", "-v", frames, "--registry", registry.url, code=1).out
    assert '"eve": {"page":"/ø","n":9007199254740993}' in text
    assert "!value: Tree, schema 3: it is cut short" in text


def test_lines_of_frames_are_refused(frames: str, registry: Registry) -> None:
    assert "show no records; add -v or --jsonl" in run("decode", frames, "--registry", registry.url, code=2).err
    assert registry.asked == []


def test_a_report_counts_by_schema(frames: str, registry: Registry, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    run("report", frames, "--registry", registry.url, "-o", str(page), code=1)
    text = page.read_text("utf-8")
    assert "<h2>Keys and values by schema</h2>" in text
    assert "<td>Tree, schema 3</td>" in text
    assert "<td>it is cut short</td><td>frame 0 at 0, offset 1</td>" in text
    run("report", frames, "-o", str(page))
    assert "by schema" not in page.read_text("utf-8")


def test_arrow_has_columns_of_them(frames: str, log: str, registry: Registry, tmp_path: Path) -> None:
    for path in (frames, log):
        rows = [row["record"] for row in records(path, registry=registry.url).read_all().to_pylist()]
        assert [row["value_json"] for row in rows] == ['{"page":"/ø","n":9007199254740993}', None, None, None]
        assert [row["value_schema"] for row in rows] == ["Click, schema 5", "Tree, schema 3", "schema 99", None]
        assert rows[1]["value_schema_error"] == "BAD_VALUE: it is cut short"
        assert [row["value"] for row in rows] == [CLICK, BAD, UNKNOWN, None]
        assert [row["key_json"] for row in rows] == ['"eve"', None, None, None]
    assert write_records(log, tmp_path / "tables", registry=registry.url)[1:] == (4, 0)
    assert "value_json" not in {field.name for field in records(log).schema.field("record").type}


def test_parquet_has_frames_and_records(frames: str, registry: Registry, tmp_path: Path) -> None:
    folder = tmp_path / "tables"
    run("decode", frames, "--parquet", str(folder), "--registry", registry.url)
    assert sorted(file.name for file in folder.iterdir()) == ["frames.parquet", "records.parquet"]


def test_schemas_of_a_folder_by_id_and_by_topic(log: str, tmp_path: Path) -> None:
    folder = tmp_path / "schemas"
    folder.mkdir()
    (folder / "4.avsc").write_text(GOLDEN["schemas"]["4"]["schema"])
    (folder / "3.json").write_text(json.dumps(GOLDEN["schemas"]["3"]))  # a saved answer of a registry
    (folder / "clicks-value.json").write_text('{"title": "Click", "type": "object"}')
    shown = run("decode", log, "--registry", str(folder), code=1)
    lines = shown.out.splitlines()[2:]
    assert lines[0].endswith('"eve": {"page":"/ø","n":9007199254740993}')
    assert "!value: Tree, schema 3: it is cut short" in lines[1]


def test_raw_values_are_read_by_the_schema_of_their_topic(tmp_path: Path) -> None:
    folder = tmp_path / "schemas"
    folder.mkdir()
    (folder / "trees.avsc").write_text(GOLDEN["schemas"]["3"]["schema"])
    (folder / "trees-key.proto").write_text('syntax = "proto3"; message Id { int32 n = 1; }')
    file = tmp_path / "trees.log"
    file.write_bytes(kwire.build_batch([kwire.Record(0, 0, bytes.fromhex("0807"), TREE[5:])]))
    shown = run("decode", str(file), "--log-of", "trees", "--registry", str(folder))
    assert shown.out.splitlines()[-1].endswith('{"n":7}: {"n":1,"left":{"n":2,"left":null}}')


def test_records_of_kafkas_own_topics_are_not_asked_for(registry: Registry) -> None:
    log = "fixtures/logs/__consumer_offsets-1/00000000000000000000.log"
    assert run("decode", log, "--registry", registry.url).out == run("decode", log).out
    assert records(log, registry=registry.url).read_all().num_rows
    assert registry.asked == []


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--count"], "cannot be combined"),
        (["--jsonl", "--jobs", "2"], "cannot be combined"),
        (["--registry", "ftp://eve:geheim@host"], "not the URL of a schema registry"),
        (["--registry", "no such folder"], "No such file"),
    ],
)
def test_what_does_not_go_together_is_refused(log: str, registry: Registry, options: list[str], reason: str) -> None:
    error = run("decode", log, "--registry", registry.url, *options, code=2).err
    assert reason in error
    assert "geheim" not in error


@pytest.mark.parametrize("form", [[], ["--jsonl"]])
def test_a_call_decodes_what_it_fetches(registry: Registry, form: list[str]) -> None:
    partition = {"partition": 0, "fetchOffset": 0, "partitionMaxBytes": 1_000_000}
    topics = json.dumps([{"topic": "clicks", "partitions": [partition]}])
    with Kafka() as kafka:
        kafka.create_topic("clicks")
        kafka.produce("clicks", CLICK, key=KEY)
        kafka.produce("clicks", BAD)
        fetch = ("Fetch:11", f"topics:={topics}", "maxBytes=1000000", "minBytes=1")
        shown = run("call", kafka.bootstrap_servers, *fetch, "--registry", registry.url, *form, code=1)
    assert '{"page":"/ø","n":9007199254740993}' in shown.out
    assert "it is cut short" in shown.out
    assert "by schema: 2 keys and values decoded, 1 not decoded" in shown.err


def test_explain_has_the_records_below_the_bytes(frames: str, log: str, registry: Registry, tmp_path: Path) -> None:
    for path, name in ((frames, "# records of clicks-3"), (log, "# batch at 0")):
        plain = run("explain", path).out
        shown = run("explain", path, "--registry", registry.url, code=1)
        assert shown.out.startswith(plain)
        comments = shown.out[len(plain) :].splitlines()
        assert all(line.startswith("# ") for line in comments)
        assert comments[0].startswith(name)
        assert comments[-4] == '#        0 22:13:20.000 "eve": {"page":"/ø","n":9007199254740993}'
        assert "!value: Tree, schema 3: it is cut short" in comments[-3]
        assert "1 BAD_VALUE, first Tree, schema 3: it is cut short" in shown.err
    hexdump = tmp_path / "explained.hex"
    hexdump.write_text(run("explain", frames, "--registry", registry.url, code=1).out, "utf-8")
    assert [frame.data for frame in kwire.read_dump(hexdump)] == [Path(frames).read_bytes()]


def test_a_page_of_explain_has_the_records(frames: str, registry: Registry, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    run("explain", frames, "--html", "--registry", registry.url, "-o", str(page), code=1)
    shown = page.read_text("utf-8").partition('<pre class="records">')[2].partition("</pre>")[0]
    assert "&quot;eve&quot;: {&quot;page&quot;:&quot;/ø&quot;,&quot;n&quot;:9007199254740993}" in shown
    run("explain", frames, "--html", "-o", str(page))
    assert "<pre" not in page.read_text("utf-8")
    error = run("explain", frames, "--fixture", "--registry", registry.url, code=2).err
    assert "--registry shows what keys and values say: it cannot be combined with --fixture" in error


def test_a_proxy_passes_messages_on_while_the_registry_is_asked(registry: Registry) -> None:
    asked, may_answer, answer = Event(), Event(), registry.answer

    def answer_later(target: str) -> Answer:
        asked.set()
        assert may_answer.wait(60)
        return answer(target)

    registry.answer = answer_later  # type: ignore[method-assign]
    with Kafka() as kafka:
        kafka.create_topic("clicks")
        kafka.produce("clicks", CLICK, key=KEY)
        proxy = [sys.executable, "-m", "kwire", "proxy", ":0", kafka.bootstrap_servers, "--registry", registry.url]
        with subprocess.Popen(proxy, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout and process.stderr
                listening = re.search(r"listening on (\S+) for", process.stderr.readline())
                assert listening
                partition = {"partition": 0, "fetchOffset": 0, "partitionMaxBytes": 1_000_000}
                topics = json.dumps([{"topic": "clicks", "partitions": [partition]}])
                fetch = ("Fetch:11", f"topics:={topics}", "maxBytes=1000000", "minBytes=1")
                run("call", listening[1], *fetch)
                assert asked.wait(60)
                run("call", listening[1], "ApiVersions:0")  # answered, though no registry answered yet
                may_answer.set()
                shown = ""
                while not shown.count("<- ApiVersions:0"):
                    shown += process.stdout.readline()
                process.send_signal(signal.SIGINT)
                assert process.wait(60) == 130
                assert "kwire: by schema: 2 keys and values decoded, 0 not decoded\n" in process.stderr.read()
            finally:
                may_answer.set()
                process.kill()
    below = shown.partition("<- Fetch:11")[2].splitlines()
    assert below[1] == "  # records of clicks-0"
    assert below[4].endswith('"eve": {"page":"/ø","n":9007199254740993}')


def test_json_of_a_proxy_has_the_records(registry: Registry, capsys: pytest.CaptureFixture[str], frames: str) -> None:
    options = argparse.Namespace(quiet=False, jsonl=True, color="never", registry=registry.url)
    with ShownMessages(options) as show:
        for result in kwire.decode_frames(kwire.read_dump(frames)):
            show(result)
        show.finish()
    assert show.count == 1
    check_json(json.loads(capsys.readouterr().out)["records"])


def test_an_assistant_asks_for_values(frames: str, log: str, registry: Registry) -> None:
    tools = Tools([Path(frames), Path(log)], registry=registry.url)
    assert "eve" not in tools.decode(log).text
    assert '"eve": {"page":"/ø","n":9007199254740993}' in tools.decode(log, values=True).text
    for answer in (tools.explain(frames, 0, values=True), tools.exchange(frames, 0, values=True)):
        assert '"eve": {"page":"/ø","n":9007199254740993}' in answer.text
        assert "kwire: 1 BAD_VALUE, first Tree, schema 3: it is cut short" in answer.text
    with pytest.raises(ValueError, match="kwire mcp --registry URL"):
        Tools([Path(frames)]).explain(frames, 0, values=True)
    assert "not the URL of a schema registry" in run("mcp", frames, "--registry", "ftp://host", code=2).err
