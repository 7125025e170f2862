"""`kwire wireshark`: writes a dissector for Wireshark and tshark, in Lua, with all layouts of the schemas."""

from __future__ import annotations

import argparse
from pathlib import Path

from ...errors import DumpError
from ...render.value_text import count_text
from ...render.wireshark.dissector import dissector_source
from ...schema.catalog import catalog_for
from ..output.output_files import output_bytes
from ..terminal.remarks import remark

EXAMPLES = """\
  kwire wireshark -o kafka.lua
  tshark -X lua_script:kafka.lua -r dump.pcap -Y 'kafka.topic == "orders"'
  kwire wireshark -o ~/.local/lib/wireshark/plugins/kafka.lua    for all starts

Filter fields are named by paths: kafka.topics.partitions.error_code. For all
messages: kafka.api, kafka.type, kafka.client_id, kafka.latency, kafka.group,
kafka.topic (also of ids), kafka.error_name, kafka.request_frame,
kafka.response_frame, kafka.malformed; kafka.batch.* and kafka.record.*.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("-o", "--output", metavar="OUT", help="file to write; default: standard output")


def run(options: argparse.Namespace) -> int:
    """Write the dissector."""
    if options.output is not None and Path(options.output).is_dir():
        raise DumpError("this is a folder", file=options.output, hint="name a file in it, such as kafka.lua")
    script = dissector_source(catalog_for()).encode()
    with output_bytes(options.output) as stream:
        stream.write(script)
    if options.output not in (None, "-"):
        remark(f"{options.output}: {count_text(len(script), 'byte')}, tested with Wireshark 4.0")
    return 0
