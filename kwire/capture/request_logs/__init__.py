"""Logs of requests that brokers and proxies write."""
