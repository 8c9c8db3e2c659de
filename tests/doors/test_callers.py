"""Each door makes the principal of its callers from what they cannot choose."""

from __future__ import annotations

import os
import pwd
import socket
from ipaddress import IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.run.principal import Principal
from serve.principals import (
    LOOPBACK,
    MAX_HOPS,
    NO_ADDRESS,
    at_socket,
    at_terminal,
    for_batch,
    of_address,
    of_http_client,
    of_uid,
    trusted_networks,
)

ME = pwd.getpwuid(os.geteuid()).pw_name
PROXIES = trusted_networks(["127.0.0.1", "10.0.0.0/8", "2001:db8:ffff::/48"])


def client(host: str | None, *forwarded: str, proxies: tuple[str, ...] = ()) -> str:
    return of_http_client(host, forwarded, trusted_networks(proxies)).name


def test_at_the_terminal_the_uid_counts_and_not_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("USER", "LOGNAME", "SUDO_USER", "USERNAME"):
        monkeypatch.setenv(variable, "mallory")
    assert at_terminal() == Principal("user", ME)
    assert for_batch(at_terminal()) == Principal("batch", ME)


def test_a_uid_without_a_name_is_told_by_its_number() -> None:
    assert of_uid(4_000_000_123) == Principal("user", "#4000000123")


@pytest.mark.parametrize(
    ("claimed", "kind"), [("", "user"), ("user:root2", "user"), ("batch:root2", "batch"), ("address:1.2.3.4", "user")]
)
def test_behind_the_socket_the_connected_user_counts_and_not_what_the_request_claims(claimed: str, kind: str) -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    with ours, theirs:
        found = at_socket(ours, claimed)
    assert (found.kind, found.name) == (kind, ME)


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("::FFFF:c000:0207", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff:ffff:ffff:ffff", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::", "2001:db8:1:3::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("127.0.0.1", LOOPBACK.name),
        ("127.9.9.9", LOOPBACK.name),
        ("::1", LOOPBACK.name),
        ("::ffff:127.0.0.1", LOOPBACK.name),
        ("testclient", NO_ADDRESS.name),
        ("", NO_ADDRESS.name),
        (None, NO_ADDRESS.name),
    ],
)
def test_a_client_is_its_address_an_ipv6_network_of_64_bits_or_the_loopback(host: str | None, name: str) -> None:
    assert client(host) == name


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_no_choice_of_the_lower_half_of_an_ipv6_address_makes_another_principal(net: int, one: int, two: int) -> None:
    low = [IPv6Address((net << 64) | part) for part in (one, two)]
    if not any(each.is_loopback or each.ipv4_mapped for each in low):
        assert of_address(low[0]) == of_address(low[1])


@pytest.mark.parametrize(
    ("host", "forwarded", "proxies", "name"),
    [
        ("192.0.2.7", ("203.0.113.9",), (), "192.0.2.7"),
        ("127.0.0.1", ("203.0.113.9",), (), LOOPBACK.name),
        ("192.0.2.7", ("203.0.113.9",), ("127.0.0.1",), "192.0.2.7"),
        ("127.0.0.1", ("203.0.113.9",), ("127.0.0.1",), "203.0.113.9"),
        ("127.0.0.1", ("1.1.1.1, 203.0.113.9",), ("127.0.0.1",), "203.0.113.9"),
        ("127.0.0.1", ("1.1.1.1", "203.0.113.9"), ("127.0.0.1",), "203.0.113.9"),
        ("127.0.0.1", ("1.1.1.1, 203.0.113.9, 10.0.0.3",), ("127.0.0.1", "10.0.0.0/8"), "203.0.113.9"),
        ("127.0.0.1", ("203.0.113.9:4711",), ("127.0.0.1",), "203.0.113.9"),
        ("127.0.0.1", ("[2001:db8::1]:4711",), ("127.0.0.1",), "2001:db8::/64"),
        ("::ffff:127.0.0.1", ("203.0.113.9",), ("127.0.0.1",), "203.0.113.9"),
        ("127.0.0.1", ("unknown",), ("127.0.0.1",), LOOPBACK.name),
        ("127.0.0.1", ("1.1.1.1, _hidden",), ("127.0.0.1",), LOOPBACK.name),
        ("127.0.0.1", ("",), ("127.0.0.1",), LOOPBACK.name),
        ("127.0.0.1", (), ("127.0.0.1",), LOOPBACK.name),
        ("10.0.0.1", ("10.0.0.2, 10.0.0.3",), ("10.0.0.0/8",), "10.0.0.2"),
    ],
)
def test_forwarded_addresses_are_believed_of_trusted_proxies_alone(
    host: str, forwarded: tuple[str, ...], proxies: tuple[str, ...], name: str
) -> None:
    assert client(host, *forwarded, proxies=proxies) == name


def test_a_long_list_of_forwarded_addresses_is_read_from_its_end() -> None:
    hops = ["203.0.113.9", *["10.0.0.1"] * MAX_HOPS]
    assert of_http_client("127.0.0.1", [",".join(hops)], PROXIES).name == "10.0.0.1"
    assert of_http_client("127.0.0.1", [",".join(hops[:-1])], PROXIES).name == "203.0.113.9"


@given(st.text(max_size=60), st.lists(st.text(max_size=60), max_size=4))
def test_whatever_a_header_holds_a_client_is_found(host: str, forwarded: list[str]) -> None:
    for peer in (host, "127.0.0.1"):
        assert of_http_client(peer, forwarded, PROXIES).kind == "address"
