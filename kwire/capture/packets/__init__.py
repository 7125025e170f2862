"""Packets of captures: pcap and pcapng, read and written; headers up to TCP."""
