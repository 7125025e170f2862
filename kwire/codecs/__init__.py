"""Codecs: one message at one version, from and to bytes, JSON and columns. `message_codec` is where to start."""

from ..runtime.former_modules import attach_former_names

__getattr__ = attach_former_names(__name__, functions=("codec_in", "codec_of"))
