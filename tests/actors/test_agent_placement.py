"""Where an agent is found and what it claims: pure functions between a pipeline's data and the cluster."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.addresses import SUPERVISOR, AgentPlace, agent_address, agent_addresses, place_of
from actors.resource_claims import check_claims, check_room, claim_of
from runtime.errors import ClusterError
from runtime.pipeline.config import MAX_REPLICAS, as_wire
from runtime.primitives.ids import Address, RunId, StageKey
from runtime.testing import PipelineBuilder

names = st.from_regex(r"\A[a-z][a-z0-9_]{0,9}\Z")
replicas = st.integers(1, MAX_REPLICAS)


def test_the_first_replica_has_the_address_of_an_agent_that_has_none() -> None:
    assert agent_addresses("p", "a") == (agent_address("p", "a"),) == ("agent:p.a",)
    assert agent_addresses("p", "a", 3) == ("agent:p.a", "agent:p.a#2", "agent:p.a#3")


@given(names, names, replicas)
def test_an_address_tells_whose_it_is(pipeline: str, stage: str, count: int) -> None:
    places = [place_of(address) for address in agent_addresses(pipeline, stage, count)]
    assert places == [AgentPlace(pipeline, stage, number) for number in range(1, count + 1)]


@pytest.mark.parametrize("address", [SUPERVISOR, "index", "store", ""])
def test_an_address_of_others_is_no_agents(address: Address) -> None:
    assert place_of(address) is None


@given(st.integers(1, 99), st.integers(0, 99), st.integers(1, 9), replicas)
def test_every_attempt_of_a_visit_belongs_to_the_same_replica(hop: int, item: int, attempt: int, count: int) -> None:
    first, later = StageKey(RunId("r-1"), hop, item), StageKey(RunId("r-1"), hop, item, attempt)
    assert agent_address("p", "a", later, count) == agent_address("p", "a", first, count)
    assert agent_address("p", "a", first, count) in agent_addresses("p", "a", count)


def test_items_of_a_fan_out_spread_over_all_replicas() -> None:
    taken = Counter(agent_address("p", "a", StageKey(RunId("r-1"), 1, item), 4) for item in range(400))
    assert set(taken) == set(agent_addresses("p", "a", 4))
    assert min(taken.values()) > 50


def test_the_choice_is_the_same_in_every_process() -> None:
    # Worked out once: another answer means that runs under way would change replicas with the code.
    chosen = [agent_address("p", "a", StageKey(RunId("r-1"), hop), 3) for hop in range(1, 5)]
    assert chosen == ["agent:p.a#2", "agent:p.a", "agent:p.a", "agent:p.a"]


@pytest.mark.parametrize(
    ("resources", "claim"),
    [
        ({}, {"num_cpus": 0}),
        ({"num_cpus": 2}, {"num_cpus": 2}),
        ({"num_gpus": 0.5}, {"num_cpus": 0, "num_gpus": 0.5}),
        ({"custom": {"disk": 1}}, {"num_cpus": 0, "resources": {"disk": 1}}),
    ],
)
def test_an_agent_claims_what_its_configuration_says_and_nothing_by_default(
    resources: dict[str, object], claim: dict[str, object]
) -> None:
    wire = as_wire(PipelineBuilder().stage("a", resources=resources).build())
    assert claim_of(wire["agents"][0].get("resources", {})) == claim


@pytest.mark.parametrize(
    ("resources", "replicas", "says"),
    [
        ({"num_cpus": 2}, 1, None),
        ({"num_cpus": 3}, 1, "agent 'a' of pipeline 'p' claims 3 CPU (the cluster has 2)"),
        ({"num_cpus": 1}, 2, None),
        ({"num_cpus": 1}, 3, "all agents together claim 3 CPU (the cluster has 2)"),
        ({"num_gpus": 1}, 1, "agent 'a' of pipeline 'p' claims 1 GPU (the cluster has 0)"),
        ({"custom": {"disk": 1}}, 1, None),
        ({"custom": {"disk": 1, "tape": 2}}, 1, "agent 'a' of pipeline 'p' claims 2 tape (the cluster has 0)"),
    ],
)
def test_what_a_cluster_can_never_give_is_told_before_anything_is_started(
    resources: dict[str, object], replicas: int, says: str | None
) -> None:
    pipeline = as_wire(PipelineBuilder("p").stage("a", resources=resources, replicas=replicas).build())
    has = {"CPU": 2.0, "disk": 1.0}
    if says is None:
        check_claims([pipeline], has)
    else:
        with pytest.raises(ClusterError) as raised:
            check_claims([pipeline], has)
        assert raised.value.message == f"{says}; lower the agents' `resources`, or give the cluster more"


@pytest.mark.parametrize(("free", "waits"), [(1.0, True), (2.0, False), (3.0, False)])
def test_an_agent_that_waits_for_what_others_hold_is_named(free: float, waits: bool) -> None:
    waiting = {Address("agent:p.a"): {"CPU": 2.0, "GPU": 0.5}, Address("agent:p.b"): {"CPU": 1.0}}
    if not waits:
        check_room(waiting, {"CPU": free, "GPU": 0.5})
        return
    with pytest.raises(ClusterError) as told:
        check_room(waiting, {"CPU": free, "GPU": 0.5})
    assert "agent:p.a waits for 2 CPU (1 free);" in told.value.message
    assert "agent:p.b" not in told.value.message
