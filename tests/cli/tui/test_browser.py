"""`kwire browse`, driven by Textual's pilot: what the screen shows after keys."""

from __future__ import annotations

import argparse
import asyncio
import os
import pty
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from threading import Event

import pytest

import kwire
from kwire.capture.dump import Dump
from kwire.capture.open_dump import open_dump
from kwire.cli.commands.browse import loading
from kwire.cli.input.dumps import dumps_in
from kwire.cli.main import main
from kwire.cli.tui.browser import Browser
from kwire.cli.tui.frame_index import FrameIndex
from kwire.cli.tui.list_screen import TextList
from kwire.cli.tui.panes import ByteList, FieldList, FrameList
from kwire.errors import DumpError
from kwire.schema.catalog import catalog_for
from kwire.serdes import RecordDeserializer, SchemaFolder
from tests.conftest import ROOT

CAPTURE = str(ROOT / "fixtures/dumps/kafka-3.9-zk.pcap")
RESULTS = list(kwire.decode_frames(kwire.read_dump(CAPTURE)))


class Written:
    """Takes what is exported."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.file = ""

    def __call__(self, frames: Iterator[kwire.Frame], file: str) -> int:
        self.frames, self.file = [frame.data for frame in frames], file
        return len(self.frames)


class Screen:
    """The application in a terminal of 80 columns and 24 lines."""

    def __init__(self, app: Browser, pilot: object) -> None:
        self.app, self.pilot = app, pilot
        self.frames, self.fields = app.query_one(FrameList), app.query_one(FieldList)
        self.bytes = app.query_one(ByteList)

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)  # type: ignore[attr-defined]
        await self.settle()

    async def type(self, key: str, text: str) -> None:
        await self.press(key, *text, "enter")

    async def settle(self) -> None:
        await self.app.workers.wait_for_complete()
        await self.pilot.pause()  # type: ignore[attr-defined]

    @property
    def lines(self) -> list[str]:
        strips = self.app.screen._compositor.render_strips()
        return ["".join(segment.text for segment in strip).rstrip() for strip in strips]

    @property
    def state(self) -> str:
        return self.lines[-2]


def browse(
    steps: Callable[[Screen], Awaitable[None]],
    frames: Iterator[kwire.Frame] | None = None,
    sealed: bool = True,
    values: RecordDeserializer | None = None,
) -> Written:
    written = Written()

    async def run() -> None:
        with FrameIndex(catalog_for(), sealed=sealed) as index, open_dump(CAPTURE) as dump:
            dumps = [dump] if frames is None else [Dump("frames", frames)]
            await run_in(Browser(loading(index, dumps), index, "x.pcap", written, values=values))

    async def run_in(app: Browser) -> None:
        async with app.run_test(size=(80, 24)) as pilot:
            screen = Screen(app, pilot)
            await screen.settle()
            await steps(screen)

    asyncio.run(run())
    return written


def test_all_frames_are_listed_and_panes_follow() -> None:
    async def steps(screen: Screen) -> None:
        assert screen.state == "x.pcap: 114 frames"
        assert all(len(line) <= 80 for line in screen.lines)
        await screen.press("down", "down", "down")
        assert screen.frames.number == 3
        assert screen.bytes.data == RESULTS[3].frame.data
        assert screen.fields.span is not None
        assert screen.fields.span.path == "size"
        await screen.press("end")
        assert screen.frames.number == 113

    browse(steps)


def test_characters_of_a_short_row_stand_below_those_of_a_whole_one() -> None:
    async def steps(screen: Screen) -> None:
        screen.bytes.show(b"12345678abc")
        whole, short = ("".join(text for text, _ in screen.bytes.text(line)) for line in (0, 1))
        assert whole.index("12345678") == short.index("abc")

    browse(steps)


def test_a_byte_shows_its_field_and_a_field_its_bytes() -> None:
    async def steps(screen: Screen) -> None:
        await screen.press("tab", "down", "down")
        span = screen.fields.span
        assert span is not None
        assert (span.path, screen.bytes.marked) == ("header.request_api_version", (span.start, span.stop))
        await screen.press("tab", "down", "right")  # byte 9 is in the correlation id
        assert screen.bytes.offset_at == 9
        assert screen.fields.span is not None
        assert screen.fields.span.path == "header.correlation_id"

    browse(steps)


def test_a_filter_and_the_slowest_first() -> None:
    expected = [number for number, one in enumerate(RESULTS) if kwire.parse_filter("latency > 20ms")(one)]

    async def steps(screen: Screen) -> None:
        await screen.type("slash", "latency > 20ms")
        assert list(screen.frames.numbers) == expected
        assert screen.frames.number == expected[0]
        assert "13 shown  filter: latency > 20ms" in screen.state
        await screen.press("s")
        latencies = [screen.app.index.latency(number) or 0 for number in screen.frames.numbers]
        assert latencies == sorted(latencies, reverse=True)
        assert 0.9 < latencies[0] < 1
        await screen.press("escape", "s")
        assert len(screen.frames.numbers) == 114

    browse(steps)


def test_a_wrong_filter_says_where() -> None:
    async def steps(screen: Screen) -> None:
        await screen.type("slash", "latncy > 1")
        assert "column 1: no message has the field latncy" in screen.state
        assert len(screen.frames.numbers) == 114

    browse(steps)


def test_from_a_request_to_its_response_and_back() -> None:
    async def steps(screen: Screen) -> None:
        await screen.type("slash", "api == JoinGroup and client_id == 'lab-rack-range-2'")
        await screen.press("escape")
        for number, one in enumerate(RESULTS):
            partner = screen.app.index.partner(number)
            if isinstance(one, kwire.Response) and one.request is not None:
                assert partner is not None
                asked = RESULTS[partner]
                assert isinstance(asked, kwire.Request)
                assert (asked.correlation_id, asked.frame.source.client) == (
                    one.correlation_id,
                    one.frame.source.client,
                )
        await screen.press("home", "r")
        assert screen.frames.number == 1
        await screen.press("r")
        assert screen.frames.number == 0

    browse(steps)


def test_one_connection() -> None:
    async def steps(screen: Screen) -> None:
        await screen.press("end", "c")
        source = RESULTS[113].frame.source
        assert [RESULTS[number].frame.source.connection for number in screen.frames.numbers] == [
            source.connection
        ] * len(screen.frames.numbers)
        assert "one connection" in screen.state
        await screen.press("c")
        assert len(screen.frames.numbers) == 114

    browse(steps)


def test_what_is_shown_is_written_with_its_partners() -> None:
    async def steps(screen: Screen) -> None:
        await screen.type("slash", "error_code == 79 and type == response")
        assert len(screen.frames.numbers) == 3
        await screen.type("w", "part.pcap")
        assert "6 frames written to part.pcap" in screen.state

    written = browse(steps)
    assert written.file == "part.pcap"
    assert len(written.frames) == 6


def test_secrets_are_not_shown() -> None:
    message = kwire.messages.SaslAuthenticateRequest(auth_bytes=b"\0alice\0wonder")
    data = kwire.encode_request(message, 1, correlation_id=1, client_id="me")

    async def hidden(screen: Screen) -> None:
        await screen.press("end")
        assert b"wonder" not in screen.bytes.data
        assert not any("wonder" in line for line in screen.lines)

    async def shown(screen: Screen) -> None:
        await screen.press("end")
        assert b"wonder" in screen.bytes.data

    browse(hidden, iter([kwire.Frame(data)]))
    browse(shown, iter([kwire.Frame(data)]), sealed=False)


def test_a_dump_that_breaks_off_says_why_and_keeps_its_frames() -> None:
    def frames() -> Iterator[kwire.Frame]:
        yield kwire.Frame(RESULTS[0].frame.data)
        raise DumpError("the disk is gone", file="x.pcap")

    async def steps(screen: Screen) -> None:
        assert "the disk is gone" in screen.state
        assert len(screen.frames.numbers) == 1

    browse(steps, frames())


def test_without_the_library_the_command_says_what_installs_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "textual", None)
    for name in [name for name in __import__("sys").modules if name.startswith(("textual.", "kwire.cli.tui.browser"))]:
        monkeypatch.delitem(__import__("sys").modules, name)
    assert main(["browse", CAPTURE]) == 2
    assert "pip install 'kwire[tui]'" in capsys.readouterr().err


@pytest.mark.parametrize("path", sorted((ROOT / "fixtures/dumps").glob("*.pcap*")), ids=lambda path: path.name)
def test_an_index_of_a_capture_is_that_of_its_frames(path: Path) -> None:
    with FrameIndex(catalog_for()) as quick, FrameIndex(catalog_for()) as index:
        with open_dump(path) as dump:
            assert dump.captured is not None
            *_, count = loading(quick, [dump])
        frames = list(kwire.read_dump(path))
        *_, same = loading(index, [Dump("frames", iter(frames))])
        assert count == same == len(frames)
        for number, frame in enumerate(frames):
            again, other = quick.frame(number), index.frame(number)
            assert (again.data, again.fault, again.source.time) == (frame.data, frame.fault, frame.source.time)
            assert (again.source.client, again.source.direction) == (frame.source.client, frame.source.direction)
            assert again.source.offset == other.source.offset == frame.source.offset
            assert quick.partner(number) == index.partner(number)
            assert (quick.latency(number) or 0) == pytest.approx(index.latency(number) or 0, abs=2e-6)
            assert type(quick.result(number)) is type(index.result(number))


def test_connections_of_two_dumps_are_two() -> None:
    with FrameIndex(catalog_for()) as index, open_dump(CAPTURE) as one, open_dump(CAPTURE) as other:
        *_, count = loading(index, [one, other])
        assert count == 2 * len(RESULTS)
        half = len(RESULTS)
        pairs = [index.partner(number) for number in range(half)]
        assert [index.partner(number) for number in range(half, count)] == [
            None if one is None else one + half for one in pairs
        ]


def test_keys_come_from_the_terminal_if_the_dump_comes_from_a_pipe() -> None:
    """The terminal is the one that controls the process: here, the first that a process of a new session opens."""
    program = (
        "import os, sys; from kwire.cli.commands.browse import _free_the_keyboard; os.open(sys.argv[1], os.O_RDWR); "
        "_free_the_keyboard(); print(os.read(0, 4), sys.stdin.buffer.read())"
    )
    keyboard, terminal = pty.openpty()
    try:
        os.write(keyboard, b"key\n")
        command = [sys.executable, "-c", program, os.ttyname(terminal)]
        done = subprocess.run(command, input=b"dump", capture_output=True, start_new_session=True, check=False)
    finally:
        os.close(keyboard)
        os.close(terminal)
    assert (done.stdout, done.stderr) == (b"b'key\\n' b'dump'\n", b"")


def test_a_pipe_that_stays_open_is_ended() -> None:
    program = (
        "import os, sys; from kwire.cli.commands.browse import _free_the_keyboard; os.open(sys.argv[1], os.O_RDWR); "
        "end = _free_the_keyboard(); print(sys.stdin.buffer.read(4)); end(); print(sys.stdin.buffer.read())"
    )
    keyboard, terminal = pty.openpty()
    command = [sys.executable, "-c", program, os.ttyname(terminal)]
    try:
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdin.write(b"dump")
            process.stdin.flush()
            assert process.stdout.read() == b"b'dump'\nb''\n"
            assert process.stderr.read() == b""
    finally:
        os.close(keyboard)
        os.close(terminal)


def test_find_go_to_marks_and_help() -> None:
    async def steps(screen: Screen) -> None:
        await screen.type("f", "joingroup")
        first = screen.frames.cursor
        assert "JoinGroup" in screen.app._line(screen.frames.numbers[first], 200)
        await screen.press("n")
        second = screen.frames.cursor
        assert second > first
        await screen.press("N", "m")
        assert screen.frames.cursor == first
        await screen.type("colon", "60")
        assert screen.frames.number == 60
        await screen.type("colon", "06:29:35")
        assert (RESULTS[screen.frames.number or 0].frame.source.time or 0) >= 1795242575
        await screen.press("apostrophe")
        assert screen.frames.cursor == first
        await screen.type("f", "nowhere-at-all")
        assert "no line has" in screen.state
        await screen.press("s")
        assert "no line has" in screen.state or "slowest first" in screen.state
        await screen.press("question_mark")
        assert any("next mark" in line for line in screen.lines)
        await screen.press("escape")
        assert not any("next mark" in line for line in screen.lines)

    browse(steps)


def test_earlier_filters_are_recalled() -> None:
    async def steps(screen: Screen) -> None:
        await screen.type("/", "api==fetch")
        await screen.press("escape")
        await screen.press("/", "up", "enter")
        assert "filter: api==fetch" in screen.state

    browse(steps)


def test_the_last_word_of_a_filter_is_completed() -> None:
    async def steps(screen: Screen) -> None:
        await screen.press("slash", *"api == JoinG", "right", *" and laten", "right", *" > 20ms", "enter")
        assert "filter: api == JoinGroup and latency > 20ms" in screen.state
        await screen.press("slash", "end", *" and no_such", "right", "enter")
        assert "no message has the field no_such" in screen.state

    browse(steps)


def test_a_growing_file_is_followed_until_the_end(tmp_path: Path) -> None:
    file, data = tmp_path / "grows.pcap", Path(CAPTURE).read_bytes()
    file.write_bytes(data[:20000])
    options = argparse.Namespace(follow=True, files=[str(file)], hex=None, recursive=False, stopped=Event())

    async def run() -> None:
        with FrameIndex(catalog_for()) as index:
            app = Browser(loading(index, dumps_in(options)), index, "x", Written(), options.stopped.set)
            async with app.run_test(size=(80, 24)) as pilot:
                while not len(index):
                    await pilot.pause(0.05)
                assert len(index) < 114
                with file.open("ab") as stream:
                    stream.write(data[20000:])
                while len(index) < 114:
                    await pilot.pause(0.05)
            assert options.stopped.is_set()

    asyncio.run(run())


def test_an_event_of_the_timeline_leads_to_its_frame(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["timeline", CAPTURE, "--color", "never"]) == 0
    listed = [line for line in capsys.readouterr().out.splitlines() if line[0] != "#" and " connection " not in line]

    async def steps(screen: Screen) -> None:
        await screen.press("t")
        shown = screen.app.screen.query_one(TextList)
        assert list(shown.lines) == listed
        wanted = next(line for line, text in enumerate(listed) if " rebalance " in text)
        assert screen.lines[1].startswith("2026-11-21")
        await screen.press(*["down"] * wanted, "enter")
        assert f" @{screen.frames.number} " in listed[wanted]
        await screen.press("t", "escape")
        assert screen.state == "x.pcap: 114 frames"

    browse(steps)


def test_counts_of_the_shown_frames_lead_to_a_filter() -> None:
    async def steps(screen: Screen) -> None:
        await screen.type("slash", "api == JoinGroup")
        await screen.press("a")
        head, *rows = screen.lines[1:]
        assert head.split()[:3] == ["api", "client", "requests"]
        api, client, requests, responses = rows[0].split()[:4]
        assert api == "JoinGroup"
        await screen.press("enter")
        assert f'  filter: api == JoinGroup and client_id == "{client}"'.startswith(
            screen.state.partition("shown")[2][:-1]
        )
        assert len(screen.frames.numbers) == int(requests) + int(responses)

    browse(steps)


def test_a_timeline_of_what_cannot_be_read_is_empty() -> None:
    async def steps(screen: Screen) -> None:
        await screen.press("t", "enter")
        assert screen.state == "x.pcap: 1 frame"

    browse(steps, iter([kwire.Frame(b"\0\0")]))


def test_values_by_schema_stand_below_the_fields() -> None:
    batch = (ROOT / "fixtures/values/clicks-0/00000000000000000000.log").read_bytes()
    partition = kwire.messages.ProduceRequest.PartitionProduceData(records=batch)
    topic = kwire.messages.ProduceRequest.TopicProduceData(name="clicks", partition_data=[partition])
    produce = kwire.messages.ProduceRequest(acks=1, topic_data=[topic])
    metadata = kwire.encode_request(kwire.messages.MetadataRequest(), 9, correlation_id=1)
    frames = [kwire.Frame(metadata), kwire.Frame(kwire.encode_request(produce, 9, correlation_id=2))]

    async def steps(screen: Screen) -> None:
        await screen.press("down", "tab", "end")
        shown = ["".join(text for text, _ in screen.fields.text(line)) for line in range(screen.fields.count)]
        assert shown[-6] == "# records of clicks-0"
        assert shown[-3] == '       0 17:30:00.000 "eve": {"page":"/ø","n":9007199254740993}'
        assert "!value: Tree, schema 3: it is cut short" in shown[-1]
        assert screen.fields.span is None  # bytes stay as they are marked
        assert any("# records of clicks-0" in line for line in screen.lines)
        await screen.press("shift+tab", "up")
        assert screen.fields.count == len(screen.fields.spans)

    browse(steps, iter(frames), values=RecordDeserializer(SchemaFolder(ROOT / "fixtures/values/schemas")))
