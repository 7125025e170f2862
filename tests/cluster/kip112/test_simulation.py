"""KIP-112's machines under any interleaving: messages late, lost or again, crashes, disks that fail and are mended.

`HYPOTHESIS_PROFILE=nightly` tries more; `KWIRE_SIMULATION_STEPS` is how long each story gets.
"""

from __future__ import annotations

import os

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.cluster.kip112.world import BROKERS, DIRECTORIES, World

STEPS = int(os.environ.get("KWIRE_SIMULATION_STEPS", "80"))
MOST_TOPICS = 3


class Simulation(RuleBasedStateMachine):
    """Hypothesis chooses what happens next."""

    world: World

    @initialize(
        protocol=st.sampled_from(["1.0", "2.4", "3.9"]), behaviour=st.sampled_from(["kip", "1.1", "2.4", "3.9"])
    )
    def begin(self, protocol: str, behaviour: str) -> None:
        self.world = World(protocol, behaviour)
        self.world.create_topic((1, 2, 3))
        self.world.cluster.run()

    @rule(data=st.data(), times=st.integers(1, 12))
    def step(self, data: st.DataObject, times: int) -> None:
        """Let some of what is under way arrive: any connection may be slow."""
        for _ in range(times):
            steps = list(self.world.cluster.steps())
            if not steps:
                return
            self.world.cluster.take(data.draw(st.sampled_from(steps)))
            self.world.check()

    @precondition(lambda self: self.world.cluster.links)
    @rule(data=st.data())
    def drop_connection(self, data: st.DataObject) -> None:
        self.world.cluster.drop(data.draw(st.sampled_from(sorted(self.world.cluster.links))))

    @precondition(lambda self: self.world.topics < MOST_TOPICS)
    @rule(replicas=st.permutations(BROKERS), count=st.integers(1, 3))
    def create_topic(self, replicas: list[int], count: int) -> None:
        self.world.create_topic(tuple(replicas[:count]))

    @precondition(lambda self: self.world.topics == MOST_TOPICS)
    @rule(number=st.integers(2, MOST_TOPICS))
    def delete_topic(self, number: int) -> None:
        self.world.delete_topic(f"t{number}")

    @precondition(lambda self: self.world.served())
    @rule(data=st.data(), count=st.integers(1, 3))
    def produce(self, data: st.DataObject, count: int) -> None:
        leaders = [one for one in self.world.served() if one[2].is_leader]
        if leaders:
            leader = data.draw(st.sampled_from(leaders))
            for _ in range(count):
                self.world.produce(*leader)

    @precondition(lambda self: self.world.served())
    @rule(data=st.data(), times=st.integers(1, 4))
    def fetch(self, data: st.DataObject, times: int) -> None:
        for _ in range(times):
            followers = [one for one in self.world.served() if not one[2].is_leader]
            if followers:
                self.world.fetch(*data.draw(st.sampled_from(followers)))
            if data.draw(st.booleans()) and self.world.fetches:
                self.world.finish_fetch(data.draw(st.integers(0, len(self.world.fetches) - 1)))
            self.world.check()

    @rule(data=st.data())
    def catch_up(self, data: st.DataObject) -> None:
        partitions = self.world.partitions()
        if partitions:
            self.world.catch_up(data.draw(st.sampled_from(partitions)))

    @rule(data=st.data(), grow=st.booleans())
    def change_isr(self, data: st.DataObject, grow: bool) -> None:
        leaders = [one for one in self.world.served() if one[2].is_leader]
        if leaders:
            (self.world.expand_isr if grow else self.world.shrink_isr)(*data.draw(st.sampled_from(leaders)))

    @rule(broker_id=st.sampled_from(BROKERS), expires=st.booleans())
    def crash(self, broker_id: int, expires: bool) -> None:
        self.world.cluster.crash(broker_id)
        if expires:
            self.world.cluster.expire(broker_id)

    @rule(broker_id=st.sampled_from(BROKERS))
    def lose_session(self, broker_id: int) -> None:
        self.world.cluster.expire(broker_id)

    @rule(successor=st.sampled_from(BROKERS))
    def depose(self, successor: int) -> None:
        self.world.depose(successor)

    @rule()
    def resign(self) -> None:
        if self.world.cluster.controller is not None:
            self.world.cluster.resign(self.world.cluster.controller.broker_id)

    @rule(broker_id=st.sampled_from(BROKERS), stops=st.booleans())
    def shut_down(self, broker_id: int, stops: bool) -> None:
        self.world.shut_down(broker_id)
        if stops:
            self.world.cluster.stop(broker_id)

    @rule()
    def prefer(self) -> None:
        """Let preferred replicas lead."""
        if self.world.cluster.controller is not None:
            self.world.cluster.controller.elect_preferred(self.world.partitions())
            self.world.cluster.after()

    @rule(broker_id=st.sampled_from(BROKERS))
    def start(self, broker_id: int) -> None:
        if self.world.cluster.hosts[broker_id].broker is None:
            self.world.cluster.start(broker_id)

    @rule(broker_id=st.sampled_from(BROKERS))
    def elect(self, broker_id: int) -> None:
        self.world.cluster.elect(broker_id)

    @rule(broker_id=st.sampled_from(BROKERS), directory=st.sampled_from(DIRECTORIES))
    def fail_disk(self, broker_id: int, directory: str) -> None:
        self.world.cluster.fail_disk(broker_id, directory)

    @rule(broker_id=st.sampled_from(BROKERS), directory=st.sampled_from(DIRECTORIES))
    def notice(self, broker_id: int, directory: str) -> None:
        self.world.cluster.notice(broker_id, directory)

    @rule(broker_id=st.sampled_from(BROKERS), directory=st.sampled_from(DIRECTORIES), empty=st.booleans())
    def mend(self, broker_id: int, directory: str, empty: bool) -> None:
        if self.world.cluster.hosts[broker_id].broker is None:
            self.world.mend(broker_id, directory, empty)

    @rule()
    def settle(self) -> None:
        self.world.settle()
        self.world.check_settled()

    @invariant()
    def holds(self) -> None:
        if hasattr(self, "world"):
            self.world.check()

    def teardown(self) -> None:
        if hasattr(self, "world"):
            self.world.settle()
            self.world.check()
            self.world.check_settled()


Simulation.TestCase.settings = settings(settings(), stateful_step_count=STEPS)
TestSimulation = Simulation.TestCase
