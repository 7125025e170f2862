"""Frames out of the text of packets (tcpdump -X, tshark -x), and out of TCP streams that tshark 4.0 followed."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import pytest

import kwire
from kwire.capture.open_dump import open_dump, read_dump
from kwire.capture.open_text import open_hex
from kwire.capture.packet_text.followed_streams import parse_followed_streams
from kwire.capture.packet_text.printed_packets import PrintedPacketReader, find_tcp_segment
from kwire.capture.packet_text.tls_decryption import decrypt_tls
from kwire.capture.packets.decryption_secrets import find_tls_keys, has_tls_keys
from kwire.cli.help.topics import TOPICS
from kwire.cli.main import main
from kwire.errors import DumpError
from tests.capture import building
from tests.capture.building import Conversation, packet_of
from tests.conftest import ROOT
from tests.protocol.test_frame_decoder import request, response

PDML = (
    '<?xml version="1.0"?>\n<?xml-stylesheet type="text/xsl" href="pdml2html.xsl"?>\n<pdml version="0"><packet/></pdml>'
)

TCPDUMP = """\
22:13:20.000000 IP localhost.50000 > localhost.9092: Flags [P.], seq 100:120, ack 1, win 512, length 20
	0x0000:  4500 0048 0001 4000 4006 3cad 7f00 0001  E..H..@.@.<.....
	0x0010:  7f00 0001 c350 2384 0000 0064 0000 0001  .....P#....d....
	0x0020:  8018 0200 0000 0000 0101 080a 0000 0001  ................
	0x0030:  0000 0002 0000 0010 0012 0000 0000 002a  ...............*
	0x0040:  0005 6b77 6972 6500                      ..kwire.
22:13:21.000000 IP localhost.9092 > localhost.50000: Flags [P.], seq 500:514, ack 4294967197, win 512, length 14
	0x0000:  4500 0042 0001 4000 4006 3cb3 7f00 0001  E..B..@.@.<.....
	0x0010:  7f00 0001 2384 c350 0000 01f4 0000 0001  ....#..P........
	0x0020:  8018 0200 0000 0000 0101 080a 0000 0001  ................
	0x0030:  0000 0002 0000 000a 0000 002a 0023 0000  ...........*.#..
	0x0040:  0000                                     ..
"""
TSHARK = """\
0000  00 00 00 00 00 00 00 00 00 00 00 00 86 dd 60 00   ..............`.
0010  00 00 00 34 06 40 00 00 00 00 00 00 00 00 00 00   ...4.@..........
0020  00 00 00 00 00 01 00 00 00 00 00 00 00 00 00 00   ................
0030  00 00 00 00 00 01 c3 50 23 84 00 00 00 64 00 00   .......P#....d..
0040  00 01 80 18 02 00 00 00 00 00 01 01 08 0a 00 00   ................
0050  00 01 00 00 00 02 00 00 00 10 00 12 00 00 00 00   ................
0060  00 2a 00 05 6b 77 69 72 65 00                     .*..kwire.
"""
ASKED = bytes.fromhex("00000010 0012 0000 0000002a 0005 6b77697265 00")
IPV4 = bytes.fromhex("4500 0048 0001 4000 4006 3cad 7f000001 7f000001")
TCP = bytes.fromhex("c350 2384 00000064 00000001 8018 0200 0000 0000 0101080a 00000001 00000002") + ASKED


def packet(sequence: int, data: bytes, source: int = 50000, target: int = 9092, flags: int = 0x18) -> bytes:
    ports = source.to_bytes(2, "big") + target.to_bytes(2, "big")
    tcp = ports + sequence.to_bytes(4, "big") + bytes(4) + bytes([0x50, flags]) + bytes(6) + data
    return bytes.fromhex("4500") + (20 + len(tcp)).to_bytes(2, "big") + bytes(5) + b"\6\0\0" + bytes(8) + tcp


def frames_of(*packets: bytes) -> tuple[list[bytes], PrintedPacketReader]:
    reader = PrintedPacketReader("x")
    frames = [frame.data for one in packets for frame in reader.feed(one)]
    return frames + [frame.data for frame in reader.finish()], reader


def test_the_frames_of_tcpdump_have_their_broker() -> None:
    dump = open_hex(TCPDUMP)
    asked, answer = dump.frames
    assert dump.kind == "hex text (tcpdump -X), packets: raw IP"
    assert asked.data == ASKED
    assert answer.data.hex() == "0000000a0000002a002300000000"
    for frame in (asked, answer):
        assert (frame.source.client, frame.source.broker) == ("127.0.0.1:50000", "127.0.0.1:9092")
    assert dump.remarks == []


def test_the_frame_of_tshark_over_ipv6() -> None:
    dump = open_hex(TSHARK)
    (asked,) = dump.frames
    assert dump.kind == "hex text (tshark -x), packets: Ethernet"
    assert (asked.data, asked.source.client, asked.source.broker) == (ASKED, "[::1]:50000", "[::1]:9092")


def test_what_is_no_packet_is_taken_as_it_is() -> None:
    dump = open_hex("0x0000:  0000 0004 0000 0007\n")
    assert [frame.data.hex() for frame in dump.frames] == ["0000000400000007"]
    assert dump.remarks == ["no packet with TCP was recognised: the bytes are taken as they are"]


@pytest.mark.parametrize(
    ("link", "front"),
    [
        ("raw IP", ""),
        ("Ethernet", "000000000000 000000000000 0800"),
        ("Ethernet with a VLAN tag", "000000000000 000000000000 8100 0001 0800"),
        ("Linux cooked", "0000 0304 0006 0000000000000000 0800"),
        ("Linux cooked v2", "0800 0000 00000001 0304 00 06 0000000000000000"),
        ("loopback", "02000000"),
    ],
)
def test_link_layers_are_told_apart(link: str, front: str) -> None:
    found = find_tcp_segment(bytes.fromhex(front) + IPV4 + TCP)
    assert found is not None
    name, segment = found
    assert (name, segment.source, segment.target) == (link, "127.0.0.1:50000", "127.0.0.1:9092")
    assert (segment.sequence, segment.payload, segment.missing) == (100, ASKED, 0)


def test_packets_in_tunnels_are_read_as_those_of_captures() -> None:
    inner = IPV4 + TCP
    front = bytes.fromhex("4500") + (20 + len(inner)).to_bytes(2, "big") + bytes(5) + b"\4\0\0" + bytes(8)  # IP in IP
    assert frames_of(front + inner)[0] == [ASKED]


def test_padding_is_no_data_and_what_was_cut_is_counted() -> None:
    padded = find_tcp_segment(IPV4 + TCP + bytes(6))
    cut = find_tcp_segment((IPV4 + TCP)[:-5])
    assert padded is not None
    assert cut is not None
    assert (padded[1].payload, padded[1].missing) == (ASKED, 0)
    assert (cut[1].payload, cut[1].missing) == (ASKED[:-5], 5)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        IPV4[:10],
        IPV4 + TCP[:13],
        IPV4[:9] + b"\x11" + IPV4[10:] + TCP,  # UDP
        IPV4[:10] + b"\x12\x34" + IPV4[12:] + TCP,  # a wrong checksum
        b"\x44" + IPV4[1:] + TCP,  # a header of 16 bytes
        IPV4 + TCP[:12] + b"\x40" + TCP[13:],
        b"\x60" + bytes(39),
    ],
)
def test_what_is_no_tcp_is_none(data: bytes) -> None:
    assert find_tcp_segment(data) is None


def test_a_frame_may_lie_in_several_packets_and_come_twice() -> None:
    data = request(70000)
    parts = [packet(100, data[:7]), packet(100, data[:7]), packet(104, data[4:])]
    frames, reader = frames_of(*parts)
    assert (frames, reader.gaps) == ([data], 0)


def test_sequence_numbers_wrap() -> None:
    data = request(70000)
    assert frames_of(packet(0xFFFFFFFE, data[:7]), packet(5, data[7:]))[0] == [data]


def test_a_gap_is_counted_and_what_was_before_it_is_kept() -> None:
    data = request(70000)
    frames, reader = frames_of(packet(100, data[:7]), packet(100 + len(data), request(70001)))
    assert (frames, reader.gaps) == ([data[:7], request(70001)], len(data) - 7)


def test_connections_are_separate_and_responses_have_their_client() -> None:
    reader = PrintedPacketReader("x")
    packets = [
        packet(1, request(70000)),
        packet(1, request(70001), 50001),
        packet(9, response(70001), 9092, 50001),
        packet(9, response(70000), 9092, 50000),
        b"\0",
    ]
    ends = [frame.source.client for one in packets for frame in reader.feed(one)]
    assert ends == ["0.0.0.0:50000", "0.0.0.0:50001", "0.0.0.0:50001", "0.0.0.0:50000"]
    assert (reader.others, list(reader.finish())) == (1, [])


def test_a_stream_that_is_no_frames_is_a_frame_that_cannot_be_read() -> None:
    assert frames_of(packet(1, b"GET / HTTP/1.1"))[0] == [b"GET / HTTP/1.1"]
    assert frames_of(packet(1, b"\xff" * 9), packet(10, request(70000)))[0] == [b"\xff" * 9, request(70000)]


def tshark_text(conversation: Conversation, panes: tuple[str, ...]) -> str:
    """What `tshark -x` prints: a hexdump a packet, under headings where there are several sources of bytes, such as
    what it put together out of segments; an empty line behind each. No heading stands before a packet alone."""
    blocks, begun = [], {0: b"", 1: b""}
    for segment in conversation.segments:
        sources = [("Frame", packet_of(segment))]
        side = 0 if segment.key == conversation.key(0) else 1
        begun[side] += segment.payload
        if segment.payload and len(begun[side]) == 4 + int.from_bytes(begun[side][:4], "big"):
            whole, begun[side] = begun[side], b""
            if whole != segment.payload:
                sources += [(pane, whole) for pane in panes]
        for name, data in sources:
            rows = [f"{at:04x}  {data[at : at + 16].hex(' '):<47}   ..." for at in range(0, len(data), 16)]
            heading = [f"{name} ({len(data)} bytes):"] if len(sources) > 1 else []
            blocks.append("\n".join([*heading, *rows]) + "\n")
    return "\n".join(blocks)


@pytest.mark.parametrize(
    "panes",
    [("Reassembled TCP",), ("Reassembled TCP", "Decrypted TLS"), ("De-chunked entity body", "Uncompressed, gzip")],
)
def test_all_packets_of_tshark_are_read_whatever_it_puts_together(panes: tuple[str, ...]) -> None:
    conversation = Conversation().open()
    for number in range(6):
        conversation.ask(number, size=9 if number % 2 else 1460)
    text = tshark_text(conversation.close(), panes)
    assert panes[0] in text
    dump = open_hex(text)
    expected = [one for number in range(6) for one in (building.request(number), building.response(number))]
    assert [frame.data for frame in dump.frames] == expected
    assert not any("missing" in remark for remark in dump.remarks)


FORMS = {
    "json": '[\n  {\n    "_index": "packets-2026-11-21", "_source": {"layers": {\n"frame_raw": ["PACKET", 0, 72]}}}]',
    "jsonraw": '[{"_index": "packets-2026-11-21", "_source": {"layers": {"frame_raw": [\n  "PACKET",\n  0\n ]}}}]',
    "ek": '{"index":{"_index":"packets-2026-11-21","_type":"doc"}}\n{"layers":{"frame_raw":"PACKET"}}\n',
}


@pytest.mark.parametrize("form", FORMS)
def test_packets_of_tsharks_json(form: str, tmp_path: Path) -> None:
    path = tmp_path / "packets.json"
    path.write_text(FORMS[form].replace("PACKET", (IPV4 + TCP).hex()))
    with open_dump(path) as dump:
        assert dump.kind == "hex text (JSON of tshark), packets: raw IP"
        assert [frame.data for frame in dump.frames] == [ASKED]


@pytest.mark.parametrize("text", [FORMS["json"].replace("frame_raw", "frame"), PDML, FORMS["ek"].replace("_raw", "")])
def test_fields_of_tshark_without_packets_give_a_hint(text: str, tmp_path: Path) -> None:
    path = tmp_path / "packets.txt"
    path.write_text(text)
    with pytest.raises(
        DumpError, match="without the bytes of packets; read the capture itself, or what tshark -T json -x"
    ):
        list(read_dump(path))


@pytest.mark.ci
@pytest.mark.parametrize("words", ["-T json -x", "-T jsonraw", "-T ek -x", "-x"])
def test_what_tshark_prints_of_a_capture_has_its_frames(words: str, tmp_path: Path) -> None:
    if shutil.which("tshark") is None:
        pytest.skip("needs tshark")
    capture = ROOT / "fixtures/dumps/kafka-3.9-zk.pcap"
    done = subprocess.run(["tshark", "-r", str(capture), *words.split()], capture_output=True, check=True)
    (tmp_path / "text").write_bytes(done.stdout)
    assert sorted(frame.data for frame in read_dump(tmp_path / "text")) == sorted(
        frame.data for frame in read_dump(capture)
    )


CAPTURE = ROOT / "fixtures/dumps/kafka-3.9-zk.pcap"
SAMPLES = ROOT / "tests/data/followed"
FOLLOWED_FORMS = ("hex", "raw", "yaml")


def of_the_capture() -> list[bytes]:
    frames = list(kwire.read_dump(str(CAPTURE)))
    return [frame.data for frame in frames if frame.source.client == "127.0.0.1:51578"]


@pytest.mark.parametrize("form", FOLLOWED_FORMS)
def test_the_frames_are_those_of_the_capture(form: str) -> None:
    path = SAMPLES / f"follow.{form}"
    with open_dump(path) as dump:
        assert dump.kind == f"a followed TCP stream ({form})"
        frames = list(dump.frames)
    assert [frame.data for frame in frames] == of_the_capture() != []
    assert {(frame.source.client, frame.source.broker) for frame in frames} == {("127.0.0.1:51578", "127.0.0.1:19020")}
    assert all((frame.source.time is not None) == (form == "yaml") for frame in frames)
    assert not [one for one in kwire.decode_frames(frames) if isinstance(one, kwire.Undecodable)]


@pytest.mark.parametrize("form", FOLLOWED_FORMS)
def test_windows_writes_the_same(form: str, tmp_path: Path) -> None:
    text = (SAMPLES / f"follow.{form}").read_text().replace("\n", "\r\n")
    target = tmp_path / "text"
    target.write_bytes(text.encode("utf-16"))  # as PowerShell's > does
    assert [frame.data for frame in kwire.read_dump(str(target))] == of_the_capture()


@pytest.mark.parametrize(("form", "line"), [("hex", 7), ("raw", 6), ("yaml", 10)])
def test_a_damaged_line_is_named(form: str, line: int) -> None:
    lines = (SAMPLES / f"follow.{form}").read_text().splitlines()
    number = next(at for at, text in enumerate(lines) if at >= line and text.strip())
    lines[number] = lines[number][:-2] + "?!" if form != "hex" else lines[number].replace(" ", "?", 12)
    with pytest.raises(DumpError) as caught:
        parse_followed_streams("\n".join(lines), "x")
    assert caught.value.line is not None
    assert abs(caught.value.line - number - 1) <= (6 if form == "yaml" else 0)


def test_the_rest_of_a_side_is_kept() -> None:
    text = (SAMPLES / "follow.raw").read_text()
    lines = text.splitlines()
    cut = "\n".join([*lines[:7], lines[7][:41]])
    (stream,) = parse_followed_streams(cut)
    frames = list(stream.frames("x"))
    assert b"".join(frame.data for frame in frames) == b"".join(bytes.fromhex(line) for line in cut.splitlines()[6:])
    assert frames[-1].fault is not None


def test_another_text_is_no_stream() -> None:
    assert parse_followed_streams("00 00 00 04 00 00 00 07") == []


def test_several_streams_of_all_forms_are_read(tmp_path: Path) -> None:
    for form in FOLLOWED_FORMS:
        text = (SAMPLES / f"follow.{form}").read_text()
        (tmp_path / form).write_text(text + ("# the next one\n" if form == "yaml" else "") + text)
        frames = list(kwire.read_dump(str(tmp_path / form)))
        assert [frame.data for frame in frames] == of_the_capture() * 2
        half = len(frames) // 2
        assert [frame.source.frame for frame in frames] == list(range(2 * half))
        assert [frame.source.connection for frame in frames] == [0] * half + [1] * half


def test_a_damaged_line_of_the_second_stream_is_named() -> None:
    text = (SAMPLES / "follow.raw").read_text()
    lines = (text + text).splitlines()
    number = len(text.splitlines()) + 6
    lines[number] = "xx" + lines[number]
    with pytest.raises(DumpError) as caught:
        parse_followed_streams("\n".join(lines), "x")
    assert caught.value.line == number + 1


def test_tls_that_tshark_decrypted_has_the_end_that_it_names() -> None:
    frames = list(kwire.read_dump(str(SAMPLES / "tls.yaml")))
    assert [frame.data for frame in frames] == of_tls()
    ends = {(frame.source.connection, frame.source.client, frame.source.broker) for frame in frames}
    assert ends == {(0, None, "127.0.0.1:9093"), (1, "127.0.0.1:51001", None)}
    assert not [one for one in kwire.decode_frames(frames) if isinstance(one, kwire.Undecodable)]


def of_tls() -> list[bytes]:
    """Return the frames of the first two connections of the capture, whose bytes were sent again over TLS."""
    frames = list(kwire.read_dump(str(CAPTURE)))
    first = list(dict.fromkeys(frame.source.connection for frame in frames))[:2]
    return [frame.data for number in first for frame in frames if frame.source.connection == number]


@pytest.mark.ci
def test_the_command_of_help_tls_decrypts(tmp_path: Path) -> None:
    if shutil.which("tshark") is None:
        pytest.skip("needs tshark")
    text = TOPICS["tls"][1]
    command = text[text.index("tshark -r") : text.index("kwire decode -\n")] + "cat"
    command = command.replace("FILE", str(SAMPLES / "tls.pcap")).replace("KEYS", str(SAMPLES / "tls.keys"))
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=True)
    (tmp_path / "streams.yaml").write_bytes(done.stdout)
    assert [frame.data for frame in kwire.read_dump(str(tmp_path / "streams.yaml"))] == of_tls()


def test_kwire_names_the_command_where_it_meets_tls(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", str(SAMPLES / "tls.pcap")]) == 0
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "2 connections of TLS" in shown.err
    assert "kwire help tls has the command" in shown.err


KEYLOG = ["--keylog", str(SAMPLES / "tls.keys")]


@pytest.mark.ci
def test_tshark_is_run_with_the_keys(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    if shutil.which("tshark") is None:
        pytest.skip("needs tshark")
    kind, frames = decrypt_tls(str(SAMPLES / "tls.pcap"), KEYLOG[1])
    assert kind == "2 TLS connections, decrypted by tshark"
    assert [frame.data for frame in frames] == of_tls()
    assert main(["decode", str(SAMPLES / "tls.pcap"), *KEYLOG, "--fields", "frame,api,latency"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(of_tls()) + 1
    assert main(["diff", str(SAMPLES / "tls.pcap"), str(SAMPLES / "tls.pcap"), *KEYLOG]) == 0
    assert capsys.readouterr().out == f"{len(of_tls())} frames: {len(of_tls())} the same, 0 not\n"
    other = tmp_path / "other.keys"
    other.write_text("CLIENT_RANDOM " + "00" * 32 + " " + "00" * 48 + "\n")
    for keys, capture, problem in (
        (str(other), SAMPLES / "tls.pcap", "decrypt none of 2 TLS connections"),
        (KEYLOG[1], CAPTURE, "there is no TLS in this capture"),
        (KEYLOG[1], Path(__file__), "tshark fails: "),
    ):
        assert main(["decode", str(capture), "--keylog", keys]) == 2
        assert problem in capsys.readouterr().err


@pytest.mark.ci
def test_keys_inside_a_pcapng_are_used(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    if shutil.which("tshark") is None or shutil.which("editcap") is None:
        pytest.skip("needs tshark and editcap")
    path = tmp_path / "keys.pcapng"
    command = ["editcap", "--inject-secrets", f"tls,{SAMPLES / 'tls.keys'}", str(SAMPLES / "tls.pcap"), str(path)]
    subprocess.run(command, check=True, capture_output=True)
    assert has_tls_keys(path)
    assert not has_tls_keys(SAMPLES / "tls.pcap")
    assert main(["decode", str(path), "--fields", "frame,api"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(of_tls()) + 1
    assert main(["stats", str(path)]) == 0
    assert "ApiVersions" in capsys.readouterr().out


@pytest.mark.parametrize("block", [struct.pack("<IIII", 10, 20, 0x544C534B, 0), struct.pack("<IIII", 10, 20, 1, 0)])
def test_which_blocks_have_keys_of_tls(block: bytes) -> None:
    section = bytes.fromhex("0a0d0d0a 1c000000 4d3c2b1a 0100 0000 ffffffffffffffff 1c000000")
    assert find_tls_keys(section + block) == (block[8:12] == b"KSLT")
    assert not find_tls_keys(section + struct.pack("<II", 1, 8) + block)


@pytest.mark.parametrize(
    "name",
    ["browse", "check", "cluster", "compare", "diff", "explain", "latency", "redact", "report", "slice", "timeline"],
)
def test_commands_that_read_captures_take_keys(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main([name, "--help"]) == 0
    assert "--keylog FILE" in capsys.readouterr().out


def test_what_keylog_needs(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "no.keys").write_text("# none\n")
    tls = str(SAMPLES / "tls.pcap")
    for arguments, problem in (
        ([tls, *KEYLOG], "--keylog needs tshark, which is not on the PATH"),
        ([tls, "--keylog", str(tmp_path / "no.keys")], "there are no keys in this file"),
        ([tls, "--keylog", str(tmp_path / "absent")], "No such file or directory"),
        (["-", *KEYLOG], "--keylog takes captures by name"),
        (["--follow", tls, *KEYLOG], "--keylog takes captures by name"),
    ):
        assert main(["decode", *arguments]) == 2
        assert problem in capsys.readouterr().err
