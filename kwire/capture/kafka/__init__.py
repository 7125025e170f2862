"""Kafka in TCP streams: which connections are Kafka's (`connection_detection`), and their frames."""
