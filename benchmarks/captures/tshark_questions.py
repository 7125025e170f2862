"""Time questions to captures: kwire beside tshark with awk or jq, by turns.

    python -m benchmarks.captures.tshark_questions CAPTURE...

tshark must know the brokers' ports: name them in its preferences, or have a ``tshark`` in PATH that adds ``-d tcp.port==PORT,kafka``.
"""

# ruff: noqa: E501
from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# A question, kwire's command, tshark's command.
QUESTIONS = r"""
slowest 3 requests
kwire stats c.pcap --slow 3
tshark -r c.pcap -T fields -e frame.number -e frame.time_epoch -e kafka.request_frame -e kafka.client_id -e _ws.col.Info | awk -F'\t' '{t[$1]=$2;c[$1]=$4}$3{print $2-t[$3],$3,$1,c[$3],$5}' | sort -rn | head -3
one request and its response
kwire decode c.pcap --request 184
tshark -r c.pcap -Y 'frame.number==481||kafka.request_frame==481' -O kafka
p50 and p99 by API
kwire stats c.pcap --latency
tshark -r c.pcap -T fields -e frame.number -e frame.time_epoch -e kafka.request_frame -e kafka.api_key | awk '{t[$1]=$2}NF==4{print $4,$2-t[$3]}' | sort -k1n -k2n | awk '{v[$1,n[$1]++]=$2}END{for(k in n)print k,n[k],v[k,int((n[k]-1)*.5)],v[k,int((n[k]-1)*.99)]}'
responses over 100 ms, no Fetch
kwire decode c.pcap --where 'latency > 100ms and api != fetch'
tshark -r c.pcap -T fields -e frame.number -e frame.time_epoch -e kafka.request_frame -e kafka.client_id -e _ws.col.Info | awk -F'\t' '{t[$1]=$2;c[$1]=$4}$3&&$2-t[$3]>.1&&!/Fetch v/{print $1,$2-t[$3],c[$3],$5}'
who got which error
kwire stats c.pcap --by client,api,error
tshark -r c.pcap -T fields -e frame.number -e kafka.request_frame -e kafka.client_id -e kafka.api_key -e kafka.error | awk -F'\t' '{c[$1]=$3}$2{split($5,e,",");for(i in e)if(e[i])u[e[i]];for(k in u)n[c[$2]" "$4" "k]++;delete u}END{for(k in n)print n[k],k}'
requests without a response
kwire stats c.pcap --unanswered
tshark -r c.pcap -T fields -e frame.number -e kafka.request_frame -e kafka.client_id -e kafka.request_key | awk -F'\t' '$4!=""{r[$1]=$3" "$4}{delete r[$2]}END{for(k in r)print k,r[k]}'
software of each client
kwire stats c.pcap --by client,software
tshark -r c.pcap -Y kafka.client_software_name -T fields -e kafka.client_id -e kafka.client_software_name -e kafka.client_software_version | sort | uniq -c
JoinGroup of one client
kwire decode c.pcap --api JoinGroup --client lab-admin
tshark -r c.pcap -Y kafka.api_key==11 -T fields -e frame.number -e kafka.request_frame -e kafka.client_id -e _ws.col.Info | awk -F'\t' '{c[$1]=$3?$3:c[$2]}c[$1]=="lab-admin"'
offsets that consumers fetch
kwire decode c.pcap --where 'api==fetch and type==request' --fields frame,client_id,topics[].topic,fetch_offset
tshark -r c.pcap -Y kafka.request_key==1 -T fields -e frame.number -e kafka.client_id -e kafka.topic_name -e kafka.offset
producers: acks and topics
kwire decode c.pcap --where 'api==produce and type==request' --fields client_id,acks,topic_data[].name
tshark -r c.pcap -Y kafka.request_key==0 -T fields -e kafka.client_id -e kafka.required_acks -e kafka.topic_name
clients and APIs by topic
kwire stats c.pcap --by topic,client,api
tshark -r c.pcap -Y 'kafka.topic_name' -T json -e frame.number -e kafka.client_id -e kafka.request_key -e kafka.topic_name | jq -r '.[]._source.layers|select(."kafka.request_key")|"\(."kafka.topic_name"|unique[]) \(."kafka.client_id"[0]) \(."kafka.request_key"[0])"' | sort | uniq -c
3 biggest messages
kwire decode c.pcap --sort size --first 3
tshark -r c.pcap -Y kafka -T fields -e kafka.len -e frame.number -e _ws.col.Info | sort -rn | head -3
transactions committed
kwire decode c.pcap --where 'api==endtxn and type==request' --fields client_id,transactional_id,committed
tshark -r c.pcap -Y kafka.request_key==26 -T fields -e kafka.client_id -e kafka.transactional_id -e kafka.transaction_result
offsets committed
kwire decode c.pcap --where 'api==offsetcommit and type==request' --fields client_id,group_id,topics[].name,committed_offset
tshark -r c.pcap -Y kafka.request_key==8 -T fields -e kafka.client_id -e kafka.consumer_group -e kafka.topic_name -e kafka.offset
messages in one second
kwire decode c.pcap --from 06:27:19 --to 06:27:20 --count
tshark -r c.pcap -Y 'kafka&&frame.time>="2026-11-21 06:27:19"&&frame.time<"2026-11-21 06:27:20"' | wc -l
""".strip().splitlines()


def seconds(command: str, folder: str) -> float:
    began = time.perf_counter()
    subprocess.run(
        ["bash", "-c", command], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
    )
    return time.perf_counter() - began


def main() -> None:
    for capture in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "c.pcap").symlink_to(Path(capture).resolve())
            for question, ours, theirs in zip(QUESTIONS[::3], QUESTIONS[1::3], QUESTIONS[2::3], strict=True):
                turns = [(seconds(ours, folder), seconds(theirs, folder)) for _ in range(3)]
                one, two = (statistics.median(column) for column in zip(*turns, strict=True))
                print(f"{question}: {len(ours)}, {len(theirs)} characters; {one:.2f}, {two:.2f} s")


if __name__ == "__main__":
    main()
