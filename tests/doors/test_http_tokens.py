"""Access tokens at the HTTP service: who may ask, what each scope opens, and what a revocation ends."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from runtime.errors import StateStorageError
from runtime.primitives.clock import SystemClock
from runtime.run.bearer_tokens import SCOPES, Scope, TokenRecord
from runtime.run.envelope import Request
from runtime.store.access_tokens import TOKENS, AccessTokens
from runtime.store.opening import open_store
from runtime.store.options import StoreOptions
from serve.http.access.admission import routes_of
from serve.http.access.scopes import OPEN_ROUTES, SCOPES_OF_ROUTE, scopes_of_route
from serve.http.access.token_check import MAX_AGE_S, TokenCopy
from tests.doors.http_site import MESSAGES, RUNS, Reply, Site, open_site, routed, until

REQUIRED = {"tokens_required": True}


class Door:
    """A site, and the tokens of its store."""

    def __init__(self, site: Site, tokens: AccessTokens) -> None:
        self.site = site
        self.tokens = tokens

    def token(self, name: str, *scopes: Scope, expires_ms: int | None = None) -> str:
        return self.tokens.create(name, scopes or ("ask", "watch"), expires_ms).text

    async def asked(self, token: str, method: str, path: str, body: Any = None, **headers: str) -> Reply:
        return await self.site.call(method, path, body, Authorization=f"Bearer {token}", **headers)

    async def until_status(self, token: str, status: int) -> None:
        """Ask until the copy of the tokens is read again; a second is far more than that takes."""
        async with asyncio.timeout(5):
            while True:
                if (await self.asked(token, "GET", RUNS)).status == status:
                    return


@pytest.fixture(params=[True, False], ids=["required", "optional"])
async def door(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Door]:
    async with open_site(tmp_path, told={"tokens_required": request.param}) as site:
        stores = open_store(site.store, SystemClock())
        yield Door(site, stores.part(TOKENS))
        stores.close()


@pytest.fixture
async def guarded(tmp_path: Path) -> AsyncIterator[Door]:
    async with open_site(tmp_path, told=REQUIRED) as site:
        stores = open_store(site.store, SystemClock())
        yield Door(site, stores.part(TOKENS))
        stores.close()


async def test_a_run_belongs_to_the_name_of_the_token_wherever_it_is_asked_from(door: Door) -> None:
    ann = door.token("ann")
    reply = await door.asked(ann, "POST", MESSAGES, {"message": "Where?"}, X_Forwarded_For="192.0.2.7")
    assert reply.status == 200
    envelope = await door.asked(ann, "GET", f"{RUNS}/{reply.run_id}")
    assert envelope.json["request"]["user_id"] == "token:ann"
    assert [run["run_id"] for run in (await door.asked(ann, "GET", RUNS)).json] == [reply.run_id]
    assert set(door.site.counted) == {("token:ann", "chat"), ("token:ann", "run"), ("token:ann", "runs")}


async def test_without_a_token_nothing_opens_but_what_tells_nothing_of_anybody(guarded: Door) -> None:
    for method, path, body in (
        ("POST", MESSAGES, {"message": "Where?"}),
        ("GET", RUNS, None),
        ("GET", f"{RUNS}/r-1/events", None),
        ("POST", f"{RUNS}/r-1/cancel", {}),
        ("GET", "/metrics", None),
        ("GET", "/nowhere", None),
    ):
        reply = await guarded.site.call(method, path, body)
        reply.is_problem(401, "no_token", "Authorization: Bearer")
        assert reply.headers["www-authenticate"] == 'Bearer realm="jeeves"'
    for path in ("/health", "/ready", "/openapi.json"):
        assert (await guarded.site.call("GET", path)).status == 200
    assert guarded.site.counted == []


async def test_where_none_is_required_callers_without_a_token_are_their_address(tmp_path: Path) -> None:
    async with open_site(tmp_path) as site:
        reply = await site.ask("Where?")
        envelope = (await site.call("GET", f"{RUNS}/{reply.run_id}")).json
        assert envelope["request"]["user_id"] == "address:loopback"
        assert not (Path(site.store.folder) / "tokens.sqlite").exists()


async def test_a_token_that_is_not_accepted_is_refused_also_where_none_is_needed(door: Door) -> None:
    good = door.token("ann")
    expired = door.token("late", expires_ms=1)
    revoked = door.token("gone")
    door.tokens.revoke("gone")
    wrong = good[:-1] + ("0" if good[-1] != "0" else "1")
    unknown = f"jeeves_{'0' * 16}_{good[-64:]}"
    crossed = f"{good[:24]}{revoked[24:]}"
    for token, words in (
        (expired, ("'late' is expired",)),
        (revoked, ("'gone' is revoked",)),
        (wrong, ("does not know",)),
        (unknown, ("does not know",)),
        (crossed, ("does not know",)),
    ):
        reply = await door.asked(token, "POST", MESSAGES, {"message": "Where?"})
        reply.is_problem(401, "invalid_token", *words)
        assert reply.headers["www-authenticate"] == 'Bearer realm="jeeves", error="invalid_token"'
        assert token not in repr(reply.headers) + reply.body.decode()
    assert (await door.asked(good, "GET", RUNS)).status == 200


@pytest.mark.parametrize(
    ("scopes", "opened"),
    [
        (("ask",), {"chat", "control"}),
        (("watch",), {"see", "metrics"}),
        (("operate",), {"see", "control", "metrics"}),
        (SCOPES, {"chat", "control", "see", "metrics"}),
    ],
)
async def test_each_scope_opens_its_routes_and_no_others(
    guarded: Door, scopes: tuple[Scope, ...], opened: set[str]
) -> None:
    owner, token = guarded.token("owner", "ask"), guarded.token("tried", *scopes)
    run_id = (await guarded.asked(owner, "POST", MESSAGES, {"message": "why", "wait": True})).run_id
    tried = {
        "chat": ("POST", MESSAGES, {"message": "Where?"}),
        "see": ("GET", f"{RUNS}/{run_id}/events", None),
        "control": ("POST", f"{RUNS}/{run_id}/fork", {"at": 1}),
        "metrics": ("GET", "/metrics", None),
    }
    for what, (method, path, body) in tried.items():
        reply = await guarded.asked(token, method, path, body)
        assert (reply.status != 403 or reply.json["code"] != "scope_lacking") == (what in opened), (what, reply.body)
        if what not in opened:
            assert 'error="insufficient_scope"' in reply.headers["www-authenticate"]
            for scope in reply.headers["www-authenticate"].partition('scope="')[2].strip('"').split():
                assert scope in reply.json["detail"]


def test_the_table_of_scopes_names_the_routes_of_the_application_and_no_others(app: FastAPI) -> None:
    routes = set(routes_of(app).values())
    assert routes == set(SCOPES_OF_ROUTE) | OPEN_ROUTES
    assert all(set(scopes) <= set(SCOPES) and scopes for scopes in SCOPES_OF_ROUTE.values())
    assert scopes_of_route("new and not in the table") == ("operate",)


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[FastAPI]:
    async with open_site(tmp_path) as site:
        yield routed(site.app)


async def test_an_operator_sees_and_controls_the_runs_of_others_and_a_neighbour_does_not(guarded: Door) -> None:
    ann, bob = guarded.token("ann"), guarded.token("bob")
    ops = guarded.token("ops", "operate")
    run_id = (await guarded.asked(ann, "POST", MESSAGES, {"message": "why", "wait": True})).run_id
    place = f"{RUNS}/{run_id}"
    for path in (place, f"{place}/events", f"{place}/answer"):
        assert (await guarded.asked(ops, "GET", path)).status == 200
        assert (await guarded.asked(bob, "GET", path)).status in {403, 404}
    answered = await guarded.asked(ops, "POST", f"{place}/interrupts/{run_id}-q1", {"text": "that"})
    assert answered.status == 200
    assert (await guarded.asked(ann, "GET", place)).json["request"]["user_id"] == "token:ann"


async def test_a_revocation_ends_a_stream_and_an_answer_that_is_awaited(
    guarded: Door, caplog: pytest.LogCaptureFixture
) -> None:
    ann, other = guarded.token("ann"), guarded.token("other")
    waiting = asyncio.create_task(guarded.asked(ann, "POST", MESSAGES, {"message": "hold"}, Idempotency_Key="k"))
    await until(guarded.site.log.unfinished)
    run_id = guarded.site.log.unfinished()[0].run_id
    events = f"{RUNS}/{run_id}/events"
    streaming = asyncio.create_task(guarded.asked(ann, "GET", events, Accept="text/event-stream"))
    await until(lambda: ("token:ann", "events") in guarded.site.counted)
    began_s = asyncio.get_running_loop().time()
    guarded.tokens.revoke("ann")
    reply = await waiting
    reply.is_problem(401, "invalid_token", "no longer accepted", run_id=run_id)
    streamed = await streaming
    assert asyncio.get_running_loop().time() - began_s < 5
    assert streamed.status == 200
    assert b"run.finished" not in streamed.body
    last = streamed.body[streamed.body.rindex(b"event: error\ndata: ") :]
    told = json.loads(last[last.index(b"{") : last.rindex(b"}") + 1])
    assert (told["status"], told["code"], told["run_id"]) == (401, "invalid_token", run_id)
    assert last.count(b"\nevent: ") == 0
    assert (await guarded.asked(ann, "GET", events)).status == 401
    assert (await guarded.asked(other, "GET", RUNS)).status == 200
    assert [run.run_id for run in guarded.site.log.unfinished()] == [run_id]
    assert not [record for record in caplog.records if record.name == "uvicorn.error"]


async def test_a_new_token_is_known_and_a_revoked_one_refused_within_a_second(guarded: Door) -> None:
    first = guarded.token("first")
    assert (await guarded.asked(first, "GET", RUNS)).status == 200
    second = guarded.token("second")
    await guarded.until_status(second, 200)
    guarded.tokens.revoke("first")
    await guarded.until_status(first, 401)


async def test_the_store_is_read_ten_times_a_second_at_most_however_many_ask(tmp_path: Path) -> None:
    stores = open_store(StoreOptions(str(tmp_path), durability="normal"), SystemClock())
    tokens = stores.part(TOKENS)
    reads, now_s = [0], [100.0]

    class Counted:
        def is_current(self) -> bool:
            return True

        def table(self, known: Any = None) -> Any:
            reads[0] += 1
            return tokens.table(known)

    copy = TokenCopy(Counted, lambda: now_s[0])  # type: ignore[arg-type]
    await asyncio.gather(*(copy.fresh() for _ in range(100)))
    assert reads == [1]
    made = tokens.create("ann", ("ask",))
    now_s[0] += MAX_AGE_S - 0.01
    assert await copy.fresh() == {}
    now_s[0] += 0.02
    assert set(await copy.fresh()) == {made.token_id}
    assert reads == [2]
    stores.close()


async def test_while_the_tokens_cannot_be_read_nobody_is_admitted_and_no_path_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_site(tmp_path, told=REQUIRED) as site:
        (tmp_path / "tokens.sqlite").write_bytes(b"no database at all" * 100)
        with caplog.at_level(logging.WARNING):
            reply = await site.call("GET", RUNS, Authorization=f"Bearer jeeves_{'0' * 16}_{'0' * 64}")
        reply.is_problem(503, "tokens_unavailable")
        assert reply.headers["retry-after"] == "5"
        assert str(tmp_path) not in reply.body.decode()
        assert "http.tokens_unreadable" in caplog.text


class Restored:
    """The tokens of a store as a running service has them, after a copy of their file was made."""

    def __init__(self, folder: Path) -> None:
        self.options = StoreOptions(str(folder), durability="normal")
        self.file, self.kept = folder / "tokens.sqlite", folder / "kept"
        self.now_s = 100.0
        self.ann = self.write(lambda tokens: tokens.create("ann", ("ask",)))
        self.copy = TokenCopy(lambda: open_store(self.options, SystemClock()).part(TOKENS), lambda: self.now_s)
        self.kept.write_bytes(self.file.read_bytes())

    def write(self, act: Callable[[AccessTokens], Any]) -> Any:
        """Change the tokens as the command line does: the file is opened and closed."""
        stores = open_store(self.options, SystemClock())
        try:
            return act(stores.part(TOKENS))
        finally:
            stores.close()

    def remove(self) -> None:
        for file in self.file.parent.glob("tokens.sqlite*"):
            file.unlink()

    async def tokens(self) -> dict[str, TokenRecord]:
        """Return the tokens as the service sees them a second later."""
        self.now_s += 1
        return await self.copy.fresh()


async def test_tokens_that_were_put_back_from_a_copy_are_those_that_count(tmp_path: Path) -> None:
    service = Restored(tmp_path)
    assert set(await service.tokens()) == {service.ann.token_id}
    service.remove()
    service.file.write_bytes(service.kept.read_bytes())
    assert set(await service.tokens()) == {service.ann.token_id}
    service.write(lambda tokens: tokens.revoke("ann"))
    made = service.write(lambda tokens: tokens.create("bob", ("ask",)))
    seen = await service.tokens()
    assert seen[service.ann.token_id].revoked_ms is not None
    assert made.token_id in seen
    service.copy.close()


async def test_a_copy_with_as_many_changes_counts_as_another(tmp_path: Path) -> None:
    service = Restored(tmp_path)
    service.write(lambda tokens: tokens.revoke("ann"))
    assert (await service.tokens())[service.ann.token_id].revoked_ms is not None
    service.remove()
    service.file.write_bytes(service.kept.read_bytes())
    bob = service.write(lambda tokens: tokens.create("bob", ("ask",)))
    seen = await service.tokens()
    assert set(seen) == {service.ann.token_id, bob.token_id}
    assert seen[service.ann.token_id].revoked_ms is None
    service.copy.close()


async def test_tokens_whose_file_was_deleted_admit_nobody_and_are_not_made_anew(tmp_path: Path) -> None:
    service = Restored(tmp_path)
    await service.tokens()
    service.remove()
    for _ in range(2):
        with pytest.raises(StateStorageError, match="deleted") as raised:
            await service.tokens()
        assert raised.value.values["problem"] == "lost"
    assert not service.file.exists()
    service.file.write_bytes(service.kept.read_bytes())
    assert set(await service.tokens()) == {service.ann.token_id}
    service.copy.close()


async def test_an_operator_lists_the_runs_of_others_by_name_and_all_of_them_by_pages(guarded: Door) -> None:
    ann, ben, root = guarded.token("ann"), guarded.token("ben"), guarded.token("root", "operate", "ask")
    begun = []
    for token in (ann, ben, ann):
        begun.append((await guarded.asked(token, "POST", MESSAGES, {"message": "Where?"})).run_id)
    await guarded.site.submit(Request("sample", "Where?", user_id="user:terminal"))
    assert (await guarded.asked(root, "GET", RUNS)).json == []
    of_ann = (await guarded.asked(root, "GET", f"{RUNS}?principal=token:ann")).json
    assert [run["run_id"] for run in of_ann] == [begun[2], begun[0]]
    listed, path = [], f"{RUNS}?principal=all&limit=2"
    while path:
        reply = await guarded.asked(root, "GET", path)
        listed += [run["run_id"] for run in reply.json]
        path = reply.headers.get("link", "").partition(">")[0].lstrip("<")
    assert sorted(listed) == sorted(filter(None, begun))
    for name in ("user:terminal", "operator:root", "ann", ""):
        reply = await guarded.asked(root, "GET", f"{RUNS}?principal={name}")
        reply.is_problem(422, "bad_input", "token:NAME")


@pytest.mark.parametrize("whose", ["token:ann", "token:nobody", "all", "user:terminal", ""])
async def test_others_list_their_own_runs_alone(guarded: Door, whose: str) -> None:
    ann, ben = guarded.token("ann"), guarded.token("ben")
    await guarded.asked(ann, "POST", MESSAGES, {"message": "Where?"})
    (await guarded.asked(ben, "GET", f"{RUNS}?principal={whose}")).is_problem(403, "scope_lacking", "operate")
    assert len((await guarded.asked(ann, "GET", f"{RUNS}?principal=token:ann")).json) == 1
