"""Packets and TCP streams as text become frames: those that tcpdump, tshark and Wireshark print."""
