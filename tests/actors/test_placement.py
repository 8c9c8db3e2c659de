"""Which node an actor is started on: a pure function of the nodes, the claims and the settings."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.placement import (
    SHARE_OF_NODE,
    ClusterNode,
    Placement,
    PlaceRequest,
    Spread,
    bound_claim,
    check_nodes,
    places_of,
)
from runtime.errors import ClusterError

NEAR, FAR, GPU = (
    ClusterNode("near", {"CPU": 2.0}),
    ClusterNode("far", {"CPU": 2.0}),
    ClusterNode("b-gpu", {"CPU": 4.0, "GPU": 8.0}),
)


def requests(count: int, spread: Spread, **claim: float) -> list[PlaceRequest]:
    return [PlaceRequest(f"a#{number}", "agent", spread, {"num_cpus": 0, **claim}) for number in range(count)]


def test_actors_are_near_the_process_that_starts_them_unless_they_are_spread() -> None:
    assert set(places_of(requests(5, "near"), [FAR, NEAR], "near").values()) == {"near"}


@given(st.integers(1, 40), st.integers(1, 6))
def test_spread_actors_take_the_nodes_in_turn_and_the_first_is_near(count: int, nodes: int) -> None:
    there = [ClusterNode(f"n{number}", {"CPU": 1.0}) for number in range(nodes)]
    near = there[-1].node_id
    places = places_of(requests(count, "spread"), there, near)
    held = Counter(places.values())
    assert places["a#0"] == near
    assert max(held.values()) - min(held[node.node_id] for node in there) <= 1


def test_each_kind_takes_turns_by_itself() -> None:
    asked = [PlaceRequest("s", "supervisor", "spread", {}), *requests(2, "spread")]
    assert places_of(asked, [NEAR, FAR], "near") == {"s": "near", "a#0": "near", "a#1": "far"}


def test_who_claims_something_gets_a_node_that_offers_it_or_is_left_to_ray() -> None:
    nodes = [NEAR, FAR, GPU]
    assert set(places_of(requests(3, "near", num_gpus=1), nodes, "near").values()) == {"b-gpu"}
    assert places_of(requests(1, "near", num_gpus=9), nodes, "near") == {}


def test_a_system_that_is_bound_to_nodes_claims_a_trace_of_their_resource() -> None:
    claim = bound_claim({"num_cpus": 1, "resources": {"disk": 1}}, Placement(nodes="jeeves"))
    assert claim == {"num_cpus": 1, "resources": {"jeeves": SHARE_OF_NODE, "disk": 1}}
    assert bound_claim({"num_cpus": 0}, Placement()) == {"num_cpus": 0}
    offering = ClusterNode("far", {"jeeves": 1.0})
    bound = [PlaceRequest("bus", "service", "near", bound_claim({}, Placement(nodes="jeeves")))]
    assert places_of(bound, [NEAR, offering], "near") == {"bus": "far"}


def test_a_resource_that_no_node_offers_is_told_at_once() -> None:
    check_nodes(Placement(), [NEAR])
    check_nodes(Placement(nodes="CPU"), [NEAR])
    with pytest.raises(ClusterError) as raised:
        check_nodes(Placement(nodes="jeeves"), [NEAR, GPU])
    assert raised.value.message == (
        "no node of the cluster offers the resource 'jeeves' (`ray.nodes`); its nodes (2) offer CPU, GPU; start a node "
        "with it (`ray start --resources`), or correct the setting"
    )
