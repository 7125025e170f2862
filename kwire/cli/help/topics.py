"""The help topics, which concern several commands: input, filters, exit codes, ..."""

from __future__ import annotations

TOPICS: dict[str, tuple[str, str]] = {
    "input": (
        "what kwire reads",
        "Any number of files, or - for standard input; folders with -r. The format is\n"
        "detected from the content: captures (pcap, pcapng), raw frames (an int32 size,\n"
        "then that many bytes), brokers' logs of requests, JSON of kwire, log segments\n"
        "and the files beside them, also compressed (gzip, zstd, xz, bzip2); and hex\n"
        "text: hexdump -C, xxd, od -tx1, tcpdump -X, tshark -x, Netty's hexdump,\n"
        "Format-Hex, xxd -i, lists of numbers, \\x.. in strings, bytea, a Buffer of\n"
        "Node.js, plain hex with blanks, colons or dashes, base64. A response without\n"
        "its request needs --as, such as --as Metadata:12; --guess lists the messages\n"
        "that it could be. --body reads one body without size and header.",
    ),
    "output": (
        "lines, trees, JSON",
        "decode prints a line for each of many frames, all fields with -v or for a single\n"
        "frame. --jsonl prints one object per line, in a fixed shape; --json one array.\n"
        "Colours and a pager ($PAGER, else less -FRX) are used on terminals only;\n"
        "NO_COLOR turns colours off. Control characters are escaped, such as \\u001b.",
    ),
    "exit-codes": (
        "what commands return to scripts",
        "0    done\n"
        "1    done, but something needs attention:\n"
        "       decode, explain,  a complete frame, record or batch did not decode; gaps,\n"
        "       report, pipeline  frames cut short and streams of other protocols are\n"
        "                         counted separately and do not cause this code;\n"
        "                         a compressed file that breaks off does\n"
        "       decode --guess    no message fits a frame\n"
        "       check             something is not encoded to the same bytes, or a file\n"
        "                         beside a segment contradicts it\n"
        "       diff              there are differences\n"
        "       stats             --removed-in: a client breaks with that release\n"
        "       encode            a value could not be encoded; the others were\n"
        "       slice             no frame matches\n"
        "       call              the response has an error code\n"
        "       place             replicas could be spread more evenly; --verify: the\n"
        "                         plan is not carried out yet\n"
        "       assign            the leader sent a different assignment\n"
        "       spec check        a spec is not valid\n"
        "2    wrong usage, input that cannot be read, a broker that cannot be reached,\n"
        "     output that cannot be written: stderr says which and why\n"
        "130  interrupted with Ctrl-C; decode, stats and report first print or write\n"
        "     what was read until then. With --follow, Ctrl-C or SIGTERM acts as the end\n"
        "     of the file: 0 or 1. A pipe that is closed early (| head) is not an error.",
    ),
    "secrets": (
        "what is not printed",
        "Passwords, SASL tokens, salts, salted passwords, keys, delegation tokens and\n"
        "values of configurations that are passwords are printed as [hidden] with their\n"
        'size, as ** in dumps, as {"_hidden": size} in JSON, which kwire encode refuses.\n'
        "--show-secrets prints them; the table of decode --parquet has them only then.\n"
        "The bytes of a frame that does not decode are hidden unless its message is known\n"
        "and contains none of these; the reason, with sizes and offsets, is always shown.\n"
        "The contents of records are not masked: kwire redact removes them from a dump.",
    ),
    "tls": (
        "captures of encrypted connections",
        "With the keys of the sessions, tshark decrypts TLS 1.2 and 1.3 for kwire:\n"
        "  kwire decode --keylog KEYS FILE\n"
        "This runs tshark, which must be on the PATH, and shows only the TLS connections.\n"
        "To run tshark yourself:\n"
        "  tshark -r FILE -o tls.keylog_file:KEYS -q $(tshark -r FILE -Y tls \\\n"
        "    -T fields -e tcp.stream | sort -nur | sed 's/^/-z follow,tls,yaml,/') |\n"
        "    kwire decode -\n"
        "Clients write the file KEYS with SSLKEYLOGFILE (librdkafka, Python), with\n"
        "KeyLogWriter (Go), or in Java with an agent such as extract-tls-secrets or\n"
        "jSSLKeyLog. The capture must contain the beginning of each connection. tshark's\n"
        "output has times, so latencies are shown, but at most one of the two addresses\n"
        "of a connection.",
    ),
    "filters": (
        "which frames and records are shown",
        "--where 'FILTER' compares fields, as Wireshark's display filters do:\n"
        '  topic == "orders" and error == NOT_LEADER_OR_FOLLOWER\n'
        '  api == "Fetch" and latency > 20ms and not client_id matches "^test-"\n'
        "Operators: == != < <= > >= contains matches in, and or not ( ), exists(field). A\n"
        "field has the path that kwire schema shows, or the end of it; what is not on\n"
        "the wire has no value. Properties of the frame:\n"
        "  api, api_key, version, type, correlation_id, client_id, software, topic,\n"
        "  group, error, size, latency, request_frame, response_frame, time, frame,\n"
        "  client, broker, connection, file, faults, undecodable; of a broker's log of\n"
        "  requests total_time, queue_time, local_time, remote_time, throttle_time,\n"
        "  response_queue_time, send_time\n"
        "Properties of records of a log:\n"
        "  type, offset, timestamp, time, key, value, header, topic, group, partition,\n"
        "  size, producer, producer_id, producer_epoch, base_sequence, base_offset,\n"
        "  partition_leader_epoch, compression, magic, is_transactional, is_control,\n"
        "  control, record_type, undecodable, file\n"
        "Filters as options: --api Metadata or --api Metadata:12, repeated for several\n"
        "apis; --client 'app-*'; --conn 10.0.0.1:9092; --errors; --from and --to with a\n"
        "time (2026-11-21T09:30:00, 09:30:00, seconds), or with frame numbers if the\n"
        "dump has no times. A frame must match all given filters. An option that an\n"
        "input does not have is refused.",
    ),
    "versions": (
        "versions, releases, profiles",
        "kwire reads every version that Kafka released from 0.8 on. kwire apis --release\n"
        "3.9 lists what a release supports, kwire diff Fetch:9 Fetch:12 what changed.\n"
        "For other layouts see kwire help schemas.",
    ),
    "schemas": (
        "layouts of drafts, and specs of your own",
        "Options of all commands that decode or encode:\n"
        "  --profile KIP    layouts that KIP-36, KIP-112 or KIP-879 proposed\n"
        "  --schemas DIR    your own specs, or a Kafka checkout, used first\n"
        "kwire spec check DIR finds errors in specs.",
    ),
}


def help_lines(topic: str | None) -> list[str]:
    """Return the text of a topic, or the list of topics; KeyError if there is no such topic.

    >>> help_lines("versions")[0]
    'versions: versions, releases, profiles'
    """
    if topic is None:
        return ["kwire help TOPIC, or kwire COMMAND --help. Topics:", ""] + [
            f"  {name:<12}{about}" for name, (about, _) in TOPICS.items()
        ]
    about, text = TOPICS[topic]
    return [f"{topic}: {about}", "", *text.splitlines()]
