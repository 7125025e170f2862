"""Checkers of records: what producers were acknowledged, what consumers read, and what is in the logs at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ..history import (
    Acknowledged,
    BrokerRaised,
    Fault,
    FinalGroup,
    HistoryEvent,
    OffsetOutOfRange,
    ProducerBegun,
    Read,
    Sent,
    SequenceRefused,
    ShareDelivered,
    TopicPartition,
    TransactionEnded,
    TransactionEnding,
    Unfinished,
)
from .violation import HistoryFacts, Invariant, Problem


def check_acknowledged(facts: HistoryFacts) -> Iterator[Problem]:
    """Each record that was acknowledged with acks=all is in the final log, at the acknowledged offset."""
    for event in facts.history.of(Acknowledged):
        values = dict(facts.final_values.get(event.partition, ()))
        if event.partition not in facts.logs:
            continue  # the log could not be read, which another checker reports
        lost = set(event.values) - set(values.values())
        if lost:
            yield Problem(f"{_join_values(lost)} in {event.partition} was acknowledged and is lost", (event,))
        elif event.offset >= 0 and [values.get(event.offset + n) for n in range(len(event.values))] != [*event.values]:
            yield Problem(
                f"{_join_values(set(event.values))} is not at the acknowledged offset {event.offset}", (event,)
            )


def check_once(facts: HistoryFacts) -> Iterator[Problem]:
    """No record of an idempotent producer is in the log twice, and none is there that nobody sent."""
    for partition, values in facts.final_values.items():
        for value, count in Counter(value for _, value in values).items():
            if count > 1 and (value not in facts.sent or facts.sent[value].producer_id >= 0):
                offsets = [offset for offset, other in values if other == value]
                yield Problem(
                    f"{_join_values({value})} is in {partition} {count} times, at {offsets}", _find_events(facts, value)
                )
            elif value not in facts.sent:
                yield Problem(f"{_join_values({value})} is in {partition}, but nobody sent it")


def check_order(facts: HistoryFacts) -> Iterator[Problem]:
    """In each partition, the records of an idempotent producer are in the order in which it sent them."""
    order = {value: index for index, value in enumerate(facts.sent)}
    for partition, values in facts.final_values.items():
        last: dict[str, tuple[int, bytes]] = {}
        for _, value in values:
            if value not in facts.sent or facts.sent[value].producer_id < 0:
                continue  # without a producer id, a retry may be stored again
            client = facts.sent[value].client
            before = last.get(client, (-1, b""))
            if order[value] < before[0]:
                events = (facts.sent[value], facts.sent[before[1]])
                yield Problem(f"{_join_values({value})} is in {partition} after {_join_values({before[1]})}", events)
            last[client] = max(before, (order[value], value))


def check_transactions(facts: HistoryFacts) -> Iterator[Problem]:
    """With read_committed, all acknowledged records of a committed transaction are visible in the end, and none of
    another; if nobody knows how a transaction ended, all or none."""
    if not facts.logs:
        return
    visible = {value for log in facts.logs.values() for _, value in log.committed}
    ending = {event.transaction: event for event in facts.history.of(TransactionEnding)}
    ended = {event.transaction for event in facts.history.of(TransactionEnded)}
    for transaction, values in _group_by_transaction(facts).items():
        end = ending.get(transaction)
        shown = values & visible
        events = (end,) if end is not None else ()
        if shown and (end is None or not end.is_commit):
            yield Problem(f"{_join_values(shown)} is visible, but {transaction} did not commit", events)
        elif shown != values and end is not None and end.is_commit and transaction in ended:
            yield Problem(f"{_join_values(values - shown)} is not visible, but {transaction} is committed", events)
        elif shown and shown != values:
            yield Problem(
                f"of {transaction}, {_join_values(shown)} is visible and {_join_values(values - shown)} is not", events
            )


def _group_by_transaction(facts: HistoryFacts) -> dict[str, set[bytes]]:
    values: dict[str, set[bytes]] = {}
    for event in facts.history.of(Acknowledged):
        for value in event.values:
            transaction = facts.sent[value].transaction if value in facts.sent else None
            if transaction is not None:
                values.setdefault(transaction, set()).add(value)
    return values


def check_committed_reads(facts: HistoryFacts) -> Iterator[Problem]:
    """A read_committed consumer, or such a share group, gets no record before its producer has asked to commit it, and
    none at or after the last stable offset."""
    commit_times = {event.transaction: event.time for event in facts.history.of(TransactionEnding) if event.is_commit}
    for event, rows in _list_committed_reads(facts):
        for offset, value in rows:
            sent = facts.sent.get(value)
            if sent is None or sent.transaction is None:
                continue
            if commit_times.get(sent.transaction, event.time) >= event.time:
                text = f"{_join_values({value})} at {offset} was read before {sent.transaction} was to be committed"
                yield Problem(text, (sent, event))


def _list_committed_reads(facts: HistoryFacts) -> Iterator[tuple[HistoryEvent, list[tuple[int, bytes]]]]:
    for read in facts.history.of(Read):
        if read.is_committed:
            yield read, list(read.records)
    for delivered in facts.history.of(ShareDelivered):
        if delivered.group == "share-committed":
            yield delivered, [(offset, value) for offset, value, _ in delivered.records]


def check_committed_offsets_of_transactions(facts: HistoryFacts) -> Iterator[Problem]:
    """The offset that transactions commit for a group is that of the latest committed transaction."""
    ended = {event.transaction for event in facts.history.of(TransactionEnded)}
    for group in facts.history.of(FinalGroup):
        if group.kind != "offsets":
            continue
        endings = [event for event in facts.history.of(TransactionEnding) if event.group == group.group]
        committing = [event for event in endings if event.is_commit]
        latest = max((event.offset for event in committing if event.transaction in ended), default=-1)
        offset = dict(group.offsets).get(0, -1)
        if offset < latest or (offset >= 0 and offset not in [event.offset for event in committing]):
            text = f"group {group.group} has offset {offset}, but {latest} was committed last"
            yield Problem(text, (*[event for event in endings if event.offset in (offset, latest)], group))


def check_stable_reads(facts: HistoryFacts) -> Iterator[Problem]:
    """What has been read or acknowledged at an offset is there in all later reads, and in the final log."""
    known: dict[tuple[TopicPartition, int], tuple[bytes, HistoryEvent]] = {}
    for event, partition, offset, value in _list_values_at_offsets(facts):
        before = known.setdefault((partition, offset), (value, event))
        if before[0] != value:
            text = f"{partition} has {_join_values({before[0]})} at offset {offset}, and later {_join_values({value})}"
            yield Problem(text, (before[1], event))


def _list_values_at_offsets(facts: HistoryFacts) -> Iterator[tuple[HistoryEvent, TopicPartition, int, bytes]]:
    """Yield what is seen at each offset, in the order of time."""
    for event in facts.history.events:
        if isinstance(event, (Read, ShareDelivered)):
            for row in event.records:
                yield event, event.partition, row[0], row[1]
        elif isinstance(event, Acknowledged) and event.offset >= 0:
            for index, value in enumerate(event.values):
                yield event, event.partition, event.offset + index, value
    for partition, values in facts.final_values.items():
        for offset, value in values:
            yield facts.logs[partition], partition, offset, value


def check_watermarks(facts: HistoryFacts) -> Iterator[Problem]:
    """High watermark and last stable offset never go back, and the high watermark is past each acknowledged record.
    The last stable offset is not past the high watermark; after all transactions, it is equal."""
    reads: dict[TopicPartition, list[Read]] = {}
    for read in facts.history.of(Read):
        if read.last_stable_offset > read.high_watermark:
            yield Problem("the last stable offset is past the high watermark", (read,))
        yield from _check_advance(reads.setdefault(read.partition, []), read)
        reads[read.partition].append(read)
    for event in facts.history.of(Acknowledged):
        end = event.offset + len(event.values)
        later = (read for read in reads.get(event.partition, ()) if read.asked >= event.time)
        if too_low := next((read for read in later if read.high_watermark < end), None):
            yield Problem("the high watermark is not past an acknowledged record", (event, too_low))
    for log in facts.logs.values():
        if log.last_stable_offset != log.high_watermark:
            yield Problem("a transaction never ends: the last stable offset is below the high watermark", (log,))


def _check_advance(earlier: list[Read], read: Read) -> Iterator[Problem]:
    for before in earlier:
        if before.time > read.asked:
            return
        if before.high_watermark > read.high_watermark:
            yield Problem("the high watermark went back", (before, read))
        if before.last_stable_offset > read.last_stable_offset:
            yield Problem("the last stable offset went back", (before, read))


def check_fencing(facts: HistoryFacts) -> Iterator[Problem]:
    """Once another instance with its transactional id has begun, a producer is acknowledged nothing that it sends
    later, and in each partition the epochs of a producer id never go back."""
    begun = [event for event in facts.history.of(ProducerBegun) if event.transactional_id]
    answered: list[Acknowledged | TransactionEnded] = [*facts.history.of(Acknowledged)]
    for event in [*answered, *facts.history.of(TransactionEnded)]:
        own = [producer for producer in begun if producer.client == event.client and producer.time <= event.time]
        later = (producer for producer in begun if own and own[-1].time < producer.time <= event.asked)
        for successor in later:
            # an older instance may receive its epoch later than a newer one
            is_newer = (successor.producer_id, successor.epoch) >= (event.producer_id, event.epoch)
            is_other = successor.client != event.client and successor.transactional_id == own[-1].transactional_id
            if is_other and is_newer:
                yield Problem(f"{event.client} was fenced by {successor.client}", (successor, event))
                break
    for partition, log in facts.logs.items():
        epochs: dict[int, int] = {}
        for batch in log.batches:
            if batch.epoch < epochs.get(batch.producer_id, -1):
                yield Problem(f"{partition} has a batch of an old epoch at offset {batch.offset}: {batch}")
            epochs[batch.producer_id] = batch.epoch


def check_markers(facts: HistoryFacts) -> Iterator[Problem]:
    """A transaction has one marker in a partition. (A coordinator that is killed before it has noted that all markers
    are written writes them again, as in Kafka: histories in which all brokers restart are left out.)"""
    if any(event.text.startswith("restart") for event in facts.history.of(Fault)):
        return
    for partition, log in facts.logs.items():
        ended: dict[int, int] = {}  # the epoch of the latest marker, by producer id
        for batch in log.batches:
            if batch.marker < 0:
                ended.pop(batch.producer_id, None)
            elif ended.get(batch.producer_id) == batch.epoch:
                yield Problem(f"{partition} has a second marker of one transaction at offset {batch.offset}: {batch}")
            else:
                ended[batch.producer_id] = batch.epoch


def check_sequences(facts: HistoryFacts) -> Iterator[Problem]:
    """A producer that retries in order is never refused because of its sequence numbers."""
    for event in facts.history.of(SequenceRefused):
        yield Problem(f"{event.client} sent batches in order", (event,))


def check_positions(facts: HistoryFacts) -> Iterator[Problem]:
    """The position of a consumer is never out of range."""
    for event in facts.history.of(OffsetOutOfRange):
        yield Problem(f"offset {event.offset} of {event.partition} was there before", (event,))


def check_answers(facts: HistoryFacts) -> Iterator[Problem]:
    """Brokers answer each request, and raise no exception."""
    for event in facts.history.of(BrokerRaised):
        yield Problem(event.error, (event,))


def check_finished(facts: HistoryFacts) -> Iterator[Problem]:
    """After all faults, each client finishes its work, and all that is stored can be read."""
    for event in facts.history.of(Unfinished):
        yield Problem(f"{event.client}: {event.text}", (event,))


def _join_values(values: set[bytes]) -> str:
    return ", ".join(sorted(value.decode(errors="replace") for value in values))


def _find_events(facts: HistoryFacts, value: bytes) -> tuple[HistoryEvent, ...]:
    kinds = (Sent, Acknowledged)
    return tuple(event for event in facts.history.events if isinstance(event, kinds) and value in event.values)


RECORD_INVARIANTS = (
    Invariant("acknowledged records survive", check_acknowledged.__doc__ or "", check_acknowledged),
    Invariant("records are stored once", check_once.__doc__ or "", check_once),
    Invariant("records keep their order", check_order.__doc__ or "", check_order),
    Invariant("transactions are all or nothing", check_transactions.__doc__ or "", check_transactions),
    Invariant("read_committed reads what is committed", check_committed_reads.__doc__ or "", check_committed_reads),
    Invariant(
        "transactions commit offsets",
        check_committed_offsets_of_transactions.__doc__ or "",
        check_committed_offsets_of_transactions,
    ),
    Invariant("reads are stable", check_stable_reads.__doc__ or "", check_stable_reads),
    Invariant("watermarks never go back", check_watermarks.__doc__ or "", check_watermarks),
    Invariant("fenced producers write nothing", check_fencing.__doc__ or "", check_fencing),
    Invariant("one marker ends a transaction", check_markers.__doc__ or "", check_markers),
    Invariant("sequences in order are accepted", check_sequences.__doc__ or "", check_sequences),
    Invariant("positions stay in range", check_positions.__doc__ or "", check_positions),
    Invariant("brokers answer", check_answers.__doc__ or "", check_answers, is_lossless=False),
    Invariant("clients finish", check_finished.__doc__ or "", check_finished),
)
