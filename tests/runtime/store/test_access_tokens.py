"""Access tokens in the store: digests alone are kept, and what is revoked or expired is so for every process."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from typing import Any

import pytest

from runtime.errors import InputError, UnknownNameError
from runtime.primitives.clock import FakeClock
from runtime.run.bearer_tokens import Scope, TokenRecord, is_token_name, new_token, read_token
from runtime.store.access_tokens import AccessTokens
from tests.runtime.store.conftest import Place

DAY_MS = 86_400_000


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def tokens(place: Place, clock: FakeClock) -> AccessTokens:
    return AccessTokens(place.open(), clock)


def test_a_token_proves_itself_to_its_own_record_alone(tokens: AccessTokens) -> None:
    made = [tokens.create(name, ("ask",)) for name in ("ann", "bob")]
    table = tokens.table().tokens
    for mine, other in (made, made[::-1]):
        shown = read_token(mine.text.encode())
        assert shown is not None
        assert shown.token_id == mine.token_id
        assert shown.proves(table[mine.token_id])
        assert not shown.proves(table[other.token_id])
        assert not shown.proves(None)


def test_of_a_token_nothing_is_kept_but_a_digest(tokens: AccessTokens, place: Place) -> None:
    made = tokens.create("ann", ("ask", "watch"), 5)
    secret = made.text.rpartition("_")[2]
    with place.open().read() as queries:
        (row,) = queries.rows("SELECT * FROM access_tokens")
    assert secret not in repr(row)
    assert bytes.fromhex(secret) not in [bytes(value) for value in row if isinstance(value, bytes | memoryview)]
    assert [each.digest for each in tokens.all()] == [made.digest]


def test_tokens_have_256_random_bits_and_differ(tokens: AccessTokens) -> None:
    made = [new_token() for _ in range(100)]
    assert len({each.text.rpartition("_")[2] for each in made}) == len({each.token_id for each in made}) == 100
    assert all(len(bytes.fromhex(each.text.rpartition("_")[2])) * 8 == 256 for each in made)


def test_another_process_sees_what_was_made_and_revoked(place: Place, tokens: AccessTokens, clock: FakeClock) -> None:
    other = AccessTokens(place.open(), clock)
    before = other.table()
    assert other.table(before) is before
    made = tokens.create("ann", ("watch", "operate"), clock.now_ms() + DAY_MS)
    seen = other.table(before)
    record = seen.tokens[made.token_id]
    assert (record.name, record.scopes, record.expires_ms) == ("ann", ("watch", "operate"), clock.now_ms() + DAY_MS)
    assert record.state(clock.now_ms()) == "valid"
    tokens.revoke("ann")
    assert other.table(seen).tokens[made.token_id].state(clock.now_ms()) == "revoked"


@pytest.mark.parametrize(("after_ms", "state"), [(-1, "valid"), (0, "expired"), (1, "expired")])
def test_a_token_expires_at_its_time_and_not_before(after_ms: int, state: str) -> None:
    assert TokenRecord("i", "ann", b"", ("ask",), 0, expires_ms=1_000).state(1_000 + after_ms) == state


async def test_a_name_has_one_valid_token_unless_it_is_rotated(tokens: AccessTokens, clock: FakeClock) -> None:
    first = tokens.create("ann", ("ask",), clock.now_ms() + 10)
    with pytest.raises(InputError, match=f"valid token already .{first.token_id}.*--rotate"):
        tokens.create("ann", ("ask",))
    second = tokens.rotate("ann").made
    await clock.advance(0.01)
    third = tokens.create("ann", ("ask",))
    assert {each.token_id for each in tokens.revoke("ann")} == {each.token_id for each in (first, second, third)}
    tokens.create("ann", ("ask",))


@pytest.mark.parametrize("until_ms", [None, DAY_MS])
@pytest.mark.parametrize("scopes", [("ask",), ("watch", "operate")])
def test_a_rotated_token_may_what_the_one_before_might_and_ends_when_that_does(
    tokens: AccessTokens, clock: FakeClock, scopes: tuple[Scope, ...], until_ms: int | None
) -> None:
    expires_ms = None if until_ms is None else clock.now_ms() + until_ms
    first = tokens.create("ann", scopes, expires_ms)
    rotation = tokens.rotate("ann")
    kept = tokens.table().tokens[rotation.made.token_id]
    assert (kept.name, kept.scopes, kept.expires_ms, kept.revoked_ms) == ("ann", scopes, expires_ms, None)
    assert rotation[1:] == (scopes, expires_ms, first.token_id)


async def test_a_rotated_token_has_what_it_is_given_anew_and_is_itself_what_is_replaced_next(
    tokens: AccessTokens, clock: FakeClock
) -> None:
    tokens.create("ann", ("ask", "watch"), clock.now_ms() + DAY_MS)
    await clock.advance(1)
    second = tokens.rotate("ann", ("ask",), clock.now_ms() + 2 * DAY_MS)
    assert second[1:3] == (("ask",), clock.now_ms() + 2 * DAY_MS)
    await clock.advance(1)
    assert tokens.rotate("ann")[1:] == (*second[1:3], second.made.token_id)
    with pytest.raises(InputError, match="no scope"):
        tokens.rotate("ann", ())


async def test_what_is_not_valid_any_more_says_nothing_of_what_a_new_token_may(
    tokens: AccessTokens, clock: FakeClock
) -> None:
    tokens.create("ann", ("ask",), clock.now_ms() + 10)
    await clock.advance(0.01)
    tokens.create("bob", ("ask",))
    tokens.revoke("bob")
    for name in ("ann", "bob", "nobody"):
        with pytest.raises(InputError, match=f"'{name}' has no valid token to replace"):
            tokens.rotate(name, ("ask",))


@pytest.mark.parametrize("named", [lambda made: made.token_id, lambda made: made.text, lambda made: "ann"])
def test_a_token_is_revoked_by_name_by_id_and_by_its_text(tokens: AccessTokens, named: Callable[[Any], str]) -> None:
    made, other = tokens.create("ann", ("ask",)), tokens.create("bob", ("ask",))
    assert [each.token_id for each in tokens.revoke(named(made))] == [made.token_id]
    with pytest.raises(UnknownNameError) as refused:
        tokens.revoke(named(made))
    assert made.text not in str(refused.value)
    states = {each.name: each.revoked_ms for each in tokens.all()}
    assert states["ann"] is not None
    assert states["bob"] is None
    assert other.token_id in tokens.table().tokens


@pytest.mark.parametrize("name", ["", " ", "a b", "-a", ".a", "a/b", "a:b", "ä", "a\n", "a" * 65, "a\0"])
def test_a_name_that_could_be_misread_is_refused(tokens: AccessTokens, name: str) -> None:
    assert not is_token_name(name)
    with pytest.raises(InputError, match="a token's name has 1 to 64"):
        tokens.create(name, ("ask",))


@pytest.mark.parametrize("name", ["a", "ann@example.org", "ci-2.build_x", "9", "a" * 64])
def test_ordinary_names_are_taken(tokens: AccessTokens, name: str) -> None:
    tokens.create(name, ("ask",))


def test_a_token_without_a_scope_is_refused(tokens: AccessTokens) -> None:
    with pytest.raises(InputError, match="no scope"):
        tokens.create("ann", ())


def test_tokens_that_ended_long_ago_are_dropped_and_no_others(tokens: AccessTokens, clock: FakeClock) -> None:
    revoked, expired = tokens.create("a", ("ask",)), tokens.create("b", ("ask",), clock.now_ms() + 5)
    kept = [tokens.create("c", ("ask",)), tokens.create("d", ("ask",), clock.now_ms() + DAY_MS)]
    tokens.revoke("a")
    ended_ms = clock.now_ms()
    assert tokens.unused(ended_ms) == 0
    assert tokens.unused(ended_ms + 1) == 1
    before = tokens.table()
    assert (tokens.unused(ended_ms + 6), tokens.drop_unused(ended_ms + 6)) == (2, 2)
    left = set(tokens.table(before).tokens)
    assert left == {each.token_id for each in kept}
    assert not {revoked.token_id, expired.token_id} & left


TEXT = new_token().text


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"jeeves_",
        TEXT[:-1].encode(),
        TEXT.encode() + b"0",
        TEXT.upper().encode(),
        b" " + TEXT.encode(),
        TEXT.encode() + b"\n",
        TEXT.replace("jeeves", "jeeveß").encode(),
        b"\xff" * len(TEXT),
        TEXT.encode() * 1_000,
        TEXT[:-1].encode() + "٣".encode(),
    ],
    ids=range(11),
)
def test_what_is_no_token_presents_nothing(text: bytes) -> None:
    assert read_token(text) is None


def test_every_check_compares_two_digests_of_one_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """Known, unknown and wrong alike: the comparison that takes the same time for all is called, once each."""
    compared: list[tuple[bytes, bytes]] = []

    def recorded(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return one == other

    monkeypatch.setattr(hmac, "compare_digest", recorded)
    made, other = new_token(), new_token()
    shown = read_token(made.text.encode())
    assert shown is not None
    records = [TokenRecord(each.token_id, "n", each.digest, ("ask",), 0) for each in (made, other)]
    assert [shown.proves(record) for record in (*records, None)] == [True, False, False]
    assert [len(one) for pair in compared for one in pair] == [hashlib.sha256().digest_size] * 6
