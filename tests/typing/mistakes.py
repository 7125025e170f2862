"""Thirty and more mistakes, one a line: a type checker finds each, and nothing else."""

from __future__ import annotations

import kwire
from kwire import Framee  # mistake
from kwire import messages as M
from kwire.messages import MetadataReqest  # mistake
from kwire.values import ErrorCode, ErrorKode  # mistake

codec = kwire.codec(M.MetadataResponse, 12)
response = codec.decode(b"")
topic = M.MetadataRequest.MetadataRequestTopic(name="a")

kwire.nothing  # mistake
kwire.codecc("MetadataResponse", 12)  # mistake
ErrorCode.NONEE  # mistake
M.MetadataRespons()  # mistake
M.MetadataRequest.MetadataRequestTopics(name="a")  # mistake

response.topics[0].partitonss  # mistake
response.topics[0].partitions[0].offline_replica  # mistake
kwire.codec("MetadataResponse", 12).decode(b"").topic  # mistake
codec.decode(b"", salvage=True).messages  # mistake
codec.decode(b"", salvage=True).topics  # mistake
response.topics[0].name + "-copy"  # mistake
response.throttle_time_ms = 7  # mistake
codec.decod(b"")  # mistake

M.MetadataRequest(topicz=[topic])  # mistake
M.MetadataRequest(topics=["a"])  # mistake
M.MetadataRequest(topics=topic)  # mistake
M.MetadataRequest(topics=[M.MetadataResponse.MetadataResponseTopic(name="a")])  # mistake
M.DeleteTopicsRequest(topic_names="orders")  # mistake
M.ControlledShutdownRequest(broker_id="3")  # mistake
M.FetchRequest(cluster_id=b"x")  # mistake
M.OffsetCommitRequest(group_id=None)  # mistake

codec.decode("00")  # mistake
codec.decode(b"", salvaged=True)  # mistake
codec.encode(M.MetadataRequest())  # mistake
kwire.codec("MetadataResponse", 12).encode(M.MetadataRequest())  # mistake
kwire.codec(M.MetadataResponse, "12")  # mistake
kwire.codec("MetadataResponse")  # mistake
kwire.codec(dict, 12)  # mistake
kwire.encode_request(M.MetadataRequest(), 12, correlation_id="7")  # mistake
kwire.encode_request(M.MetadataResponse(), 12)  # mistake
kwire.encode_response(M.MetadataRequest(), 12)  # mistake
kwire.encode_response(kwire.decode_request(b"").message, 12)  # mistake
kwire.decode_response(b"", codec).mesage  # mistake
kwire.decode_response(b"", codec).message.topic  # mistake
kwire.decode_request(b"").header.correlationId  # mistake
