"""Any bytes become frames or records: captures, raw frames, hex text, logs of requests, log segments.

`open_dump` opens a file and detects its format. A capture goes through `packets` (pcap, pcapng, headers), `tcp`
(reassembly) and `kafka` (recognition, frames), which `frame_extractor` connects; `logs` reads log segments and the
files beside them; `hex_text` and `packet_text` read printed bytes.
"""
