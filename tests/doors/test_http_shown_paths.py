"""Callers of the HTTP service know repositories by name, and are shown no absolute path of the machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runtime.errors import StateStorageError
from runtime.settings import load_settings
from serve.cli.commands.serve_http import registered_repositories
from serve.http.documents.shown_paths import ShownPaths, shown_paths
from serve.repository_names import is_repository_name, repository_name
from tests.doors.http_site import MESSAGES, REPO, REPO_NAME, RUNS, Site, open_site
from tests.doors.program import Program

PATHS = shown_paths({"shop": "/srv/shop", "till": "/srv/shop/till", "all": "/"}, ("/var/state",), ("/etc/jeeves",))


async def read_everything(site: Site, run_id: str | None) -> dict[str, str]:
    """The bodies of all that a caller can read of a run."""
    streamed = await site.call("GET", f"{RUNS}/{run_id}/events", Accept="text/event-stream")
    bodies = {"stream": streamed.body.decode()}
    for place in ("", "/answer", "/events", "/events?outputs=true", "/outputs/3"):
        bodies[place] = (await site.call("GET", f"{RUNS}/{run_id}{place}")).body.decode()
    for path in (RUNS, "/api/v1/repositories", "/ready", "/metrics", "/openapi.json"):
        bodies[path] = (await site.call("GET", path)).body.decode()
    return bodies


async def test_a_repository_is_asked_about_and_shown_by_its_name(tmp_path: Path) -> None:
    async with open_site(tmp_path) as site:
        assert (await site.call("GET", "/api/v1/repositories")).json == [{"name": REPO_NAME, "is_default": True}]
        named, unnamed = await site.ask("Where?", repo=REPO_NAME), await site.ask("Where?")
        assert [reply.json["repo"] for reply in (named, unnamed)] == [REPO_NAME, REPO_NAME]
        envelope = (await site.call("GET", f"{RUNS}/{named.run_id}")).json
        assert envelope["request"]["metadata"]["repo"] == REPO_NAME
        for what, body in (await read_everything(site, named.run_id)).items():
            assert REPO not in body, what
            assert str(tmp_path) not in body, what
        stored = site.hosted.runner.envelope(named.run_id)  # type: ignore[arg-type]
        assert stored.request.metadata["repo"] == REPO


@pytest.mark.parametrize("path", [REPO, "/etc", "..", ".", "./x", "a/b", "C:\\work", f"{REPO}/"])
async def test_a_path_is_refused_as_one(tmp_path: Path, path: str) -> None:
    async with open_site(tmp_path) as site:
        reply = await site.ask("Where?", repo=path)
        reply.is_problem(422, "bad_input", "a name and no path", "/api/v1/repositories", REPO_NAME)
        unknown = await site.ask("Where?", repo="sample-rep")
        unknown.is_problem(404, "unknown_name", "not registered", REPO_NAME)


async def test_no_path_is_told_by_an_error(tmp_path: Path) -> None:
    async with open_site(tmp_path) as site:
        run_id = (await site.ask("Where?")).run_id
        place = tmp_path / "runs" / "x.sqlite"
        dsn = "postgresql://ann@db.internal:5432/jeeves"
        site.bug = StateStorageError(f"{place} and {REPO}/a.py at {dsn} cannot be read", path=str(place))
        for method, path, body in (
            ("GET", f"{RUNS}/{run_id}", None),
            ("POST", f"{RUNS}/{run_id}/cancel", {}),
            ("POST", MESSAGES, {"message": "Where?"}),
            ("HEAD", f"{RUNS}/{run_id}", None),
        ):
            reply = await site.call(method, path, body)
            assert reply.status == 503
            if method != "HEAD":
                assert int(reply.headers["content-length"]) == len(reply.body)
                assert f"STATE/runs/x.sqlite and {REPO_NAME}/a.py at DATABASE cannot" in reply.json["detail"]
        site.bug = None


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/srv/shop", "shop"),
        ("cannot read /srv/shop/a.py.", "cannot read shop/a.py."),
        ("in /srv/shop.", "in shop."),
        ("in '/srv/shop'", "in 'shop'"),
        ("/srv/shop/till/b.py", "till/b.py"),
        ("/srv/shopping/b.py", "/srv/shopping/b.py"),
        ("/srv/shop-2", "/srv/shop-2"),
        ("/srv/shop.git", "/srv/shop.git"),
        ("file:///srv/shop/x", "file://shop/x"),
        ("/var/state/runs and /etc/jeeves/a", "STATE/runs and CONFIG/a"),
        ("store postgresql://u:p@h/db is away", "store DATABASE is away"),
        ("GET /api/v1/runs", "GET /api/v1/runs"),
        ("/", "/"),
        ("", ""),
    ],
)
def test_folders_are_replaced_in_messages(text: str, shown: str) -> None:
    assert PATHS.text(text) == shown


def test_text_of_a_repository_is_left_as_it_is() -> None:
    given: dict[str, Any] = {
        "root": "/srv/shop",
        "file": "/srv/shop/a.py",
        "citations": [{"quote": "/srv/shop/a.py", "file": "a.py"}],
        "answer": "it reads /srv/shop",
        "note": "it reads /srv/shop",
        "error": "it reads /srv/shop",
        "at": 5,
    }
    assert PATHS.value(given) == {**given, "root": "shop", "file": "shop/a.py", "error": "it reads shop"}
    assert ShownPaths({}).value(given) == given


def test_a_problem_without_a_path_is_the_same_bytes() -> None:
    body = json.dumps({"detail": "nothing"}, separators=(", ", ":")).encode()
    assert PATHS.problem(body) is body


@pytest.mark.parametrize(
    ("folder", "name"),
    [("/a/My Shop", "My-Shop"), ("/a/.hidden", "hidden"), ("/", "repository"), ("/a/проект", "repository")],
)
def test_a_folder_without_a_name_is_called_as_it_is(folder: str, name: str) -> None:
    assert repository_name(folder) == name
    assert is_repository_name(name)


def test_the_repositories_of_the_command_line_and_of_the_settings_are_registered(tmp_path: Path) -> None:
    one, two, other = (tmp_path / name for name in ("one", "two", "deep/one"))
    for folder in (one, two, other):
        folder.mkdir(parents=True)
    written = tmp_path / "mine.yaml"
    written.write_text(f"http: {{repositories: {{shop: {two}}}}}", encoding="utf-8")
    settings = load_settings(written)
    assert registered_repositories([str(one)], settings) == {"one": str(one), "shop": str(two)}
    assert registered_repositories([], settings) == {"shop": str(two)}
    assert list(registered_repositories([f"b={other}", str(one)], settings)) == ["b", "one", "shop"]
    assert registered_repositories([str(one), str(one)], settings)["one"] == str(one)


def test_two_repositories_of_one_name_are_refused_with_the_way_out(jeeves: Program, tmp_path: Path) -> None:
    folders = [tmp_path / "a" / "shop", tmp_path / "b" / "shop"]
    for folder in folders:
        folder.mkdir(parents=True)
    jeeves.run("serve", "--repo", folders[0], "--repo", folders[1]).complains(2, "'shop'", "NAME=FOLDER")
    jeeves.run("serve", "--repo", f"a b={folders[0]}").complains(2, "'a b'", "1 to 64")
