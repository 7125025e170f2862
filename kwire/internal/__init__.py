"""Formats inside messages that carry their own version.

`consumer_protocol_and_envelopes` has subscriptions, assignments and forwarded requests (KIP-590), `topic_records` the
records of internal topics, KRaft records and control records. This package determines which message a field or record
contains and what precedes it; `kwire.records` parses batches and `kwire.capture.logs` reads logs. An unknown type or
version keeps its bytes, and every decoded value encodes to the same bytes.
"""

from .consumer_protocol_and_envelopes import CooperativeUserData, Enveloped, StickyUserData, assignment_of, decode_assignment, decode_cooperative_user_data, decode_enveloped_request, decode_enveloped_response, decode_sticky_user_data, decode_subscription, encode_assignment, encode_cooperative_user_data, encode_enveloped_request, encode_enveloped_response, encode_sticky_user_data, encode_subscription, principal_of, subscription_of
from .topic_records import ControlRecord, CoordinatorRecord, Embedded, FramedRecord, RecordType, coordinator_record, decode_control_record, decode_group_record, decode_metadata_frame, decode_remote_log_frame, decode_share_record, decode_transaction_record, encode_control_record, encode_frame, encode_record, framed_record, record_types

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
