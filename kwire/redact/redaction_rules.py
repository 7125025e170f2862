"""What `kwire redact` removes: the kinds of sensitive data, the reasons, and the fields of each kind."""

from __future__ import annotations

from ..protocol.message_summary import is_topic_field
from ..schema.sensitive_fields import SECRET_FIELDS

# kind -> why it is removed
REASONS: dict[str, str] = {
    "records": "keys, values, headers; batch headers stay, with new checksums",
    "sasl": "SASL tokens carry passwords and proofs of them",
    "scram": "salts and salted passwords can be used instead of the password",
    "token": "the HMAC of a delegation token is its password",
    "config": "values of configurations hold passwords and paths",
    "group": "subscriptions and assignments carry arbitrary data of clients",
    "offset": "the metadata of a committed offset is arbitrary text",
    "metrics": "telemetry of clients",
    "envelope": "a forwarded request may contain any of the above",
    "text": "error messages repeat names and values",
    "client": "client ids are names of applications",
    "topic": "topic names reveal what a business does",
    "groupid": "group, transaction and member ids are names of applications",
    "cluster": "the id of a cluster is unique: it says whose capture this is",
    "host": "names and addresses of machines",
    "rack": "racks are names of places",
    "path": "directories of brokers name machines, disks and people",
    "user": "principals are names of people",
    "unknown": "unknown tags, tails and undecodable frames may hold anything",
}
KEPT = """\
Kept: the names and versions of client software (apache-kafka-java 3.9.0), of
assignors, features, listeners and settings; topic ids and other random UUIDs;
numbers, times and error codes; the addresses and ports of a capture's packets,
which --addresses rewrites together with those in messages.
"""
# Equal names get equal pseudonyms.
NAMES = frozenset(("client", "topic", "groupid", "cluster", "host", "rack", "path", "user"))
# Names that consist of other names: racks with several levels (KIP-879), paths, and addresses that Java prints as
# /10.0.0.1.
SEPARATORS = {"rack": b"/", "path": b"/", "host": b"/"}
_BYTES = {
    "records": "records",
    "unaligned_records": "records",
    **SECRET_FIELDS,
    "metadata": "group",
    "assignment": "group",
    "member_metadata": "group",
    "member_assignment": "group",
    "metrics": "metrics",
    "request_data": "envelope",
    "response_data": "envelope",
    "request_principal": "user",
    "client_host_address": "host",
}
_TEXTS = {
    "value": "config",
    "metadata": "offset",
    "committed_metadata": "offset",
    "error_message": "text",
    "client_id": "client",
    "cluster_id": "cluster",
    "group_id": "groupid",
    "groups": "groupid",
    "group": "groupid",
    "transactional_id": "groupid",
    "member_id": "groupid",
    "group_instance_id": "groupid",
    "host": "host",
    "v0_host": "host",
    "host_name": "host",
    "client_host": "host",
    "principal": "user",
    "principal_name": "user",
    "owner_principal_name": "user",
    "token_requester_principal_name": "user",
    "token_id": "token",
    "user": "user",
    "resource_name": "topic",
    "leader": "groupid",
    "subscribed_topic_regex": "topic",
    "key": "groupid",
    "coordinator_keys": "groupid",
    "group_ids": "groupid",
    "groups_names": "groupid",
    "instance_id": "groupid",
    "transactional_ids": "groupid",
    "transactional_id_pattern": "groupid",
    "v3_and_below_transactional_id": "groupid",
    "host_filter": "host",
    "rack": "rack",
    "rack_id": "rack",
    "log_dir": "path",
    "path": "path",
    "principal_filter": "user",
    "entity_name": "user",
    "resource_name_filter": "topic",
    "repartition_sink_topics": "topic",
    "sink_topic": "topic",
    "source_topic_regex": "topic",
    "stores": "topic",
    "successors": "topic",
    "acknowledge_error_message": "text",
    "batch_index_error_message": "text",
    "reason": "text",
    "status_detail": "text",
}
# struct whose field `name` is redacted -> the kind
_NAMED = {
    "ScramCredentialDeletion": "user",
    "ScramCredentialUpsertion": "user",
    "UserName": "user",
    "ClientMetricsResource": "topic",
    "TopologyDescriptionNode": "topic",
}


def kind_for(struct: str, attribute: str, is_text: bool) -> str | None:
    """Return the kind of data in a field of text or bytes; None if the field is kept.

    >>> kind_for("PartitionProduceData", "records", False), kind_for("MetadataResponseTopic", "name", True)
    ('records', 'topic')
    """
    if not is_text:
        return _BYTES.get(attribute)
    if is_topic_field(struct, attribute):
        return "topic"
    return _NAMED.get(struct) if attribute == "name" else _TEXTS.get(attribute)
