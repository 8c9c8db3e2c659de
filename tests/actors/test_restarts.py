"""Whoever follows a process that died waits for a store that is away; whoever starts a system is told at once."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from actors.log_owner import LogOwner
from actors.restarts import retry_while_unavailable
from runtime.errors import StateStorageError
from runtime.primitives.clock import SystemClock
from runtime.primitives.ids import Address
from runtime.store.options import StoreOptions
from tests.postgres_server import PostgresServer


def owner(server: PostgresServer) -> LogOwner:
    options = StoreOptions("", "postgres", server.dsn, schema="t_followers")
    return LogOwner(Address("supervisor"), "s-1", options, ["followers"], SystemClock())


def test_a_follower_gets_its_log_when_the_server_is_back_and_another_is_told_that_it_is_away(
    postgres: PostgresServer,
) -> None:
    former = owner(postgres)
    postgres.stop()
    try:
        with pytest.raises(StateStorageError, match="cannot be reached"):
            retry_while_unavailable(lambda: owner(postgres), follows=False)
        with ThreadPoolExecutor(1) as pool:
            following = pool.submit(retry_while_unavailable, lambda: owner(postgres), True)
            while not following.running():
                time.sleep(0)
            assert not following.done()
            postgres.start()
            follower = following.result(30)
        assert follower.epoch == former.epoch + 1
        follower.log.close()
    finally:
        former.log.close()
        if not (postgres.folder / "data" / "postmaster.pid").exists():
            postgres.start()


@pytest.mark.parametrize("problem", ["damaged", "newer", "refused", "read_only", None])
def test_a_trouble_that_does_not_pass_is_told_to_a_follower_too(problem: str | None) -> None:
    def fail() -> None:
        raise StateStorageError("broken", problem=problem)

    with pytest.raises(StateStorageError, match="broken"):
        retry_while_unavailable(fail, follows=True)
