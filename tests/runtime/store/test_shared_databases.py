"""Parts of the store that share a database: what happens to its file happens to all of them."""

from __future__ import annotations

from runtime.store.parts import all_parts
from serve.contributions import store_parts


def test_parts_that_share_a_database_agree_on_whether_it_can_be_made_anew() -> None:
    parts = {part.name: part for part in all_parts(store_parts())}
    sharing = [part for part in parts.values() if part.shares is not None]
    assert sharing
    for part in sharing:
        assert part.is_disposable == parts[str(part.shares)].is_disposable, part.name
