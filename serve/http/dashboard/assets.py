"""Holds style sheet, script and icon of the dashboard, under addresses that change with them."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import NamedTuple

from runtime.primitives.hashing import content_hash
from serve.http.dashboard.addresses import ASSETS

_TYPES = {
    "dashboard.css": "text/css; charset=utf-8",
    "dashboard.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
HASH_CHARS = 12


class Asset(NamedTuple):
    """Holds one asset."""

    media_type: str
    body: bytes


@cache
def _body(name: str) -> bytes:
    return files("serve.http.dashboard").joinpath(name).read_bytes()


@cache
def asset_address(name: str) -> str:
    """Return the address of an asset, which browsers may keep for ever."""
    stem, _, ending = name.partition(".")
    return f"{ASSETS}/{stem}-{content_hash(_body(name))[:HASH_CHARS]}.{ending}"


def asset_at(address: str) -> Asset | None:
    """Return the asset at an address; None if there is none, or no longer."""
    return next((Asset(kind, _body(name)) for name, kind in _TYPES.items() if asset_address(name) == address), None)
