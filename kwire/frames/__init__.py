"""Frames and conversations: bytes of a connection become requests and responses, and back. Sans-IO.

Knows sizes, headers and who answers whom; knows no files and no sockets.
"""

from .choosing import decode_frames
from .connection import Connection
from .cutting import LEAST, LIMIT, Frame, FrameReader, Source, cut_frames, cut_short
from .decoding import FrameDecoder
from .encoding import encode_request, encode_response
from .frame_header import Header
from .pairing import InFlightRequests
from .peeking import HeaderReader, Peek, peek
from .results import NOBODY, Client, Request, Response, Result, Token, Undecodable
from .retracing import spans_for
from .sasl import SaslMessage
from .unpaired import decode_request, decode_response

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
    "InFlightRequests",
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
