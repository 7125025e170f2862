"""`kwire.testing.simulate`: what it promises, and that its checkers find faults that are put into the brokers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from kwire import testing
from kwire.testing.simulation import Acknowledged, PlannedFault, Schedule, Violation
from kwire.testing.simulation.checkers.invariants import check_history
from kwire.testing.simulation.checkers.records import check_fencing
from kwire.testing.simulation.checkers.violation import HistoryFacts
from kwire.testing.simulation.history import Fault, FinalLog, ProducerBegun, TopicPartition
from kwire.testing.simulation.shrinking import minimize
from tests import seeds
from tests.testing.broken_brokers import BUGS, Bug

EASY = BUGS[:3]  # those that the default run looks for


def fresh(what: str, count: int) -> Iterator[int]:
    rng = seeds.seeded(what)
    for _ in range(count):
        yield rng.randrange(10**9)


def simulated(seed: int, **options: object) -> testing.SimulationResult:
    with seeds.named(f"kwire.testing.simulate({seed})"):
        result = testing.simulate(seed, **options)  # type: ignore[arg-type]
        result.check()
    return result


def test_brokers_keep_their_promises() -> None:
    for seed in fresh("simulation", 6 * seeds.TRIES):
        simulated(seed)


@pytest.mark.ci
def test_brokers_keep_their_promises_in_many_histories() -> None:
    for seed in fresh("many simulations", 150 * seeds.TRIES):
        simulated(seed, steps=16)


def test_brokers_keep_their_promises_under_lawful_chaos() -> None:
    for seed in fresh("simulation with chaos", 4 * seeds.TRIES):
        simulated(seed, has_chaos=True)


@pytest.mark.ci
def test_brokers_keep_their_promises_in_many_histories_with_chaos() -> None:
    for seed in fresh("many simulations with chaos", 100 * seeds.TRIES):
        simulated(seed, steps=16, has_chaos=True)


def test_chaos_meets_all_clients_until_the_faults_end() -> None:
    kinds = {"moves to broker", "closes before", "closes after", "throttled", "COORDINATOR", "metadata"}
    missing = set(kinds)
    for seed in range(7):
        result = testing.simulate(seed, steps=0, has_chaos=True)
        result.check()
        ended = next(event.time for event in result.history.of(Fault) if event.text == "all faults have ended")
        disturbed = [event for event in result.history.of(Fault) if " of '" in event.text]
        assert all(event.time <= ended for event in disturbed)
        clients = {event.text.split("'")[1] for event in disturbed}
        assert clients == {plan.name for plan in result.schedule.clients}
        missing -= {kind for kind in kinds for event in disturbed if kind in event.text}
    assert not missing
    replayed = testing.simulate(schedule=result.schedule.to_json())
    assert str(replayed.history) == str(result.history)
    assert not any(" of '" in one.text for one in testing.simulate(7, steps=0).history.of(Fault))


def test_the_same_seed_gives_the_same_history_in_each_process() -> None:
    code = "from kwire import testing; print(testing.simulate(11, steps=8).history)"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": number}, capture_output=True, check=True
        ).stdout
        for number in ("1", "2")
    }
    assert len(outputs) == 1
    assert b"Acknowledged" in outputs.pop()


def found(bug: Bug, seed: int) -> list[Violation]:
    with bug.planted():
        result = testing.simulate(seed)
    return [one for one in result.violations if one.invariant in bug.invariants]


@pytest.mark.parametrize("bug", EASY, ids=[bug.name for bug in EASY])
def test_some_faults_in_brokers_are_found(bug: Bug) -> None:
    assert any(found(bug, seed) for seed in range(1, 15))


@pytest.mark.ci
@pytest.mark.parametrize("bug", BUGS, ids=[bug.name for bug in BUGS])
def test_each_fault_in_brokers_is_found(bug: Bug) -> None:
    assert any(found(bug, seed) for seed in fresh(bug.name, 120))


def test_losses_by_unclean_elections_are_seen() -> None:
    results = (testing.simulate(seed, has_unclean_elections=True) for seed in range(1, 15))
    assert any(one.invariant == "acknowledged records survive" for result in results for one in result.violations)


def failing(bug: Bug) -> testing.SimulationResult:
    return next(result for seed in range(1, 30) if (result := testing.simulate(seed)).violations)


def test_a_failure_shrinks_and_can_be_replayed() -> None:
    bug = BUGS[1]
    with bug.planted():
        result = failing(bug)
        with pytest.raises(testing.SimulationFailure) as caught:
            result.check()
        smallest = caught.value.result
        replayed = testing.simulate(schedule=smallest.schedule.to_json())
    assert len(smallest.schedule.faults) < len(result.schedule.faults)
    assert len(smallest.schedule.clients) <= 2
    assert str(replayed.history) == str(smallest.history)
    text = str(caught.value)
    assert f"seed {result.schedule.seed} violates" in text
    assert "one marker ends a transaction" in text
    assert f"kwire.testing.simulate(schedule='{smallest.schedule.to_json()}')" in text
    testing.simulate(schedule=smallest.schedule).check()  # without the fault in the brokers


def test_a_history_without_faults_needs_no_shrinking() -> None:
    result = testing.simulate(3, steps=0)
    assert result.shrink() is result
    assert not result.violations
    assert not result.schedule.faults


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"clients": [1], "faults": []}', '{"seed": 1}'])
def test_a_wrong_schedule_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a schedule"):
        testing.simulate(schedule=text)


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="steps must be 0 or more, not -1"):
        testing.simulate(1, steps=-1)
    own = Schedule(1, 4.0, (), ()).with_clients(["mine"])
    with pytest.raises(ValueError, match="the schedule has the client 'mine', which `clients` must make"):
        testing.simulate(schedule=own)
    unknown = Schedule(1, 4.0, (), (PlannedFault(1.0, "flood", 1.0, 1),))
    with pytest.raises(ValueError, match="no fault is called 'flood'"):
        testing.simulate(schedule=unknown)


def test_a_lost_record_is_reported_with_its_event() -> None:
    """The checkers need only the events, however they were recorded."""
    result = testing.simulate(3, steps=0)
    partition = TopicPartition("t", 0)
    end = next(one for one in result.history.of(FinalLog) if one.partition == partition).high_watermark
    lost = Acknowledged(partition, 1, 0, end, (b"lost",), 0.0)
    result.history.add(lost, "mine", 1.0)
    (violation,) = (one for one in check_history(result.history) if one.invariant == "acknowledged records survive")
    assert violation.events == (lost,)
    assert str(violation).startswith("acknowledged records survive: lost in t-0 was acknowledged and is lost\n")


def test_a_producer_is_fenced_by_a_newer_instance_whenever_that_notices() -> None:
    result = testing.simulate(3, steps=0)
    history, partition = result.history, TopicPartition("t", 0)
    history.add(ProducerBegun("x", 7, 3), "newer", 1.0)
    history.add(ProducerBegun("x", 7, 2), "older", 2.0)
    history.add(Acknowledged(partition, 7, 3, -1, (), 3.0), "newer", 3.1)
    assert list(check_fencing(HistoryFacts(history))) == []
    history.add(ProducerBegun("x", 7, 4), "newest", 4.0)
    history.add(Acknowledged(partition, 7, 3, -1, (), 5.0), "newer", 5.1)
    (problem,) = check_fencing(HistoryFacts(history))
    assert problem.text == "newer was fenced by newest"


def test_minimize_leaves_what_is_needed() -> None:
    assert minimize(range(50), lambda rows: {3, 30, 31} <= set(rows)) == (3, 30, 31)
    assert minimize(range(9), lambda rows: True) == ()


# Histories in which a model client or the brokers behaved unlike Kafka, by what they did. As random choices change with
# the code, each mechanism has a test of its own too.
MENDED = {
    "a member did not acknowledge that a partition was assigned and taken back": (
        '{"seed":464989840,"seconds":4.9,"clients":[["transactional-1","transactional",0],["transactional-2",'
        '"transactional",0],["consumer-1","consumer",1],["consumer-2","consumer",1]],"faults":[[0.48,"disconn'
        'ect",1.89,3,"",0.0],[1.02,"lose",2.64,0,"",0.3],[1.1,"move-leader",1.22,0,"__consumer_offsets",1.0],'
        '[2.54,"lose",2.99,0,"",0.3],[2.74,"move-leader",0.73,0,"t",1.0],[3.25,"move-leader",1.85,0,"t",2.0],'
        '[3.71,"twin",4.04,3,"",0.0]],"is_unclean":false}'
    ),
    "the second of two batches was accepted behind a marker, though the first one was not": (
        '{"seed":891105440908,"seconds":3.7,"clients":[["transactional-2","transactional",1]],"faults":[[2.36'
        ',"move-leader",0.45,1,"t",2.0],[2.67,"fail-disk",0.99,1,"",0.0],[3.51,"fail-disk",2.06,2,"",0.0]],"i'
        's_unclean":false}'
    ),
    "an older producer learned its epoch later than a newer one": (
        '{"seed":599077134257,"seconds":5.9,"clients":[["transactional-1","transactional",1]],"faults":[[0.76'
        ',"crash",0.42,0,"",0.0],[0.77,"isolate",2.46,1,"",0.0],[2.44,"delay",2.88,0,"",0.5],[3.38,"delay",1.'
        '68,0,"",0.5],[4.2,"twin",3.22,0,"",0.0]],"is_unclean":false}'
    ),
    "a member joined its generation again, which did not extend its session": (
        '{"seed":668897878765,"seconds":4.3,"clients":[["classic-1","classic",0]],"faults":[[0.34,"lose",1.78'
        ',0,"",0.3],[0.72,"lose",1.9,0,"",0.3],[1.28,"isolate",0.7,1,"",0.0],[2.76,"lose",2.0,0,"",0.1]],"is_'
        'unclean":false}'
    ),
    "a request to join a share group arrived late, and nobody received its assignment": (
        '{"seed":375,"seconds":6.5,"clients":[["idempotent-1","idempotent",0],["transactional-1","transaction'
        'al",0],["transactional-2","transactional",0],["share-1","share",1]],"faults":[[1.82,"lose",1.15,0,""'
        ',0.1],[2.18,"stop",0.89,2,"",0.0],[2.87,"disconnect",2.17,1,"",0.0],[3.68,"disconnect",1.43,1,"",0.0'
        '],[3.83,"stop",0.83,1,"",0.0],[4.04,"lose",2.55,0,"",0.3],[4.3,"leave",1.3,3,"",0.0]],"is_unclean":f'
        'alse,"has_chaos":true}'
    ),
    "the state of a share group was not read yet, and its records were delivered again": (
        '{"seed":110764792,"seconds":5.4,"clients":[["idempotent-1","idempotent",0],["transactional-1","trans'
        'actional",0],["share-1","share",1]],"faults":[[1.26,"shrink-isr",1.87,0,"__share_group_state",3.0],['
        '1.77,"isolate",2.7,2,"",0.0],[1.88,"stop",1.64,1,"",0.0],[3.66,"fail-disk",2.6,1,"",0.0],[4.72,"rest'
        'art",0.53,2,"",0.0]],"is_unclean":false}'
    ),
    "a partition was added to a transaction whose log could not be written": (
        '{"seed":6273,"seconds":4.1,"clients":[["transactional-1","transactional",1]],"faults":[[0.45,"lose",'
        '1.81,0,"",0.3],[0.57,"disconnect",0.94,2,"",0.0],[1.08,"fail-disk",2.65,3,"",0.0],[3.6,"fail-disk",2'
        '.33,2,"",0.0],[3.62,"isolate",1.3,1,"",0.0],[3.99,"restart",0.76,1,"",0.0]],"is_unclean":false}'
    ),
    "an internal topic with one replica waited for two that are in sync": (
        '{"seed":950721520,"seconds":2.0,"clients":[["idempotent-1","idempotent",0],["share-2","share",0]],"f'
        'aults":[[0.55,"isolate",1.15,3,"",0.0],[0.87,"stop",2.56,1,"",0.0],[1.71,"stop",0.28,3,"",0.0]],"is_'
        'unclean":false,"has_chaos":false}'
    ),
    "a batch of the next transaction came before the marker of the last one": (
        '{"seed":105130762,"seconds":7.2,"clients":[["transactional-1","transactional",1]],"faults":[[0.37,"f'
        'ail-disk",2.52,2,"",0.0],[4.19,"stop",2.09,2,"",0.0],[4.57,"shrink-isr",2.34,0,"t",3.0],[5.06,"shrin'
        'k-isr",1.69,0,"t",1.0],[5.62,"fail-disk",1.27,2,"",0.0]],"is_unclean":false,"has_chaos":false}'
    ),
    "a member waited for an answer that was lost, and the simulation ended": (
        '{"seed":6620,"seconds":7.2,"clients":[["idempotent-2","idempotent",0],["classic-1","classic",1]],"fa'
        'ults":[[1.4,"move-leader",1.56,0,"__consumer_offsets",2.0],[1.78,"isolate",1.14,3,"",0.0],[3.82,"res'
        'tart",2.71,1,"",0.0],[6.0,"delay",2.42,0,"",0.5]],"is_unclean":false,"has_chaos":true}'
    ),
}


@pytest.mark.ci
@pytest.mark.parametrize("schedule", MENDED.values(), ids=[*MENDED])
def test_histories_that_once_violated_an_invariant(schedule: str) -> None:
    testing.simulate(schedule=schedule).check(shrinks=False)
