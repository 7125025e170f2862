"""The page of `explain --html`: whole, harmless, and alive in a browser where there is one."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

import kwire
from kwire import Frame
from kwire.cli.main import main
from kwire.protocol.message_summary import MessageSummary
from kwire.render.colours import Style
from kwire.render.frame_line import frame_line
from kwire.render.html.document import asset, document, embedded, text
from kwire.render.html.explain_page import MOST, explain_html, explain_page, result_html
from tests.browser import Structure, loaded, run_page
from tests.conftest import ROOT
from tests.linear_time.effort import at_most
from tests.protocol.test_frame_decoder import request, response

DUMP = ROOT / "fixtures/dumps/kafka-3.9-zk.bin"
CAPTURE = ROOT / "fixtures/dumps/kafka-3.9-zk.pcap"
HOSTILE = [
    "</script><script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "'\"><svg onload=document.title='owned'>",
    "<!--<script>",
    "]]>&lt;b&gt;",
    "a\u202eb\x00c\u2028",
]


def hostile_frames() -> list[Frame]:
    cls: Any = kwire.messages.MetadataRequest
    topics = tuple(cls.MetadataRequestTopic(name=name) for name in HOSTILE)
    return [
        Frame(kwire.encode_request(cls(topics=topics), 4, correlation_id=number, client_id=client))
        for number, client in enumerate(HOSTILE)
    ]


def page_of(frames: list[Frame], name: str = "dump") -> str:
    return "".join(explain_page(name, kwire.decode_frames(frames)))


def test_a_page_is_whole_and_asks_for_nothing() -> None:
    page = page_of(list(kwire.read_dump(DUMP)), "a dump")
    found = Structure(page)
    assert page.startswith("<!DOCTYPE html>\n")
    assert "http://" not in page and "https://" not in page
    assert not [attributes for _, attributes in found.tags if {"src", "href", "style", "onload"} & set(attributes)]
    assert [attributes["class"] for attributes in found.attributes("details")] == [
        "frame request",
        "frame response",
        "frame request",
        "frame response",
        "frame request",
        "frame response",
    ]
    assert ["open" in attributes for attributes in found.attributes("details")] == [True, *[False] * 5]
    assert 'Metadata v12 request, correlation 1, client "lab-producer", 55 bytes, frame 4 at 525' in found.text
    assert found.scripts == [asset("page.js")]


def test_the_bytes_of_all_frames_are_on_the_page_and_every_one_has_a_field() -> None:
    found = Structure(page_of(list(kwire.read_dump(DUMP))))
    assert b"".join(base64.b64decode(members["bytes"]) for members in found.data) == DUMP.read_bytes()
    for members in found.data:
        at = 0
        for _, _, start, stop, *_ in members["nodes"]:
            assert start == at
            at = stop
        assert at == len(base64.b64decode(members["bytes"]))


def test_one_message_has_a_page_too() -> None:
    codec = kwire.codec("MetadataRequest", 4)
    data = bytes.fromhex("00000001 0003 616263 01")
    (members,) = Structure(kwire.explain_html(data, codec.trace(data), codec)).data
    assert members["nodes"] == [
        [0, "topics", 0, 4, "nullable array", "1 item", []],
        [1, "[0]", 4, 4, "", "", []],
        [2, "name", 4, 9, "string", '"abc"', []],
        [0, "allow_auto_topic_creation", 9, 10, "bool", "true", []],
    ]
    assert "4 bytes - kwire</title>" in explain_html(bytes(4), [])


def test_what_is_wrong_is_said() -> None:
    bad, cut = (Structure(page_of([Frame(data)])) for data in (bytes.fromhex("00000004 270f0001"), response()[:20]))
    assert bad.attributes("details")[0]["class"] == "frame undecodable"
    assert bad.data[0]["nodes"][0][4] == "not understood"
    assert "9999" in bad.data[0]["errors"][0]
    assert bad.data[0]["nodes"][0][6] == ["UnknownApi: api key 9999 is not known"]
    assert "topic_data: 4 bytes needed, 0 left" in cut.data[0]["errors"][0]


def test_a_result_that_was_not_traced_is_read_again() -> None:
    asked, answer = kwire.decode_frames([Frame(request(1)), Frame(response(1))])
    traced = list(kwire.decode_frames([Frame(request(1)), Frame(response(1))], trace=True))
    assert [result_html(asked), result_html(answer)] == [result_html(result) for result in traced]


def test_a_huge_frame_is_truncated_with_a_note() -> None:
    codec = kwire.codec("SaslAuthenticateRequest", 0)
    data = codec.encode(codec.message_class(auth_bytes=bytes(MOST + 10)))
    (members,) = Structure(explain_html(data, codec.trace(data), codec)).data
    assert members["errors"] == [f"the first {MOST} of {MOST + 14} bytes are shown"]
    assert len(base64.b64decode(members["bytes"])) == MOST


def test_hostile_text_is_text() -> None:
    frames = hostile_frames()
    page = page_of(frames, HOSTILE[0])
    found = Structure(page)
    assert [tag for tag, _ in found.tags if tag in ("img", "svg", "b")] == []
    assert page.count("<script") == len(frames) + 1
    assert len(found.data) == len(frames)
    values = [node[5] for node in found.data[0]["nodes"] if node[1] == "name"]
    assert values[1] == r'"<img src=x onerror=\"document.title=' + "'owned'" + r'\">"'
    assert "\u202e" not in page and "\u2028" not in page and "\x00" not in page
    assert text("<'\"&\x1b") == "&lt;&#x27;&quot;&amp;\\u001b"
    assert embedded("</script>") == '"\\u003c/script>"'


def test_the_policy_names_the_one_style_and_the_one_script() -> None:
    page = "".join(document("t", "p { color: red }", "1 + 1", ["<p>x</p>"]))
    (policy,) = [
        str(attributes["content"])
        for attributes in Structure(page).attributes("meta")
        if attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    # echo -n '1 + 1' | openssl dgst -sha256 -binary | base64
    assert "script-src 'sha256-cvzllEegH0iLEWnS10JnnP4waol3LWf+8Bi8/pVDH2g='" in policy
    assert policy.startswith("default-src 'none';")


def test_no_script_is_made_of_data() -> None:
    assert Structure(page_of(hostile_frames(), "harmless")).scripts == [asset("page.js")]


def test_no_script_of_data_runs_with_or_without_the_policy(chromium: str, tmp_path: Path) -> None:
    page = page_of(hostile_frames(), "harmless")
    assert "<title>harmless - kwire</title>" in loaded(page, tmp_path)
    steps = """
        let views = 0;
        for (const summary of document.querySelectorAll("summary")) {
            summary.click(); views += document.querySelectorAll(".view").length; }
        return [document.title, document.querySelectorAll("img, svg").length, document.scripts.length, views];"""
    assert run_page(page, tmp_path, steps) == ["harmless - kwire", 0, 8, 6]


STEPS = """
    const over = (element) => element.dispatchEvent(new MouseEvent("mouseover", {bubbles: true}));
    const lit = () => [...document.querySelectorAll(".byte.on")].map((cell) => cell.textContent).join(" ");
    const inner = () => [...document.querySelectorAll(".byte.in")].map((cell) => cell.textContent).join(" ");
    const field = () => [...document.querySelectorAll(".row.on .name")].map((name) => name.textContent).join();
    const row = (name) => [...document.querySelectorAll(".fields .row")]
        .find((line) => line.querySelector(".name").textContent === name);
    const press = (pane, key) => document.querySelector(pane).dispatchEvent(new KeyboardEvent("keydown", {key}));
    const status = () => document.querySelector(".status").textContent;
    const seen = {};
"""


def stepped(folder: Path, steps: str) -> Any:
    codec = kwire.codec("MetadataRequest", 4)
    data = bytes.fromhex("00000001 0003 616263 01")
    return run_page(kwire.explain_html(data, codec.trace(data), codec), folder, f"{STEPS} {steps} return seen;")


def test_pointing_lights_up_bytes_and_fields(chromium: str, tmp_path: Path) -> None:
    seen = stepped(
        tmp_path,
        """
        over(row("name")); seen.bytes = lit(); seen.status = status();
        over(row("topics")); seen.own = lit(); seen.inner = inner();
        over(document.querySelector(".byte[data-at='9']")); seen.field = field();
        over(document.querySelector(".letter[data-at='7']")); seen.letter = field();
        document.querySelector(".fields").dispatchEvent(new MouseEvent("mouseleave")); seen.left = lit();
        row("name").click();
        document.querySelector(".fields").dispatchEvent(new MouseEvent("mouseleave")); seen.kept = lit();
        row("topics").querySelector(".fold").click(); seen.rows = document.querySelectorAll(".fields .row").length;
        over(document.querySelector(".byte[data-at='6']")); seen.folded = field();
        """,
    )
    assert seen == {
        "bytes": "00 03 61 62 63",
        "status": 'topics[0].name  ·  string  ·  "abc"  ·  bytes 4–8 (5)',  # noqa: RUF001
        "own": "00 00 00 01",
        "inner": "00 03 61 62 63",
        "field": "allow_auto_topic_creation",
        "letter": "name",
        "left": "",
        "kept": "00 03 61 62 63",
        "rows": 2,
        "folded": "topics",
    }


def test_the_page_is_used_by_keyboard(chromium: str, tmp_path: Path) -> None:
    seen = stepped(
        tmp_path,
        """
        press(".fields", "ArrowDown"); seen.first = field();
        press(".fields", "End"); seen.last = field();
        press(".fields", "Home"); press(".fields", "ArrowLeft");
        seen.folded = row("topics").getAttribute("aria-expanded");
        press(".fields", "ArrowRight"); press(".fields", "ArrowRight"); seen.child = field();
        press(".fields", "ArrowLeft"); press(".fields", "ArrowLeft"); seen.parent = field();
        press(".dump", "End"); seen.byte = field();
        press(".dump", "ArrowLeft"); seen.before = field();
        """,
    )
    assert seen == {
        "first": "topics",
        "last": "allow_auto_topic_creation",
        "folded": "false",
        "child": "topics[0]",
        "parent": "topics",
        "byte": "allow_auto_topic_creation",
        "before": "topics[0]",
    }


def page_of_many() -> str:
    return page_of([Frame(request(number, client_id=f"client-{number}")) for number in range(450)])


def test_many_frames_are_all_on_the_page() -> None:
    assert len(Structure(page_of_many()).data) == 450


def test_many_frames_are_paged_and_filtered_and_drawn_when_opened(chromium: str, tmp_path: Path) -> None:
    steps = """
        const shown = () => document.querySelectorAll("details:not([hidden])").length;
        const [earlier, later] = document.querySelectorAll("nav button");
        const seen = [shown(), document.querySelectorAll(".view").length];
        later.click(); later.click(); seen.push(shown(), later.disabled, document.querySelector("output").textContent);
        const input = document.querySelector("nav input");
        input.value = 'CLIENT-44"'; input.dispatchEvent(new Event("input")); seen.push(shown());
        return seen;"""
    assert run_page(page_of_many(), tmp_path, steps) == [200, 1, 50, True, "401–450 of 450", 1]  # noqa: RUF001


def test_a_capture_is_a_list_with_fields_and_bytes_of_one_frame(chromium: str, tmp_path: Path) -> None:
    results = list(kwire.decode_frames(kwire.read_dump(CAPTURE), trace=True))
    page = "".join(explain_page("a capture", results))
    steps = """
        const rows = [...document.querySelectorAll("summary")], seen = {};
        const names = () => [...document.querySelectorAll(".fields .name")].map((name) => name.textContent);
        const over = (element) => element.dispatchEvent(new MouseEvent("mouseover", {bubbles: true}));
        const at = () => rows.findIndex((row) => row.parentElement.classList.contains("chosen"));
        const press = (key) => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
        const [list, detail] = [document.querySelector("main"), document.querySelector(".detail")];
        seen.first = [at(), document.querySelectorAll(".view").length, rows[0].textContent];
        rows[3].click(); seen.clicked = [at(), document.querySelectorAll(".view, details[open]").length];
        rows[3].focus(); press("ArrowDown"); seen.down = at();
        press("End"); seen.last = at(); press("Home"); seen.home = at();
        over(document.querySelector(".byte[data-at='9']"));
        seen.field = document.querySelector(".row.on .name").textContent;
        seen.inside = detail.getBoundingClientRect().bottom <= innerHeight + 1
            && list.getBoundingClientRect().bottom <= detail.getBoundingClientRect().top;
        const input = document.querySelector("nav input");
        input.value = "leaderandisr response"; input.dispatchEvent(new Event("input")); seen.filtered = at();
        return seen;"""
    summary, width = MessageSummary(), Style(width=240)
    lines = [frame_line(one, summary, width) for one in results]
    chosen = next(n for n, line in enumerate(lines) if "<- LeaderAndIsr:" in line)
    assert run_page(page, tmp_path, steps) == {
        "first": [0, 1, lines[0]],
        "clicked": [3, 1],
        "down": 4,
        "last": len(results) - 1,
        "home": 0,
        "field": "correlation_id",
        "inside": True,
        "filtered": chosen,
    }


def test_a_page_has_so_many_frames_at_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    for most, shown in ((3, 3), (114, 114), (200, 114)):
        monkeypatch.setattr("kwire.cli.commands.explain.MOST_ON_PAGE", most)
        assert main(["explain", "--html", str(CAPTURE), "-o", str(page)]) == 0
        assert len(Structure(page.read_text()).data) == shown
        assert ("the page has the first 3 frames; kwire slice" in capsys.readouterr().err) is (most == 3)


def test_secrets_are_no_part_of_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    message = kwire.messages.SaslAuthenticateRequest(auth_bytes=b"\0user\0hunter2")
    (tmp_path / "dump.bin").write_bytes(kwire.encode_request(message, 1) + request(2))
    assert main(["explain", "--html", str(tmp_path / "dump.bin"), "-o", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text()
    held = b"".join(base64.b64decode(members["bytes"]) for members in Structure(page).data)
    assert b"hunter2" not in held
    assert "hunter2" not in page


def page_of_fields(count: int) -> str:
    cls: Any = kwire.messages.MetadataRequest
    codec = kwire.codec("MetadataRequest", 4)
    data = codec.encode(cls(topics=tuple(cls.MetadataRequestTopic(name=f"topic-{number}") for number in range(count))))
    return explain_html(data, codec.trace(data), codec)


def test_a_page_of_many_fields_is_written_in_linear_time() -> None:
    with at_most(600_000):
        page_of_fields(2000)


def test_of_a_frame_of_many_fields_only_those_in_sight_are_drawn(chromium: str, tmp_path: Path) -> None:
    steps = """
        const press = (pane, key) => document.querySelector(pane).dispatchEvent(new KeyboardEvent("keydown", {key}));
        press(".fields", "ArrowDown"); press(".fields", "ArrowRight"); press(".fields", "End"); press(".dump", "End");
        return [document.querySelectorAll(".row").length < 300,
                document.querySelector(".row.on .name").textContent];"""
    assert run_page(page_of_fields(20_000), tmp_path, steps) == [True, "allow_auto_topic_creation"]


def test_a_key_and_a_button_go_from_request_to_response_and_back(chromium: str, tmp_path: Path) -> None:
    page = "".join(explain_page("dump", kwire.decode_frames(kwire.read_dump(str(CAPTURE)), trace=True)))
    steps = """
        const at = () => parseInt(document.querySelector(".chosen").dataset.frame, 10), seen = [];
        const press = (target, key) => target.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
        document.querySelectorAll("summary")[61].click(); seen.push(at());
        seen.push(document.querySelector(".other").textContent);
        press(document.body, "r"); seen.push(at());
        document.querySelector(".other").click(); seen.push(at());
        const input = document.querySelector("nav input");
        input.value = "DescribeLogDirs <-"; input.dispatchEvent(new Event("input")); seen.push(at());
        press(input, "r"); seen.push(at());
        press(document.body, "r"); seen.push(at(), input.value);
        return seen;"""
    assert run_page(page, tmp_path, steps) == [61, "\u2192 response: frame 62 (r)", 62, 61, 103, 103, 102, ""]
