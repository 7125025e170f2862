"""Requests whose answers of real brokers are recorded, and compared with those of kwire's brokers."""
