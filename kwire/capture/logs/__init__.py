"""Decodes log segments, metadata logs, snapshots and the other files of a broker's disk.

Sans-IO: no files are opened. `segment_reader` finds batches, even after damaged bytes; `log_topic` identifies the topic
of a log; `batch_spans` maps bytes to fields; `disk_files` recognises indexes, snapshots and checkpoints, and
`checks` compares them with the segments.
"""
