"""Codecs: one message at one version, from and to bytes, JSON and columns. `message_codec` is where to start.
"""
