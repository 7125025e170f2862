"""The report: all sections, whole and harmless."""

from __future__ import annotations

from pathlib import Path

import kwire
from kwire.render.html.report_page import ROWS, report_html
from kwire.statistics.report_counts import ReportCounts
from tests.browser import Structure, loaded
from tests.conftest import ROOT
from tests.protocol.test_frame_decoder import request, response
from tests.render.html.test_explain_page import HOSTILE
from tests.statistics.test_report_counts import frame, refused, tallied


def page_of(tally: ReportCounts, name: str = "dump") -> str:
    return "".join(report_html(name, tally))


def test_every_section_has_its_numbers() -> None:
    frames = [frame(request(1), 10.0), frame(refused(1), 10.25), frame(bytes.fromhex("00000004270f0001"), 11.0)]
    found = Structure(page_of(tallied(frames), "x.pcap"))
    words = [word for word in map(str.strip, found.text) if word]
    for heading in (
        "Timeline",
        "Apis and their latency",
        "Versions by api and client",
        "Error codes in responses",
        "Frames that did not decode, and gaps",
    ):
        assert heading in words
    row = words.index("Metadata")
    assert words[row : row + 10] == ["Metadata", "1", "1", "20", "30", "1", "250 ms", "250 ms", "250 ms", "250 ms"]
    assert "UNKNOWN_TOPIC_OR_PARTITION" in words
    assert "UnknownApi" in words
    assert "api key 9999 is not known (offset 4)" in words
    assert len([bar for bar in found.attributes("svg") if bar["class"] == "histogram"]) == 1
    assert found.attributes("script") == []
    assert not [attributes for _, attributes in found.tags if {"src", "href", "style", "onload"} & set(attributes)]


def test_what_is_not_known_is_said() -> None:
    text = page_of(tallied(kwire.read_dump(ROOT / "fixtures/dumps/kafka-3.9-zk.bin")))
    assert "This input has no times of frames" in text
    assert "No latency: it needs requests, their responses, and the times of both." in text
    assert "None: every whole frame was decoded to its last byte." in text
    nothing = page_of(ReportCounts())
    assert "<dt>frames</dt><dd>0</dd>" in nothing
    Structure(nothing)


def test_long_tables_are_truncated_with_a_note() -> None:
    tally = tallied(frame(request(number, client_id=f"client-{number}")) for number in range(ROWS + 30))
    text = page_of(tally)
    assert text.count("<td>client-") == ROWS
    assert "30 rows are left out; 30 requests of further apis, clients and versions." in text


def hostile_page() -> str:
    frames = [frame(request(number, client_id=client)) for number, client in enumerate(HOSTILE)]
    return page_of(tallied([*frames, frame(response(3), 1.0)]), HOSTILE[0])


def test_hostile_names_are_text() -> None:
    page = hostile_page()
    found = Structure(page)
    assert [tag for tag, _ in found.tags if tag in ("script", "img", "b")] == []
    assert HOSTILE[1] in found.text
    assert "\u202e" not in page


def test_hostile_names_are_not_run(chromium: str, tmp_path: Path) -> None:
    assert "owned</title>" not in loaded(hostile_page(), tmp_path)


def test_what_else_is_known_of_the_input_is_said() -> None:
    tally = ReportCounts()
    tally.remarks.append("x.txt: 12 bytes are missing between the packets")
    assert '<p class="hint">x.txt: 12 bytes are missing between the packets</p>' in page_of(tally)
