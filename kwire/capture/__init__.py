"""Turns captures into frames: pcap and pcapng, link layers, TCP reassembly, detection of Kafka connections."""
