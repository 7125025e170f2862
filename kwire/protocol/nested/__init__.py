"""Formats inside messages that carry their own version.

This package determines which message a field or record contains and what precedes it; `kwire.codecs.records` parses
batches and `kwire.capture.logs` reads logs. An unknown type or version keeps its bytes, and every decoded value encodes
to the same bytes.
"""

from .assignor_user_data import (
    CooperativeUserData,
    StickyUserData,
    decode_cooperative_user_data,
    decode_sticky_user_data,
    encode_cooperative_user_data,
    encode_sticky_user_data,
)
from .consumer_protocol import (
    assignment_of,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
    subscription_of,
)
from .control_records import ControlRecord, decode_control_record, encode_control_record
from .coordinator_records import (
    CoordinatorRecord,
    coordinator_record,
    decode_group_record,
    decode_share_record,
    decode_transaction_record,
    encode_record,
)
from .envelope import (
    Enveloped,
    decode_enveloped_request,
    decode_enveloped_response,
    encode_enveloped_request,
    encode_enveloped_response,
    principal_of,
)
from .metadata_log_records import (
    FramedRecord,
    decode_metadata_frame,
    decode_remote_log_frame,
    encode_frame,
    framed_record,
)
from .topic_record_types import RecordType, record_types
from .versioned_message import Embedded

__all__ = [
    "ControlRecord",
    "CooperativeUserData",
    "CoordinatorRecord",
    "Embedded",
    "Enveloped",
    "FramedRecord",
    "RecordType",
    "StickyUserData",
    "assignment_of",
    "coordinator_record",
    "decode_assignment",
    "decode_control_record",
    "decode_cooperative_user_data",
    "decode_enveloped_request",
    "decode_enveloped_response",
    "decode_group_record",
    "decode_metadata_frame",
    "decode_remote_log_frame",
    "decode_share_record",
    "decode_sticky_user_data",
    "decode_subscription",
    "decode_transaction_record",
    "encode_assignment",
    "encode_control_record",
    "encode_cooperative_user_data",
    "encode_enveloped_request",
    "encode_enveloped_response",
    "encode_frame",
    "encode_record",
    "encode_sticky_user_data",
    "encode_subscription",
    "framed_record",
    "principal_of",
    "record_types",
    "subscription_of",
]
