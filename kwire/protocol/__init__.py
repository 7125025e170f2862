"""Encodes and decodes the frames of connections. Sans-IO.

This package handles sizes, headers, and the pairing of responses with requests; other packages handle files and
sockets.
"""

from .connections.connection import Connection
from .frame_decoder import FrameDecoder, decode_frames
from .frame_encoder import encode_request, encode_response
from .frame_spans import spans_for
from .frames.frame import Frame, Source
from .frames.frame_reader import FrameReader, cut_frames
from .frames.frame_size import LEAST, LIMIT
from .frames.size_faults import cut_short
from .header_reader import HeaderReader, Peek, peek
from .headers.header import Header
from .results import NOBODY, Client, Request, Response, Result, Token, Undecodable
from .sasl_tokens import SaslMessage
from .single_frame import decode_request, decode_response

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
