"""Captures to frames: pcap and pcapng, link layers, TCP reassembly, and which connections are Kafka's."""
