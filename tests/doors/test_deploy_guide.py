"""docs/guides/deploy.md: its commands run here as they stand, but for those that need Docker or Kubernetes.

`tests/doors/test_serve_deploy.py` runs those of `serve deploy`. Commands of Docker and Kubernetes meet stand-ins, which
see to it that what they are given is there; `tests/doors/test_cluster_files.py` looks into the files.
"""

from __future__ import annotations

import base64
import configparser
import http.client
import re
import shlex
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.doors.page_blocks import ROOT, PageShell, shell_blocks
from tests.doors.program import JEEVES, WITHOUT_VECTORS
from tests.doors.sample_repo import FILES, QUESTION, write_files
from tests.free_ports import free_port
from tests.postgres_server import PASSWORD, USER, PostgresServer

pytestmark = [pytest.mark.ray, pytest.mark.long]

PAGE = "guides/deploy.md"
ALONE, OPEN, POSTGRES, FIRST, SECOND, TWO, DEPLOYED, KUBERNETES, UPGRADE = shell_blocks(PAGE)
TEXT = (ROOT / "docs" / PAGE).read_text(encoding="utf-8")
SHOP, NAME = "/srv/repositories/shop", "jeeves.example.org"
DSN = "postgresql://jeeves:PASSWORD@postgres.example.org/jeeves?sslmode=verify-full"
# Not a program of this machine: it notes what it is told, and refuses a file that is not there.
STAND_IN = """#!/usr/bin/env bash
set -eu
echo "$(basename "$0") $*" >> "$CALLED"
if [ "$1 $2" = "get secret" ]; then printf %s "$SECRET"; fi
while [ $# -gt 0 ]; do
  if [ "$1" = -f ]; then shift; test -f "$1"; fi
  shift
done
"""


@pytest.fixture
def shell(tmp_path: Path) -> PageShell:
    port = free_port()
    repo = write_files(tmp_path / "shop", FILES)
    places = {SHOP: str(repo), "127.0.0.1:8700": f"127.0.0.1:{port}"}
    state = {"JEEVES_STATE_DIR": str(tmp_path / "state"), "JEEVES_HTTP__PORT": str(port)}
    return PageShell(tmp_path, places, HOME=str(tmp_path), **state, **WITHOUT_VECTORS)


def status_of(shell: PageShell, path: str = "/api/v1/runs", **headers: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", int(shell.env["JEEVES_HTTP__PORT"]), timeout=60)
    try:
        connection.request("GET", path, headers=headers)
        return connection.getresponse().status
    finally:
        connection.close()


def test_one_machine_serves_and_says_when_it_is_up(shell: PageShell) -> None:
    (is_up,) = re.findall(r"It is up when `(curl [^`]+)` answers", TEXT)
    with shell.up(ALONE, "listening on") as log:
        assert "own code" in log.read_text(encoding="utf-8")
        assert "ready" in shell.run(is_up)


def test_the_unit_for_systemd_starts_the_command_of_the_page_with_all_that_it_needs(shell: PageShell) -> None:
    (text,) = re.findall(r"^```ini\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    unit = configparser.RawConfigParser(strict=True)
    unit.read_string(text)
    service = {key: value for section in unit.sections() for key, value in unit.items(section)}
    program, *arguments = shlex.split(service["execstart"])
    assert program == "/opt/jeeves/.venv/bin/jeeves"
    assert shlex.join(["jeeves", *arguments]) == ALONE.splitlines()[1]
    name, _, folder = service["environment"].partition("=")
    assert (name, folder) == ("JEEVES_STATE_DIR", f"/var/lib/{service['statedirectory']}")
    # What systemd gives a service of a user: nothing of this shell.
    given = {name: shell.env[name] for name in (name, "HOME", "JEEVES_HTTP__PORT", *WITHOUT_VECTORS)}
    words = ["env", "-i", "PATH=/usr/bin:/bin", *(f"{key}={value}" for key, value in given.items())]
    with shell.up(shlex.join(["exec", *words, str(JEEVES), *arguments]), "listening on"):
        assert status_of(shell) == 200


def test_others_are_let_in_with_the_token_and_by_the_name_of_the_page(shell: PageShell) -> None:
    with shell.up(OPEN, "listening on") as log:
        (token,) = re.findall(r"^(jeeves_\S+)$", log.read_text(encoding="utf-8"), re.MULTILINE)
        known = {"Authorization": f"Bearer {token}"}
        assert status_of(shell, Host=NAME) == 401
        assert status_of(shell, Host=NAME, **known) == 200
        assert status_of(shell, Host="other.example.org", **known) == 421


@pytest.fixture
def on_server(shell: PageShell, postgres: PostgresServer) -> Iterator[PageShell]:
    """The shell of a machine whose PostgreSQL has an empty database."""
    own = f"postgresql://{USER}:{PASSWORD.replace(' ', '%20')}@127.0.0.1:{postgres.port}/of_page"
    psql = ["psql", "--no-psqlrc", "-q", own.replace("of_page", "postgres")]
    subprocess.run([*psql, "-c", "CREATE DATABASE of_page"], check=True, timeout=60)
    # The server of the tests has no certificate.
    shell.places = {DSN: own, **shell.places}
    yield shell
    subprocess.run([*psql, "-c", "DROP DATABASE of_page WITH (FORCE)"], check=True, timeout=60)


def test_the_store_is_on_the_server_that_the_page_names(on_server: PageShell) -> None:
    install, _, others = POSTGRES.partition("\n")
    (extra,) = re.findall(r"^pip install '\.\[(\w+)\]'$", install)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert extra in project["optional-dependencies"]
    told = on_server.run(others)
    assert re.search(r"^ok +store runs +", told, re.MULTILINE), told
    assert on_server.run("command -v pg_dump")


def test_what_the_upgrade_dumps_is_put_back_as_the_guide_to_recovery_says(on_server: PageShell) -> None:
    address = on_server.here(DSN)
    others = POSTGRES.partition("\n")[2]
    # A command that writes makes the schemas.
    on_server.run(f"{others}jeeves token create ann")
    dump, look = re.findall(r"^(pg_\w+ .*) &&$", UPGRADE, re.MULTILINE)
    on_server.run(f"{dump}\n{look}", DSN=address)
    recover = " ".join((ROOT / "docs" / "guides" / "recover.md").read_text(encoding="utf-8").split())
    copy, back = re.findall(r"`(pg_(?:dump|restore) --[^`]* [^`]*(?:DSN\"|dump))`", recover)
    on_server.run(copy, JEEVES_STORE__DSN=address)
    psql = f"psql --no-psqlrc -q '{address}' -c"
    on_server.run(f"{psql} 'CREATE DATABASE put_back'")
    try:
        new = address.replace("of_page", "put_back")
        on_server.run(back, NEW_DSN=new)
        told = on_server.run("jeeves token list", JEEVES_STORE__BACKEND="postgres", JEEVES_STORE__DSN=new)
        assert "valid" in told
        assert "ann" in told
        # What a newer version has added is in the way of `--clean`, as the guide says.
        on_server.run(f"{psql} 'CREATE TABLE jeeves_tokens.of_newer ()'")
        told = on_server.run(f"pg_restore --clean --dbname='{address}' jeeves.dump || test $? -eq 1")
        assert "cannot drop schema jeeves_tokens because other objects depend on it" in told
    finally:
        on_server.run(f"{psql} 'DROP DATABASE put_back WITH (FORCE)'")


@pytest.fixture
def rays_folder() -> Iterator[Path]:
    """A folder for Ray; not below pytest's, since the names of Ray's sockets would be too long."""
    folder = Path(tempfile.mkdtemp(prefix="jeeves-ray-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_two_nodes_that_the_page_starts_carry_one_system(on_server: PageShell, rays_folder: Path) -> None:
    port, folder = free_port(), on_server.folder
    (settings,) = re.findall(r"^```yaml\n# /etc/jeeves/jeeves\.yaml\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    on_server.places |= {
        "192.0.2.10": "127.0.0.1",
        "6379": str(port),
        "/srv/jeeves": str(folder / "state"),
        "/etc/jeeves": str(folder / "etc"),
    }
    (folder / "etc").mkdir()
    (folder / "etc" / "jeeves.yaml").write_text(on_server.here(settings), encoding="utf-8")
    del on_server.env["JEEVES_STATE_DIR"]
    size = "--block --num-cpus=2 --object-store-memory=100000000"
    head = f"{size} --temp-dir={rays_folder} --dashboard-port={free_port()}"
    exports = "".join(line for line in FIRST.splitlines(keepends=True) if line.startswith("export"))
    with ExitStack() as up:
        for block, options in ((FIRST, head), (SECOND, size)):
            up.enter_context(on_server.up(f"{block.rstrip()} {options}", "Ray runtime started"))
        up.enter_context(on_server.up(f"{exports}{TWO}", "listening on"))
        seen = on_server.run(f"{exports}ray status", RAY_ADDRESS=f"127.0.0.1:{port}")
        assert seen.count(" node_") == 2
        assert "/2.0 jeeves" in seen
        asked = f"-H 'content-type: application/json' -d '{{\"message\": \"{QUESTION}\"}}'"
        told = on_server.run(f"curl -fsS http://127.0.0.1:8700/api/v1/chat/messages {asked}")
        assert '"citations":[{' in told


def test_docker_and_kubernetes_are_told_of_files_and_names_that_are_there(shell: PageShell) -> None:
    checkout, programs = shell.folder / "checkout", shell.folder / "programs"
    shutil.copytree(ROOT / "configs", checkout / "configs")
    programs.mkdir()
    for name in ("docker", "kubectl", "pg_dump", "pg_restore"):
        (programs / name).write_text(STAND_IN, encoding="utf-8")
        (programs / name).chmod(0o755)
    called = shell.folder / "called"
    shell.env |= {"PATH": f"{programs}:{shell.env['PATH']}", "CALLED": str(called)}
    shell.folder = checkout
    shell.run(f"{KUBERNETES}\n{UPGRADE}", SECRET=base64.b64encode(b"postgresql://of-secret").decode())
    told = called.read_text(encoding="utf-8").splitlines()
    (dumped,) = [line for line in told if line.startswith("pg_dump")]
    assert dumped.endswith("--dbname=postgresql://of-secret")
    assert [line.split()[:2] for line in told if line.startswith("kubectl")] == [
        ["kubectl", word] for word in ("apply", "get", "delete", "wait", "get", "apply")
    ]
    images = re.findall(r"-t (\S+)|push (\S+)", "\n".join(told))
    assert len(set(map("".join, images))) == 1
    (extras,) = re.findall(r"`--build-arg (\w+)=", TEXT)
    assert f"ARG {extras}" in (checkout / "configs" / "cluster" / "Dockerfile").read_text(encoding="utf-8")
    assert "They have not run on Kubernetes" in TEXT
    # Without the Secret nothing is dumped, and nothing applied that would migrate.
    called.write_text("", encoding="utf-8")
    shell.run(f"({UPGRADE.rstrip()}) && exit 1 || true", SECRET="")
    told = called.read_text(encoding="utf-8").splitlines()
    assert [line.split()[:2] for line in told] == [["kubectl", word] for word in ("delete", "wait", "get")]
