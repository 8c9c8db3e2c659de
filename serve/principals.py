"""Makes the principal of a caller at each door; no other module does.

At the terminal, the kernel says which user runs the process, and behind the Unix socket which one is connected: the
environment and the request are not asked. Over HTTP a client is the holder of its access token, else its address.
"""

from __future__ import annotations

import os
import pwd
import socket
import struct
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from runtime.run.principal import Principal, principal, read_principal

LOOPBACK = Principal("address", "loopback")
NO_ADDRESS = Principal("address", "unknown")
PREFIX_BITS = 64
MAX_HOPS = 32

Address = IPv4Address | IPv6Address
Networks = Sequence[IPv4Network | IPv6Network]

_CREDENTIALS = struct.Struct("3i")


def at_terminal() -> Principal:
    """Return the user who runs this process."""
    return of_uid(os.geteuid())


def of_uid(uid: int) -> Principal:
    """Return the user of that id by name; one without a name is `#uid`."""
    try:
        return principal("user", pwd.getpwuid(uid).pw_name)
    except KeyError:
        return principal("user", f"#{uid}")


def for_batch(person: Principal) -> Principal:
    """Return the principal of batch work of that user."""
    return Principal("batch", person.name)


def at_socket(connection: socket.socket, claimed_id: str = "") -> Principal:
    """Return the user at the other end of a Unix socket, or their batch work if the request claims that."""
    person, claimed = of_uid(_peer_uid(connection)), read_principal(claimed_id)
    return for_batch(person) if claimed is not None and claimed.kind == "batch" else person


def of_http_client(
    host: str | None, forwarded: Sequence[str], trusted: Networks, token_name: str | None = None
) -> Principal:
    """Return the principal of an HTTP client by the name of its access token, else the address of its connection.

    `forwarded`: the values of X-Forwarded-For in order, believed only from proxies in `trusted`: the address nearest to
    us that is no such proxy is the client's.
    """
    if token_name is not None:
        return principal("token", token_name)
    client = _parsed(host or "")
    if client is None:
        return NO_ADDRESS
    hops = ",".join(forwarded).split(",")[-MAX_HOPS:] if forwarded else []
    while hops and _is_trusted(client, trusted):
        hop = _parsed(_without_port(hops.pop().strip()))
        if hop is None:
            break
        client = hop
    return of_address(client)


def of_address(address: Address) -> Principal:
    """Return the principal of an address: the /64 of an IPv6 address, one for all addresses of this machine."""
    if address.is_loopback:
        return LOOPBACK
    if isinstance(address, IPv6Address):
        return principal("address", str(IPv6Network((int(address), PREFIX_BITS), strict=False)))
    return principal("address", str(address))


def trusted_networks(proxies: Sequence[str]) -> Networks:
    """Return the networks of `http.trusted_proxies`, each an address or a network. Raises ValueError."""
    return [ip_network(proxy) for proxy in proxies]


def _peer_uid(connection: socket.socket) -> int:
    told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(told)[1])


def _parsed(text: str) -> Address | None:
    try:
        address = ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _is_trusted(address: Address, trusted: Networks) -> bool:
    return any(address.version == network.version and address in network for network in trusted)


def _without_port(text: str) -> str:
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0] if text.count(":") == 1 else text
