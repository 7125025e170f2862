"""Frames and conversations: bytes of a connection become requests and responses, and back. Sans-IO.

Knows sizes, headers and who answers whom; knows no files and no sockets.
"""

from .cutting import LEAST, LIMIT, Frame, FrameReader, Source, cut_frames
from .decoding import FrameDecoder, decode_frames
from .encoding import encode_request, encode_response
from .pairing import InFlightRequests
from .results import NOBODY, Client, Request, Response, Result, Token, Undecodable
from .retracing import spans_for
from .sasl import SaslMessage

__all__ = [
    "LEAST",
    "LIMIT",
    "NOBODY",
    "Client",
    "Frame",
    "FrameDecoder",
    "FrameReader",
    "InFlightRequests",
    "Request",
    "Response",
    "Result",
    "SaslMessage",
    "Source",
    "Token",
    "Undecodable",
    "cut_frames",
    "decode_frames",
    "encode_request",
    "encode_response",
    "spans_for",
]
