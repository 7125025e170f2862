"""TCP reassembly: segments become streams (`stream_reassembly`), streams connections, connections a table."""
