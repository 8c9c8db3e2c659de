"""What the owner of a machine relies on: a local cluster is private, runs our code alone, and leaves nothing behind.

Each test starts its clusters from a program of its own, as the doors do, and asks that program what it saw.
"""

from __future__ import annotations

import contextlib
import http.server
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.examples import long_but
from tests.readiness import is_ready

TREE = Path(__file__).resolve().parents[2]
PATIENCE_S = 60
DEFAULT_PORTS = (6379, 8265, 10001, 52365)

PRELUDE = f"""
import sys
sys.path.insert(0, {str(TREE)!r})
import contextlib, json, os, signal, threading
from pathlib import Path
import ray
import psutil
from actors.cluster import attach, start_local
from runtime.errors import ClusterError
from runtime.settings import RaySettings

STATE = Path(os.environ["STATE"])

def tell(**facts):
    print(json.dumps(facts), flush=True)

def start():
    return start_local(RaySettings(), STATE)

def told(action, *arguments):
    try:
        action(*arguments)
    except Exception as error:
        return type(error).__name__ + ": " + str(error)
    return "no error"

def cluster_processes():
    return psutil.Process().children(recursive=True)

def of_the_living(look):
    found = []
    for process in cluster_processes():
        with contextlib.suppress(psutil.NoSuchProcess):  # it has ended since it was listed
            found.append(look(process))
    return found

@ray.remote(num_cpus=0)
class Witness:
    async def report(self):
        from actors.origin import check_origin
        check_origin()
        import runtime, yaml
        return {{"runtime": runtime.__file__, "yaml": yaml.__file__, "path": sys.path, "cwd": os.getcwd()}}

    async def nice(self):
        return os.nice(0)

    async def start_tool(self):
        import subprocess
        return subprocess.Popen(["sleep", "600"], cwd="/").pid
"""


class Driver:
    """A program that owns a cluster. It tells facts as lines of JSON and waits for a line to go on."""

    def __init__(self, folder: Path, code: str, *flags: str, cwd: Path | None = None, **env: str) -> None:
        script = folder / "driver.py"
        script.write_text(PRELUDE + code, encoding="utf-8")
        self.state_dir = folder / "state"
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "PYTHONPATH"))}
        self.process = subprocess.Popen(
            [sys.executable, *flags, str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=cwd or folder,
            env=kept | {"STATE": str(self.state_dir)} | env,
            start_new_session=True,
        )

    def facts(self) -> dict[str, Any]:
        """What the program tells next."""
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, "the driver ended without a word; see its standard error"
        found: dict[str, Any] = json.loads(line)
        return found

    def go_on(self) -> None:
        """Let the program pass its next `sys.stdin.readline()`."""
        assert self.process.stdin
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def finish(self) -> int:
        """Let the program run to its end, and return its exit status."""
        self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode


@pytest.fixture
def start_driver(tmp_path: Path) -> Iterator[Any]:
    drivers: list[Driver] = []

    def start(code: str, *flags: str, folder: Path = tmp_path, cwd: Path | None = None, **env: str) -> Driver:
        folder.mkdir(exist_ok=True)
        drivers.append(Driver(folder, code, *flags, cwd=cwd, **env))
        return drivers[-1]

    yield start
    for driver in drivers:
        driver.process.kill()
        driver.process.communicate()


@pytest.fixture
def hostile_dir(tmp_path: Path) -> Path:
    """A folder with packages of our names and of Ray's needs; whoever imports one leaves a trace."""
    folder = tmp_path / "project"
    trace = f"open({str(folder / 'imported')!r}, 'a').write(__name__ + ' ')\n"
    for package in ("runtime", "actors", "serve", "ray"):
        (folder / package).mkdir(parents=True)
        (folder / package / "__init__.py").write_text(trace, encoding="utf-8")
    for module in ("yaml", "sitecustomize", "usercustomize", "psutil", "requests"):
        (folder / f"{module}.py").write_text(trace, encoding="utf-8")
    return folder


def wait_until_gone(pids: list[int]) -> None:
    """Return once all these processes have ended. Fails with those that have not in time."""
    for pid in pids:
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            # It has ended already, which is what is waited for.
            continue
        try:
            assert is_ready(descriptor, PATIENCE_S), f"still there: {Path(f'/proc/{pid}/cmdline').read_text()}"
        finally:
            os.close(descriptor)


@pytest.mark.long
@pytest.mark.ray
def test_workers_import_our_code_and_never_the_users(start_driver: Any, hostile_dir: Path) -> None:
    driver = start_driver(
        f"""
os.environ["PYTHONPATH"] = os.pathsep.join(["", ".", {str(hostile_dir)!r}])
sys.path.append({str(hostile_dir)!r})
sys.argv[0] = {str(hostile_dir / "script.py")!r}
with start():
    tell(**ray.get(Witness.remote().report.remote()))
""",
        "-P",
        cwd=hostile_dir,
    )
    seen = driver.facts()
    assert driver.finish() == 0
    assert Path(seen["runtime"]) == TREE / "runtime" / "__init__.py"
    assert str(hostile_dir) not in seen["yaml"]
    assert not any(Path(entry).is_relative_to(hostile_dir) for entry in [*seen["path"], seen["cwd"]])
    assert not (hostile_dir / "imported").exists()


@pytest.mark.ray
def test_the_callers_surroundings_come_back(start_driver: Any, tmp_path: Path) -> None:
    driver = start_driver(
        """
handler = lambda *_: None
signal.signal(signal.SIGTERM, handler)
before = dict(os.environ), os.getcwd(), sys.path[:], sys.argv[:]
with start():
    after = dict(os.environ), os.getcwd(), sys.path[:], sys.argv[:]
    tell(same=before == after, handler=signal.getsignal(signal.SIGTERM) is handler)
""",
        RAY_ADDRESS="127.0.0.1:6379",
    )
    assert driver.facts() == {"same": True, "handler": True}


@pytest.mark.long
@pytest.mark.ray
def test_another_cluster_is_never_joined(start_driver: Any, tmp_path: Path) -> None:
    other = start_driver("with start() as c: tell(address=c.address); sys.stdin.readline()", folder=tmp_path / "other")
    address = other.facts()["address"]
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray" / "ray_current_cluster").write_text(address, encoding="utf-8")
    driver = start_driver(
        "with start() as c: tell(address=c.address, nodes=len(ray.nodes()))",
        RAY_ADDRESS=address,
        RAY_TMPDIR=str(tmp_path),
    )
    seen = driver.facts()
    assert seen["address"] != address
    assert seen["nodes"] == 1


@pytest.mark.ray
def test_an_address_that_nobody_listens_at_any_more_is_ignored(start_driver: Any, tmp_path: Path) -> None:
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray" / "ray_current_cluster").write_text("127.0.0.1:1", encoding="utf-8")
    driver = start_driver(
        "with start() as c: tell(address=c.address)",
        RAY_ADDRESS="127.0.0.1:1",
        RAY_REDIS_ADDRESS="127.0.0.1:1",
        RAY_GCS_SERVER_PORT="1",
        RAY_TMPDIR=str(tmp_path),
    )
    assert not driver.facts()["address"].endswith(":1")


@pytest.mark.long
@pytest.mark.ray
def test_a_cluster_starts_when_rays_own_ports_are_taken_and_listens_on_loopback_only(start_driver: Any) -> None:
    taken = [socket.socket() for _ in DEFAULT_PORTS]
    try:
        for holder, port in zip(taken, DEFAULT_PORTS, strict=True):
            # A port that another process has is taken, too.
            with contextlib.suppress(OSError):
                holder.bind(("0.0.0.0", port))
                holder.listen()
        driver = start_driver(
            """
with start():
    ray.get(Witness.remote().report.remote())
    connections = [psutil.Process().net_connections("tcp"), *of_the_living(lambda p: p.net_connections("tcp"))]
    listening = [c.laddr for each in connections for c in each if c.status == "LISTEN"]
    tell(hosts=sorted({a.ip for a in listening}), ports=[a.port for a in listening])
"""
        )
        seen = driver.facts()
        assert driver.finish() == 0
    finally:
        for holder in taken:
            holder.close()
    assert {host.removeprefix("::ffff:") for host in seen["hosts"]} == {"127.0.0.1"}
    assert len(seen["ports"]) >= 4
    assert not set(seen["ports"]) & set(DEFAULT_PORTS)


@pytest.mark.long
@pytest.mark.ray
def test_workers_do_not_wait_for_processes_that_nobody_needs(start_driver: Any) -> None:
    driver = start_driver(
        """
with start():
    nice = ray.get(Witness.remote().nice.remote())
    tell(worker=nice, others=of_the_living(lambda p: (" ".join(p.cmdline()), p.nice())))
"""
    )
    seen = driver.facts()
    assert driver.finish() == 0
    assert not [
        command for command, _ in seen["others"] if "dashboard/dashboard.py" in command or "monitor.py" in command
    ]
    assert (seen["worker"], sorted(nice for _, nice in seen["others"])[-2:]) == (os.nice(0), [19, 19])


@pytest.mark.long
@pytest.mark.ray
@pytest.mark.parametrize("ending", long_but([signal.SIGKILL, signal.SIGTERM, signal.SIGINT], 0))
def test_nothing_is_left_when_the_driver_is_killed(start_driver: Any, ending: signal.Signals) -> None:
    driver = start_driver(
        """
with start() as cluster:
    witness = Witness.remote()
    tool = ray.get(witness.start_tool.remote())
    # The worst case: an agent that has overwritten its environment with its title, and hangs.
    agents = []
    while not agents:
        threading.Event().wait(0.05)
        titled = of_the_living(lambda p: (p, " ".join(p.cmdline())))
        agents = [p for p, title in titled if "ray::DashboardAgent" in title]
    agents[0].suspend()
    tell(pids=[p.pid for p in cluster_processes()], tool=tool, private=str(cluster.token_path.parent))
    sys.stdin.readline()
"""
    )
    seen = driver.facts()
    assert seen["tool"] in seen["pids"]
    os.killpg(driver.process.pid, ending) if ending == signal.SIGINT else driver.process.send_signal(ending)
    wait_until_gone(seen["pids"])
    assert not Path(seen["private"]).exists()


@pytest.mark.long
@pytest.mark.ray
def test_nothing_but_logs_is_left_after_shutdown_and_only_the_last_ones(start_driver: Any, tmp_path: Path) -> None:
    sessions_dir = tmp_path / "state" / "ray"
    for number in range(20):
        (sessions_dir / f"session_2020-01-01_00-00-{number:02}_000000_4194305" / "logs").mkdir(parents=True)
    driver = start_driver(
        """
cluster = start()
ray.get(Witness.remote().report.remote())
pids = [p.pid for p in cluster_processes()]
private, logs = str(cluster.token_path.parent), str(cluster.log_dir)
cluster.shutdown()
cluster.shutdown()
tell(connected=ray.is_initialized(), children=len(cluster_processes()), pids=pids, private=private, logs=logs)
sys.stdin.readline()
"""
    )
    seen = driver.facts()
    assert (seen["connected"], seen["children"]) == (False, 0)
    wait_until_gone(seen["pids"])
    assert not Path(seen["private"]).exists()
    assert list(Path(seen["logs"]).glob("worker-*.err"))
    kept = sorted(path.name for path in sessions_dir.glob("session_2*"))
    assert len(kept) == 11
    assert "session_2020-01-01_00-00-09_000000_4194305" not in kept


@pytest.mark.long
@pytest.mark.ray
def test_one_process_after_another_can_own_clusters_and_join_them_with_the_token_only(
    start_driver: Any, tmp_path: Path
) -> None:
    owner = start_driver(
        """
first = start()
first.shutdown()
with start() as second:
    first.shutdown()
    tell(address=second.address, token=str(second.token_path), connected=ray.is_initialized())
    sys.stdin.readline()
""",
        folder=tmp_path / "owner",
    )
    seen = owner.facts()
    assert seen["connected"]
    assert Path(seen["token"]).stat().st_mode & 0o777 == 0o600
    assert Path(seen["token"]).parent.stat().st_mode & 0o777 == 0o700
    guest = start_driver(
        f"""
address, token = {seen["address"]!r}, Path({seen["token"]!r})
stranger = told(attach, address)
with attach(address, token) as cluster:
    origin = ray.get(Witness.remote().report.remote())["runtime"]
    tell(stranger=stranger, same=cluster.address == address, origin=origin, again=told(attach, address, token))
""",
        folder=tmp_path / "guest",
    )
    heard = guest.facts()
    assert guest.finish() == 0
    assert heard["stranger"].startswith("ClusterError") and "token" in heard["stranger"].lower()
    assert heard["same"]
    assert Path(heard["origin"]) == TREE / "runtime" / "__init__.py"
    assert "connected to a Ray cluster already" in heard["again"]
    owner.go_on()
    assert owner.finish() == 0


def test_what_cannot_be_started_is_told_in_one_line_and_leaves_nothing(start_driver: Any, tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 20)
    folder.mkdir()
    driver = start_driver(
        """
thread_told = []
thread = threading.Thread(target=lambda: thread_told.append(told(start)))
thread.start()
thread.join()
tell(told=told(start), thread=thread_told[0], children=len(cluster_processes()), connected=ray.is_initialized())
""",
        TMPDIR=str(folder),
    )
    seen = driver.facts()
    assert seen["told"].startswith("ClusterError: no local Ray cluster could be started") and "\n" not in seen["told"]
    assert seen["thread"].startswith("ClusterError: Ray clusters are started and joined in the main thread")
    assert (seen["children"], seen["connected"]) == (0, False)
    assert list(folder.iterdir()) == []


@pytest.mark.long
def test_what_cannot_be_joined_is_told_soon(start_driver: Any) -> None:
    web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        ports = [1, silent.getsockname()[1], web.server_port]
        addresses = ["nowhere", *(f"127.0.0.1:{port}" for port in ports)]
        driver = start_driver(f"tell(told=[told(attach, address) for address in {addresses!r}])")
        no_address, nobody, no_answer, no_cluster = driver.facts()["told"]
    web.shutdown()
    web.server_close()
    assert no_address == "ClusterError: ray.address 'nowhere' is no host:port"
    assert nobody.startswith("ClusterError: nothing answers at the Ray address 127.0.0.1:1: Connection refused")
    assert no_answer.startswith(f"ClusterError: nothing answers at the Ray address 127.0.0.1:{ports[1]}: timed out")
    assert no_cluster.startswith(f"ClusterError: what answers at 127.0.0.1:{ports[2]} is no Ray cluster")


def run_python(code: str, cwd: Path, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, env=env, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )


@pytest.mark.parametrize(("package", "error"), [("serve", "ForeignCodeError"), ("runtime", "ImportError")])
def test_foreign_code_is_told_with_both_folders(tmp_path: Path, package: str, error: str) -> None:
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").touch()
    done = run_python(
        "import actors.origin; actors.origin.check_origin()", tmp_path, os.environ | {"PYTHONPATH": str(TREE)}
    )
    assert done.returncode == 1
    last_line = done.stderr.strip().splitlines()[-1]
    assert error in last_line
    assert f"from {tmp_path / package}, not from {TREE / package};" in last_line


def test_our_own_code_passes_wherever_it_is_run(tmp_path: Path) -> None:
    done = run_python(
        "import actors.origin; actors.origin.check_origin()", tmp_path, os.environ | {"PYTHONPATH": str(TREE)}
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_code_version_tells_code_apart_and_nothing_else(tmp_path: Path) -> None:
    from actors.origin import code_version

    module = tmp_path / "runtime" / "module.py"
    module.parent.mkdir()
    module.write_text("x = 1\n", encoding="utf-8")
    first = code_version(tmp_path)
    os.utime(module, (1, 1))
    (tmp_path / "runtime" / "__pycache__").mkdir()
    (tmp_path / "runtime" / "__pycache__" / "module.pyc").touch()
    (tmp_path / "notes.txt").touch()
    (tmp_path / "runtime" / ".#module.py").symlink_to("nowhere")
    (tmp_path / "runtime" / "legacy.pyc").touch()
    assert code_version(tmp_path) == first
    module.write_text("x = 2\n", encoding="utf-8")
    changed = code_version(tmp_path)
    module.rename(module.with_name("other.py"))
    assert len({first, changed, code_version(tmp_path)}) == 3


def test_the_code_stamp_is_the_same_until_a_file_of_the_code_is_written(tmp_path: Path) -> None:
    from actors.origin import code_stamp

    module = tmp_path / "runtime" / "module.py"
    module.parent.mkdir()
    module.write_text("x = 1\n", encoding="utf-8")
    os.utime(module, (1, 1))
    first = code_stamp(tmp_path)
    (tmp_path / "runtime" / "__pycache__").mkdir()
    (tmp_path / "notes.txt").touch()
    (tmp_path / "runtime" / ".#module.py").symlink_to("nowhere")
    assert code_stamp(tmp_path) == first
    # As large as before, and its time is set back.
    module.write_text("x = 2\n", encoding="utf-8")
    os.utime(module, (1, 1))
    changed = code_stamp(tmp_path)
    (tmp_path / "serve").mkdir()
    (tmp_path / "serve" / "new.py").touch()
    assert len({first, changed, code_stamp(tmp_path)}) == 3


def test_a_cluster_of_another_ray_is_told_with_both_versions() -> None:
    from actors.cluster import _faults_as_cluster_error
    from runtime.errors import ClusterError

    said = """Version mismatch: The cluster was started with:
    Ray: 2.59.0
    Python: 3.11.7
This process on node 127.0.0.1 was started with:
    Ray: 2.60.0
    Python: 3.12.1
"""
    with pytest.raises(ClusterError) as raised, _faults_as_cluster_error("it could not be joined"):
        raise RuntimeError(said)
    assert raised.value.message == (
        "it could not be joined: it runs Ray 2.59.0 on Python 3.11.7, this process runs Ray 2.60.0 on Python 3.12.1; "
        "install the same versions on both sides (Jeeves works with Ray 2.60.x)"
    )


@pytest.mark.parametrize("version", ["2.59.9", "2.6", "2.6.0", "2.61.0", "2.600.0", "3.0.0.dev0"])
def test_a_ray_that_this_version_was_not_made_for_is_told_with_the_one_that_was(version: str) -> None:
    from actors.ray_version import check_ray_version
    from runtime.errors import VersionMismatchError

    with pytest.raises(VersionMismatchError) as raised:
        check_ray_version(version)
    assert f"Ray {version} is installed here, Jeeves works with Ray 2.60.x" in raised.value.message


def test_the_ray_that_is_asked_for_at_installation_is_the_one_that_is_checked() -> None:
    from actors.ray_version import RAY_VERSIONS, check_ray_version

    for version in ("2.60.0", "2.60.1", "2.60.0.post1", "2.60.12"):
        check_ray_version(version)
    check_ray_version()
    asked = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    major, minor = map(int, RAY_VERSIONS.split("."))
    (range_,) = [each for each in asked["project"]["dependencies"] if each.startswith("ray[")]
    assert range_ == f"ray[serve]>={RAY_VERSIONS},<{major}.{minor + 1}"
