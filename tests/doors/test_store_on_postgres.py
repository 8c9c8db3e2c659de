"""The program with its store on a PostgreSQL server: the same commands, and one clear line when the server says no."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from runtime.primitives.clock import SystemClock
from runtime.store.opening import open_run_log, run_log_names
from runtime.store.options import StoreOptions
from tests.doors.sample_repo import QUESTION
from tests.doors.test_runs_and_envelope import Tree
from tests.examples import long_but
from tests.postgres_server import PASSWORD, PostgresServer


@pytest.fixture
def on_server(tmp_path: Path, postgres: PostgresServer) -> Iterator[Tree]:
    """The program with its store on a server; what it makes there is dropped."""
    yield Tree(tmp_path / "state", JEEVES_STORE__BACKEND="postgres", JEEVES_STORE__DSN=postgres.dsn)
    with psycopg.connect(postgres.dsn, autocommit=True) as db:
        for (name,) in db.execute("SELECT nspname FROM pg_namespace WHERE starts_with(nspname, 'jeeves_')").fetchall():
            db.execute(f'DROP SCHEMA "{name}" CASCADE')


def schemas(server: PostgresServer) -> list[str]:
    with psycopg.connect(server.dsn, autocommit=True) as db:
        return sorted(row[0] for row in db.execute("SELECT nspname FROM pg_namespace").fetchall())


@pytest.mark.long
def test_runs_are_listed_shown_explained_and_forked_on_a_server(
    on_server: Tree, repo: Path, postgres: PostgresServer
) -> None:
    document = on_server.ask(QUESTION, repo, "--session", "s").answers().document
    run_id = document["run_id"]
    assert not list(on_server.state_dir.rglob("local.sqlite"))
    assert on_server.run("runs", "list").answers().out.startswith(run_id)
    assert on_server.run("runs", "show", run_id).answers().document["terminal_reason"] == "completed"
    assert "the run ended: completed" in on_server.run("runs", "why", run_id).answers().out
    forked, reason = on_server.run("runs", "fork", run_id, "--at", "2").answers().out.split()
    assert reason == "completed"
    listed = json.loads(on_server.run("runs", "list", "--json").answers().out)
    assert {run["run_id"] for run in listed} == {run_id, forked}
    on_server.run("runs", "show", "r-none").complains(2, "no run 'r-none'", "PostgreSQL")


@pytest.mark.long
def test_looking_makes_nothing_on_a_server(on_server: Tree, postgres: PostgresServer) -> None:
    before = schemas(postgres)
    assert on_server.run("runs", "list").answers().out == ""
    on_server.run("runs", "why", "r-1").complains(2, "no run 'r-1'")
    assert schemas(postgres) == before


def test_run_logs_of_a_server_are_found_by_their_schemas(on_server: Tree, postgres: PostgresServer) -> None:
    options = StoreOptions("", "postgres", postgres.dsn)
    # Other tests may have left theirs: a process has one server.
    before, names = run_log_names(options), ("looked_for", "one_off_8_1")
    for name in ("one-off-8-1", "looked-for"):
        open_run_log(options, name).close()
    with psycopg.connect(postgres.dsn, autocommit=True) as db:
        db.execute("CREATE SCHEMA jeevesxruns_other")
    assert run_log_names(options) == sorted({*before, *names})
    with psycopg.connect(postgres.dsn, autocommit=True) as db:
        db.execute("DROP SCHEMA jeevesxruns_other")
    for name in names:
        log = open_run_log(options, name, readonly=True)
        assert log.lease(SystemClock().now_ms()) is None
        log.close()


@pytest.mark.parametrize(
    "command",
    long_but(
        [["runs", "list"], ["runs", "show", "r-1"], ["runs", "why", "r-1"], ["runs", "fork", "r-1", "--at", "1"]], 0
    ),
)
def test_a_wrong_password_is_said_and_not_shown(on_server: Tree, postgres: PostgresServer, command: list[str]) -> None:
    wrong = {"JEEVES_STORE__DSN": postgres.dsn_with(password="sesame, open")}
    told = on_server.run(*command, env=wrong).complains(1, "refuses the user or the password", "store.dsn")
    assert "sesame, open" not in told
    assert PASSWORD not in told


@pytest.mark.long
def test_a_question_with_a_wrong_password_is_refused_in_one_line(
    on_server: Tree, repo: Path, postgres: PostgresServer
) -> None:
    before = schemas(postgres)
    for dsn, words in (
        (postgres.dsn_with(password="sesame, open"), ("refuses the user or the password",)),
        (postgres.dsn_with(dbname="nowhere"), ("no such database",)),
        ("postgresql://jeeves@127.0.0.1:1/jeeves?connect_timeout=2", ("cannot be reached",)),
        ("no dsn at all", ("store.dsn is no connection string",)),
    ):
        on_server.ask(QUESTION, repo, env={"JEEVES_STORE__DSN": dsn}).complains(1, *words)
    assert schemas(postgres) == before
