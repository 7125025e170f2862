"""Runs a schedule: the brokers, the network, the clients and the faults, in the order of simulated time."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from random import Random

from ...broker.groups.modern_group import GroupState
from ...broker.groups.share_group import ShareGroup
from ...broker.transactions.transaction import PREPARED, TransactionState
from .client import Action, Client, ClientFactory, Close, Send, Wake
from .clock import Clock
from .cluster import SimulatedCluster
from .consumers import ClassicConsumer, Consumer, GroupConsumer
from .faults import FaultInjector, Undo, nothing
from .history import BrokerRaised, Fault, History, HistoryEvent, StillMember, Unfinished
from .model_client import ModelClient
from .network import SimulatedConnection, SimulatedNetwork
from .observer import Observer
from .producers import IdempotentProducer, TransactionalProducer
from .schedule import ClientPlan, PlannedFault, Schedule
from .share_consumers import ShareConsumer

SETTLING = 16.0  # seconds after all faults: more than sessions, rebalances and transactions take to time out
QUIET = 2.0  # seconds for which nothing must be left to do
CHECK_INTERVAL = 1.0
STEPS_AT_MOST = 200_000


class Simulation:
    """One run of a schedule.

    Args:
        schedule: what happens.
        factories: makes the user's own clients, by name.
    """

    def __init__(self, schedule: Schedule, factories: Mapping[str, ClientFactory] | None = None) -> None:
        self.schedule = schedule
        self.history: History = History()
        self.clock: Clock = Clock()
        self.cluster: SimulatedCluster = SimulatedCluster(
            schedule.seed, is_unclean=schedule.is_unclean, has_chaos=schedule.has_chaos
        )
        self.network: SimulatedNetwork = SimulatedNetwork(
            self.clock, self.cluster, schedule.seed, self._receive, self._close_connection, self._record_error
        )
        self._faults = FaultInjector(self.cluster, self.network, self)
        self._factories = dict(factories or {})
        self.clients: dict[str, Client] = {}  # those that run, by name
        self._instances: dict[str, int] = {}
        self._current: dict[int, str] = {}  # the name of the newest instance of each client, by number
        self._paused: dict[str, list[Callable[[], None]]] = {}

    def run(self) -> History:
        """Run the schedule to its end, and read what is left; returns the history."""
        for number in range(len(self.schedule.clients)):
            self._start(number)
        for fault in self.schedule.faults:
            self.clock.call_at(fault.at, partial(self._begin, fault))
        self._check_often()
        self._run_until(self.schedule.seconds)
        self.cluster.calm()
        self.cluster.expand_isrs()
        self._note("all faults have ended")
        self._settle()
        self._observe()
        return self.history

    def _settle(self) -> None:
        """Give the clients time to finish their work, and groups and transactions time to end what is left."""
        end = self.schedule.seconds + SETTLING
        quiet_since = self.clock.now
        while self.clock.now < min(end, quiet_since + QUIET):
            self._run_until(self.clock.now + 0.5)
            if self.clock.now < self.network.last_arrival or not self._is_settled():
                quiet_since = self.clock.now
        for name, client in self.clients.items():
            if isinstance(client, (Consumer, ShareConsumer)) and not client.is_over:
                self.history.add(StillMember(client.group), name, self.clock.now)
            if isinstance(client, ModelClient) and not client.is_over and (text := client.unfinished()):
                self.history.add(Unfinished(text), name, self.clock.now)

    def _is_settled(self) -> bool:
        """Return whether nothing is left to do. This only saves time: the checkers look at what clients see."""
        members: dict[str, set[str]] = {}
        clients = [client for client in self.clients.values() if isinstance(client, ModelClient) and not client.is_over]
        for client in clients:
            if isinstance(client, (Consumer, ShareConsumer)):
                members.setdefault(client.group, set()).add(client.name)
        if any(client.unfinished() or _is_joining(client) for client in clients):
            return False
        for group in self.cluster.served.groups.all():
            own = group.members if group.consumer is None else group.consumer.members
            if {member.client_id for member in own.values()} != members.pop(group.group_id, set()):
                return False
            if own and group.state is not GroupState.STABLE:
                return False
            if isinstance(group.consumer, ShareGroup) and not self._is_drained(group.consumer):
                return False
        open_states = (TransactionState.ONGOING, *PREPARED)
        transactions = self.cluster.served.transactions.all()
        return not members and not any(transaction.state in open_states for transaction in transactions)

    def _is_drained(self, share: ShareGroup) -> bool:
        for (topic_id, index), part in share.partitions.items():
            topic = self.cluster.served.controller.by_id[topic_id]
            log = topic.partitions[index].log_at(topic.partitions[index].leader)
            if isinstance(log, int) or part.stored.start + part.stored.ended < log.end:
                return False
        return True

    def _observe(self) -> None:
        rng = Random(f"{self.schedule.seed} observer")
        observer = Observer("observer", rng, groups_of(self.schedule))
        for name in list(self.clients):
            self._stop(name)
        self.clients["observer"] = observer
        self._act("observer", observer.step(self.clock.now))
        self._run_until(self.clock.now + 60.0, lambda: observer.is_over)
        if not observer.is_over:
            self.history.add(Unfinished("the logs and groups cannot be read"), "observer", self.clock.now)

    def _run_until(self, end: float, is_over: Callable[[], bool] = lambda: False) -> None:
        for _ in range(STEPS_AT_MOST):
            deadline = self.cluster.served.next_deadline
            timer = self.clock.next_time
            at = min((time for time in (deadline, timer) if time is not None), default=end)
            if at > end or is_over():
                break
            if timer is None or (deadline is not None and deadline < timer):
                self.clock.call_at(at, lambda: None)
            self.cluster.now = max(at, self.clock.now)
            self._tick()
            self.clock.run_next()
            self.network.answer_parked()
            for line in self.cluster.take_disturbances():
                self._note(line)
        self.clock.now = self.cluster.now = max(end if not is_over() else 0.0, self.clock.now)

    def _tick(self) -> None:
        try:
            self.cluster.served.tick(self.cluster.now)
        except Exception as error:  # what a broker raises is what this looks for
            self._record_error("brokers", "tick", error)
        self.network.answer_parked()

    def _check_often(self) -> None:
        """Let the brokers do what they do from time to time."""
        try:
            self.cluster.served.check()
        except Exception as error:  # what a broker raises is what this looks for
            self._record_error("brokers", "check", error)
        self.clock.call_at(self.clock.now + CHECK_INTERVAL, self._check_often)

    def _note(self, text: str) -> None:
        self.history.add(Fault(text), "faults", self.clock.now)

    def _record_error(self, client: str, request: str, error: Exception) -> None:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        text = f"{type(error).__name__}: {error} ({frame.name}, line {frame.lineno})"
        self.history.add(BrokerRaised(request[:300], text), client, self.clock.now)

    # Faults

    def _begin(self, fault: PlannedFault) -> None:
        self._note(str(fault))
        undo = self._faults.begin(fault)
        ends = min(fault.at + fault.seconds, self.schedule.seconds)
        self.clock.call_at(ends, partial(self._end, fault, undo))

    def _end(self, fault: PlannedFault, undo: Undo) -> None:
        undo()
        self._note(f"end of {fault}")

    def crash(self, number: int) -> Undo:
        """End a client without a word; the returned function starts it again."""
        name = self._name(number)
        if name not in self.clients:
            return nothing
        self._stop(name)
        return partial(self._start, number)

    def leave(self, number: int) -> Undo:
        """Let a client leave properly; the returned function starts it again."""
        client = self.clients.get(self._name(number))
        if not isinstance(client, ModelClient) or client.is_leaving:
            return nothing
        client.is_leaving = True
        return partial(self._start, number)

    def pause(self, number: int) -> Undo:
        """Let a client do nothing until the returned function is called."""
        name = self._name(number)
        if name in self._paused:
            return nothing
        self._paused[name] = []
        return partial(self._go_on, name)

    def start_twin(self, number: int) -> Undo:
        """Start another instance of a client, and leave the older one running; it ends once it is fenced."""
        older = self.clients.get(self._name(number))
        if isinstance(older, ModelClient) and not isinstance(older, TransactionalProducer):
            older.is_leaving = True
        if isinstance(older, TransactionalProducer):
            older.is_replaced = True
        self._start(number)
        return nothing

    def _go_on(self, name: str) -> None:
        for call in self._paused.pop(name, ()):
            call()

    # Clients

    def _name(self, number: int) -> str:
        return self._current.get(number % max(1, len(self.schedule.clients)), "")

    def _start(self, number: int) -> None:
        """Start an instance of a client, each with its own name."""
        if self.clock.now > self.schedule.seconds or not self.schedule.clients:
            return
        number %= len(self.schedule.clients)
        plan = self.schedule.clients[number]
        count = self._instances[plan.name] = self._instances.get(plan.name, 0) + 1
        name = plan.name if count == 1 else f"{plan.name}/{count}"
        client = self._create_client(plan, name)
        if isinstance(client, ModelClient) and not client.has_late_requests:
            self.network.without_late_requests.add(name)
        self.clients[name] = client
        self._current[number] = name
        self._act(name, client.step(self.clock.now))

    def _create_client(self, plan: ClientPlan, name: str) -> Client:
        until = self.schedule.seconds
        if plan.kind == "own":
            return self._factories[plan.name](name, until)
        rng = Random(f"{self.schedule.seed} client {name}")
        if plan.kind == "idempotent":
            return IdempotentProducer(name, rng, until)
        if plan.kind == "transactional":
            return TransactionalProducer(name, rng, until, plan.name, plan.variant + 1)
        if plan.kind == "share":
            return ShareConsumer(name, rng, until, group_of(plan))
        kind = {"classic": ClassicConsumer, "consumer": GroupConsumer}[plan.kind]
        return kind(name, rng, until, group_of(plan), bool(plan.variant))

    def _stop(self, name: str) -> None:
        self.clients.pop(name, None)
        self._paused.pop(name, None)
        for broker in self.cluster.stopped:
            self.network.close(name, broker)

    def _when_awake(self, name: str, call: Callable[[], None]) -> None:
        if name in self._paused:
            self._paused[name].append(call)
        else:
            call()

    def _receive(self, connection: SimulatedConnection, data: bytes) -> None:
        name, broker = connection.client, connection.broker

        def receive() -> None:
            if connection.is_open:  # a client that was paused may have closed it
                self._call(name, lambda client, now: client.receive(broker, data, now))

        self._when_awake(name, receive)

    def _close_connection(self, name: str, broker: int) -> None:
        self._when_awake(name, lambda: self._call(name, lambda client, now: client.closed(broker, now)))

    def _step(self, name: str) -> None:
        self._when_awake(name, lambda: self._call(name, lambda client, now: client.step(now)))

    def _call(self, name: str, call: Callable[[Client, float], Iterable[Action]]) -> None:
        client = self.clients.get(name)
        if client is not None:
            self._act(name, call(client, self.clock.now))

    def _act(self, name: str, actions: Iterable[Action]) -> None:
        for action in actions:
            if isinstance(action, Send):
                self.network.send(name, action.broker, action.data)
            elif isinstance(action, Close):
                self.network.close(name, action.broker)
            elif isinstance(action, Wake):
                self.clock.call_at(action.at, partial(self._step, name))
            elif isinstance(action, HistoryEvent):
                self.history.add(action, name, self.clock.now)
            else:
                raise TypeError(f"client {name!r} returned {action!r}; Send, Close, Wake or a HistoryEvent is needed")


def _is_joining(client: ModelClient) -> bool:
    """Return whether a client waits for an answer to JoinGroup, perhaps in vain, while the group still counts it as a
    member, until its session times out."""
    return isinstance(client, ClassicConsumer) and client.joins_since is not None


def group_of(plan: ClientPlan) -> str:
    """Return the group of a consumer."""
    if plan.kind == "share":
        return "share-committed" if plan.variant else "share-uncommitted"
    return plan.kind


def groups_of(schedule: Schedule) -> list[tuple[str, str]]:
    """Return the groups of a schedule with their kinds."""
    groups: dict[tuple[str, str], None] = {}
    for plan in schedule.clients:
        if plan.kind in ("classic", "consumer", "share"):
            groups[group_of(plan), plan.kind] = None
        if plan.kind == "transactional":
            groups[f"eos-{plan.name}", "offsets"] = None
    return list(groups)
