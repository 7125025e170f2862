"""Encodes and decodes the frames of connections. Sans-IO.

This package handles sizes, headers, and the pairing of responses with requests; other packages handle files and
sockets.
"""

from .connection import Connection
from .decoder import FrameDecoder, decode_frames, decode_request, decode_response, spans_for
from .frame_codec import encode_request, encode_response
from .framing import LEAST, LIMIT, Frame, FrameReader, Source, cut_frames, cut_short
from .header_reader import HeaderReader, Peek, peek
from .headers import Header
from .results import NOBODY, Client, Request, Response, Result, Token, Undecodable
from .sasl_tokens import SaslMessage

__all__ = [
    "LEAST",
    "LIMIT",
    "NOBODY",
    "Client",
    "Connection",
    "Frame",
    "FrameDecoder",
    "FrameReader",
    "Header",
    "HeaderReader",
    "Peek",
    "Request",
    "Response",
    "Result",
    "SaslMessage",
    "Source",
    "Token",
    "Undecodable",
    "cut_frames",
    "cut_short",
    "decode_frames",
    "decode_request",
    "decode_response",
    "encode_request",
    "encode_response",
    "peek",
    "spans_for",
]
