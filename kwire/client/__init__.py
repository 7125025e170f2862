"""Thin socket layers over the sans-IO packages: a client, admin requests, a proxy, and a server for `kwire.broker`."""
