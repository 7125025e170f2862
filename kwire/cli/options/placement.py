"""The options of `kwire place`: the cluster, what to change in its placement of replicas, and how."""

from __future__ import annotations

import argparse

from .joined_words import JoinWords
from .specs import add_profile
from .timeout import add_timeout

ASSIGNORS = (
    "for new partitions: multi-level (KIP-879), rack-aware (KIP-36), rack-aware-safe, simple, striped (KRaft), even "
    "(the least loaded brokers), or MODULE:FUNCTION; default: multi-level if all racks are paths, else rack-aware"
)


def add_placement(parser: argparse.ArgumentParser) -> None:
    """Add the options of a placement, in groups."""
    _add_inputs(parser)
    _add_changes(parser)
    _add_rules(parser)
    _add_live(parser)


def _add_inputs(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("the cluster")
    group.add_argument("source", nargs="?", metavar="SOURCE", help="see above")
    group.add_argument("--brokers", metavar="FILE", help="JSON of brokers and their racks; - is standard input")
    group.add_argument("--from", dest="files", action="append", metavar="DUMP", help="a dump; may be repeated")
    group.add_argument("--as", dest="named", metavar="API:VERSION", help="for a dump: the api of a response")
    group.add_argument("--current", metavar="FILE", help="partitions and their replicas, instead of those of SOURCE")
    group.add_argument("--sizes", metavar="FILE", help="output of kafka-log-dirs --describe")
    group.add_argument("--topic", metavar="T", help="the topic to place; of existing topics, only this one")
    add_profile(parser)


def _add_changes(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what to change")
    group.add_argument("--partitions", type=int, metavar="N", help="partitions of a new topic, or new total of a topic")
    group.add_argument("--rf", type=int, metavar="N", help="new replication factor")
    group.add_argument(
        "--add", action=JoinWords, metavar="IDS", help="new brokers, with racks: 7=/DC1/R2,8=/DC2/R1; implies --balance"
    )
    group.add_argument("--remove", action=JoinWords, metavar="IDS", help="brokers to empty: 3,4")
    group.add_argument("--replace", action=JoinWords, metavar="OLD=NEW", help="brokers to replace by others: 3=7,4=8")
    group.add_argument("--repair", action="store_true", help="spread partitions over racks, where possible")
    group.add_argument("--balance", action="store_true", help="also balance the number of replicas per broker")
    group.add_argument(
        "--by",
        choices=("replicas", "bytes"),
        default="replicas",
        help="what --balance evens out; default: replicas",
    )
    group.add_argument(
        "--by-topic", action="store_true", help="also spread each topic over the brokers; implies --balance"
    )
    group.add_argument("--leaders", action="store_true", help="balance preferred leaders and followers")
    group.add_argument(
        "--demote",
        action=JoinWords,
        metavar="BROKERS",
        help="brokers and racks to lead nothing, if possible: 3,/DC1/R2",
    )
    group.add_argument("--disks", action="store_true", help="balance the log directories of each broker, by bytes")
    group.add_argument(
        "--leave-disk",
        action=JoinWords,
        metavar="DIRS",
        help="log directories to empty into others of their brokers: 3=/data/a",
    )
    group.add_argument(
        "--generate", action="store_true", help="place everything with an assignor, as Kafka's tool does"
    )
    group.add_argument("--plan", metavar="FILE", help="an existing plan")


def _add_rules(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("how")
    group.add_argument(
        "--fewest", choices=("bytes", "replicas"), help="what to minimise; default: bytes if sizes are known"
    )
    group.add_argument(
        "--mode",
        choices=("enforced", "safe", "disabled"),
        default="enforced",
        help="racks (KIP-36): required; used if all brokers have one; ignored",
    )
    group.add_argument(
        "--weights",
        action=JoinWords,
        metavar="BROKERS",
        help="how much more brokers, or those of racks, should hold: 3=2,/DC2=0.5; default: 1",
    )
    group.add_argument("--exclude", action="append", metavar="REGEX", help="topics whose replicas stay as they are")
    group.add_argument("--disable-rack-awareness", action="store_true", help="--mode disabled, and --assignor simple")
    group.add_argument(
        "--broker-list", action=JoinWords, metavar="IDS", help="place new partitions only on these, such as 1,2,5"
    )
    group.add_argument("--assignor", metavar="NAME", help=ASSIGNORS)
    group.add_argument("--seed", type=int, metavar="N", help="seed of java.util.Random; default: random, and printed")


def _add_live(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("on a live cluster, if SOURCE is HOST:PORT")
    group.add_argument("--apply", action="store_true", help="execute the plan, and wait for its end")
    group.add_argument(
        "--verify", action="store_true", help="show the progress of --plan; at its end, remove throttles"
    )
    group.add_argument("--cancel", action="store_true", help="cancel the rest of --plan, and remove throttles")
    group.add_argument("--batch", type=int, default=100, metavar="N", help="partitions at a time; default: 100")
    group.add_argument(
        "--batch-bytes", type=int, metavar="N", help="with log directories: bytes at a time, or one larger replica"
    )
    group.add_argument("--throttle", type=int, metavar="BYTES", help="bytes per second that each broker may copy")
    add_timeout(group, 30, "for each reading of the state, from all brokers together, and for each change")
