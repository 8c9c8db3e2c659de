"""Principals: the form in which runs record who asked, and whose runs each may control."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.run.principal import (
    KINDS,
    MAX_NAME_CHARS,
    PrincipalKind,
    is_limited,
    may_control,
    principal,
    read_principal,
)

ANN, BOB, ROOT = "user:ann", "user:bob", "user:root"
CLIENT, OTHER_CLIENT, TOKEN = "address:192.0.2.1", "address:192.0.2.2", "token:ci"
OPERATOR = "operator:ops"


@given(st.sampled_from(KINDS), st.text(min_size=1, max_size=400))
def test_any_name_becomes_a_short_printable_one_that_can_be_read_back(kind: PrincipalKind, name: str) -> None:
    made = principal(kind, name)
    assert made.name.isprintable()
    assert not any(char.isspace() for char in made.name)
    assert len(made.name) <= MAX_NAME_CHARS
    assert read_principal(made.user_id) == made


@given(st.text(min_size=1, max_size=300), st.text(min_size=1, max_size=300))
def test_different_names_stay_different(one: str, other: str) -> None:
    assert (principal("user", one) == principal("user", other)) == (one == other)


def test_control_characters_and_bidirectional_overrides_do_not_reach_a_list_of_runs() -> None:
    assert principal("user", "a\x1b[2J\u202eb\n%").name == "a%1B[2J%E2%80%AEb%0A%25"


def test_a_long_name_keeps_its_beginning_and_differs_from_one_that_begins_alike() -> None:
    exact, longer, alike = (principal("user", "x" * length) for length in (MAX_NAME_CHARS, 129, 130))
    assert exact.name == "x" * MAX_NAME_CHARS
    assert longer.name.startswith("x" * 90)
    assert len({exact, longer, alike}) == 3


@pytest.mark.parametrize(
    ("user_id", "owner_id", "may"),
    [
        (ANN, ANN, True),
        (ANN, BOB, False),
        (ANN, "batch:ann", True),
        (ANN, "batch:bob", False),
        (ANN, CLIENT, True),
        (ANN, TOKEN, True),
        (ANN, "local", True),
        (ANN, "batch", True),
        (ANN, "u", False),
        (ROOT, BOB, True),
        (ROOT, "u", True),
        (CLIENT, CLIENT, True),
        (CLIENT, OTHER_CLIENT, False),
        (CLIENT, ANN, False),
        (CLIENT, "local", False),
        (CLIENT, "address:root", False),
        (TOKEN, CLIENT, False),
        (OPERATOR, CLIENT, True),
        (OPERATOR, TOKEN, True),
        (OPERATOR, "token:ops", True),
        (OPERATOR, ANN, False),
        (OPERATOR, "batch:ann", False),
        (OPERATOR, "local", False),
        (OPERATOR, "u", False),
        ("token:ops", OPERATOR, False),
        ("batch:ann", ANN, False),
        ("batch:ann", CLIENT, False),
        ("local", "local", True),
        ("local", ANN, False),
        ("u", "u", True),
        ("token:root", ANN, False),
        ("user:", CLIENT, False),
        ("", "local", False),
    ],
)
def test_everyone_controls_their_own_runs_and_the_terminal_those_of_clients(
    user_id: str, owner_id: str, may: bool
) -> None:
    assert may_control(user_id, owner_id) is may


@pytest.mark.parametrize(
    ("user_id", "limited"),
    [
        (ANN, False),
        ("batch:ann", False),
        ("local", False),
        ("batch", False),
        (CLIENT, True),
        (TOKEN, True),
        ("u", True),
    ],
)
def test_http_principals_and_foreign_names_are_limited(user_id: str, limited: bool) -> None:
    assert is_limited(user_id) is limited


def test_users_at_the_terminal_are_limited_where_the_settings_say_so() -> None:
    assert is_limited(ANN, ("user",))
    assert not is_limited(CLIENT, ("user",))
