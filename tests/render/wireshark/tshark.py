"""Runs tshark with the dissector that kwire writes, and lists the fields that it shows and those that kwire decodes."""

from __future__ import annotations

import shutil
import subprocess
import xml.etree.ElementTree as ET
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kwire.codecs import wire
from kwire.codecs.message_codec import codec_in
from kwire.render.wireshark.dissector import dissector_source
from kwire.render.wireshark.layout_tables import LayoutTables
from kwire.schema.catalog import catalog_for

needs_tshark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
HEADER = {
    *("size", "api", "type", "response_frame", "request_frame", "latency"),
    *("api_key", "api_version", "correlation_id", "client_id"),
}
PATHS = {line.split()[0] for line in LayoutTables(catalog_for()).fields()}
TYPES = "int", "long", "uint", "text", "bytes", "bool", "float"
NOTES = {"topic", "group", "error_name"}  # fields that the dissector adds to those of the message
Leaf = tuple[str, str]


class Shown(NamedTuple):
    """A frame: the members of its header, and the fields of its body without null, as path and text."""

    type: str
    api: str
    version: int
    correlation_id: int
    client_id: str | None
    leaves: tuple[Leaf, ...]


def script_in(folder: Path) -> Path:
    """Write the dissector to a folder."""
    script = folder / "kafka.lua"
    script.write_text(dissector_source(catalog_for()), encoding="utf-8")
    return script


def run_tshark(script: Path, capture: Path, *arguments: str) -> str:
    """Return the output of tshark; an error of Lua fails the test."""
    # Clients use any port, also those that Wireshark knows as other protocols'.
    heuristics = "-o", "tcp.try_heuristic_first:TRUE"
    command = ["tshark", "-n", *heuristics, "-X", f"lua_script:{script}", "-r", str(capture), *arguments]
    done = subprocess.run(command, capture_output=True, timeout=300, check=False)
    out, errors = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
    complaints = [line for line in errors.splitlines() if "running as" not in line.casefold()]
    assert complaints == []
    assert "Lua Error" not in out
    return out


def shown_by_tshark(script: Path, capture: Path) -> Iterator[Shown]:
    """Yield the frames that the dissector finds."""
    for packet in ET.fromstring(run_tshark(script, capture, "-T", "pdml", "-J", "kafka_kwire")):
        for proto in packet.iter("proto"):
            if proto.get("name") == "kafka_kwire" and proto.find("field[@name='kafka.api']") is not None:
                yield _shown(proto)


def _shown(proto: ET.Element) -> Shown:
    header: dict[str, str] = {}
    leaves: list[Leaf] = []
    for field in _fields(proto):
        name = (field.get("name") or "").removeprefix("kafka.")
        if not leaves and name in HEADER and name not in header:
            header[name] = field.get("show") or ""
        elif name not in NOTES:
            leaves.append((_path(name), _text(field)))
    version, correlation_id = int(header["api_version"]), int(header["correlation_id"])
    return Shown(header["type"], header["api"], version, correlation_id, header.get("client_id") or None, tuple(leaves))


def _path(name: str) -> str:
    """Return the path of a field; one that Wireshark has with another type ends with its type."""
    without_type, _, type_name = name.rpartition("_")
    return without_type if without_type in PATHS and type_name in TYPES else name


def _fields(item: ET.Element) -> Iterator[ET.Element]:
    """Yield the fields below an item in order; not those of record batches."""
    for field in item:
        name = field.get("name") or ""
        if name.startswith("kafka."):
            yield field
        if not name.endswith("records"):
            yield from _fields(field)


def _text(field: ET.Element) -> str:
    name, show = field.get("name") or "", field.get("show") or ""
    if ":" in show and name.rpartition(".")[2] not in ("host", "show"):
        raw = field.get("value") or ""
        if show.replace(":", "") == raw:  # bytes
            return raw
    return show


def decoded_by_kwire(frames: Iterator[dict[str, Any]]) -> Iterator[Shown]:
    """Yield the requests and responses of kwire's JSON lines."""
    for frame in frames:
        if frame["type"] in ("request", "response"):
            header = frame["header"]
            name = header["apiName"] + frame["type"].capitalize()
            tree = codec_in(catalog_for(), name, frame.get("bodyVersion", header["apiVersion"])).tree
            leaves = tuple(_leaves(tree, frame["payload"], ""))
            call = (
                header["apiName"],
                header["apiVersion"],
                header["correlationId"],
                header.get("clientId") or None,
            )  # a header without a client id has ""
            yield Shown(frame["type"], *call, leaves)


def _leaves(struct: wire.Struct, values: dict[str, Any], above: str) -> Iterator[Leaf]:
    for field in struct.all_fields:
        value = values.get(field.json_name)
        content = wire.content_of(field.subcon)
        path = f"{above}{field.name}"
        for element in value if content.is_array and value is not None else (value,):
            if element is None:
                continue
            if content.struct is not None:
                yield from _leaves(content.struct, element, f"{path}.")
            else:
                yield f"{path}", _plain(content.node, element)


def _plain(node: wire.Node, value: Any) -> str:
    if isinstance(node, wire.Bytes):
        return b64decode(value).hex()
    if isinstance(value, bool):
        return "1" if value else "0"
    return f"{value:.15g}" if isinstance(node, wire.Float64) else str(value)
