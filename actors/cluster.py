"""Manages the Ray cluster of a command: starts and ends a local one, or attaches to an existing one.

A local cluster listens on loopback only, requires its own token, imports our code and never the user's, and leaves no
process behind, however this process ends. docs/decisions/002-cluster-ownership.md explains each switch. (Over 400
lines: all use of Ray's private parts is in this one file, to be reviewed at each upgrade.)
"""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import os
import random
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

import ray
import ray._raylet
from ray._private import ray_constants
from ray._private.node import Node
from ray._private.parameter import RayParams
from ray._private.resource_isolation_config import ResourceIsolationConfig
from ray._private.services import canonicalize_bootstrap_address
from ray._private.state import actors as _actor_row
from ray.job_config import JobConfig

from actors.actor_logs import pass_on_log_options
from actors.addresses import DEFAULT_NAMESPACE
from actors.origin import check_origin, code_tree
from actors.ray_version import check_ray_version, mismatch_told
from actors.tracing.actor_traces import pass_on_trace_options
from runtime.errors import ClusterError
from runtime.settings import RaySettings, open_state_dir

PROBE_TIMEOUT_S = 1.0
GCS_TIMEOUT_S = 30
ATTACH_TRIES = 3
REAP_TIMEOUT_S = 10
TOKEN_NAME = "token"
KEPT_SESSIONS = 10

# Above most fixed ports and below those that kernels hand out to outgoing connections.
_FREE_PORTS = range(20_000, 32_768)

# The bytes that open every gRPC connection, and the type of a gRPC server's first frame. Without this probe Ray takes
# minutes to notice that the other side is no gRPC server, or a stopped cluster.
_HTTP2_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"
_HTTP2_SETTINGS = b"\4"

# Waits for the end of its standard input, which comes when the driver closes it or dies, however it dies. Then kills
# every process with the cluster's mark ($1) in its environment, tools that actors started included, and every process
# in the cluster's folder ($2), because Ray's agents overwrite their environment when they set their title.
_REAPER = r"""
read -r _
for _ in 1 2 3; do
    pids=$(grep -lsaF -- "$1" /proc/[0-9]*/environ | cut -d/ -f3
        ls -l /proc/[0-9]*/cwd 2>/dev/null | sed -n "s|.*/proc/\([0-9]*\)/cwd -> $2/.*|\1|p")
    [ -n "$pids" ] || break
    kill -9 $pids 2>/dev/null
done
rm -rf -- "$2"
"""

# Only these RAY_ variables are passed to a local cluster: others name clusters, nodes, jobs and tokens.
_KEPT_RAY = ("RAY_SERVE_", "RAY_LLM_", "RAY_BACKEND_LOG_LEVEL")

# A compiled module, whose stubs cover less than half of it.
_raylet: Any = ray._raylet

_SYSTEM_CONFIG: dict[str, Any] = {
    # Otherwise the driver waits for the first workers before it may even request actors.
    "prestart_worker_first_driver": False,
    # Ray's default is 15: beside any other work on the machine, starting took twice as long.
    "worker_niceness": 0,
    # The agents run at the lowest priority and may be late; Ray would end the node over it.
    "agent_register_timeout_ms": 300_000,
    # An actor that is replaced because it hangs is asked to leave first, for so long; Ray's default is 5000.
    "kill_worker_timeout_milliseconds": 500,
    # Unused, because our own metrics and events are more detailed; they would cost time on every call.
    "enable_metrics_collection": False,
    "event_stats": False,
    "task_events_report_interval_ms": 0,
}


class Cluster:
    """Represents the cluster that this process is connected to; leaving the context ends a cluster started here."""

    def __init__(self, address: str, head: _Head | None = None, reaper: subprocess.Popen[bytes] | None = None) -> None:
        self.address = address
        self._head = head
        self._reaper = reaper
        self._connected = True

    @property
    def token_path(self) -> Path | None:
        """The token file that other processes on this machine need for `attach`; None for an attached cluster."""
        return self._head.private_dir / TOKEN_NAME if self._head else None

    @property
    def log_dir(self) -> Path | None:
        """The folder with the workers' logs of a local cluster; it stays for a while after the cluster's end."""
        return self._head.log_dir if self._head else None

    def shutdown(self) -> None:
        """Disconnect, and end every process of a local cluster. A second call does nothing."""
        if not self._connected:
            return
        self._connected = False
        _disconnect()
        if self._head:
            self._head.kill_all_processes(check_alive=False, allow_graceful=True, wait=True)
        if self._reaper:
            _reap(self._reaper)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shutdown()


def start_local(settings: RaySettings, state_dir: Path, namespace: str = DEFAULT_NAMESPACE) -> Cluster:
    """Start a cluster for this process alone and connect to it; its logs go to `state_dir`/ray.

    Call it in the main thread. For some 300 ms this process has another working directory and environment; threads
    should not depend on them meanwhile. Afterwards all is as it was. Raises ClusterError or StateStorageError.
    """
    _check_may_connect()
    sessions_dir = open_state_dir(state_dir) / "ray"
    _remove_old_sessions(sessions_dir)
    problem = f"no local Ray cluster could be started (logs in {sessions_dir}; `ray.mode: in_process` does without)"
    with _faults_as_cluster_error(problem):
        private_dir = Path(tempfile.mkdtemp(prefix="jeeves-"))
        reaper = _start_reaper(private_dir)
    try:
        environment = _local_environment(private_dir, settings.node_ip)
        with _faults_as_cluster_error(problem), _ray_environment(settings.node_ip, environment):
            with contextlib.chdir(private_dir / "cwd"):
                head = _Head(settings, sessions_dir, private_dir)
            _connect(head.gcs_address, namespace)
    except BaseException:
        _disconnect()
        _reap(reaper)
        raise
    return Cluster(head.gcs_address, head, reaper)


def attach(address: str, token_path: Path | None = None, namespace: str = DEFAULT_NAMESPACE) -> Cluster:
    """Connect to the cluster at `address` (host:port; `auto` inside a Ray job), which must have a node on this machine.

    Named actors that this process creates, and those that they create, are in `namespace`.
    `token_path` is the `Cluster.token_path` of the process that started the cluster; without it the environment's
    authentication settings apply. Raises ClusterError.
    """
    _check_may_connect()
    host = _probe_host(address) if address != "auto" else ""
    environment = dict(os.environ) | {"RAY_gcs_server_port_wait_time_s": str(ATTACH_TRIES)}
    if token_path:
        environment |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token_path)}
    problem = f"the Ray cluster at {address} could not be joined (`ray.address` names it)"
    try:
        with _faults_as_cluster_error(problem), _ray_environment(host, environment):
            _connect(address, namespace)
            return Cluster(ray.get_runtime_context().gcs_address)
    except BaseException:
        _disconnect()
        raise


def probe(address: str) -> str:
    """Return where a Ray cluster answers: `address` (host:port), or what Ray finds for `auto`.

    Raises ClusterError within two seconds.
    """
    if address != "auto":
        _probe_host(address)
        return address
    with _faults_as_cluster_error("no Ray cluster is found on this machine (`ray.address` is auto)"):
        found = canonicalize_bootstrap_address(address)
    if not found:
        raise ClusterError("no Ray cluster is found on this machine (`ray.address` is auto)", address=address)
    _probe_host(found)
    return str(found)


def has_process(actor: Any) -> bool:
    """Return whether Ray has given an actor a process: until then, it waits for what it claims."""
    row: Mapping[str, Any] = _actor_row(actor._actor_id.hex())
    return bool(row.get("Pid")) or row.get("State") == "ALIVE"


class _Head(Node):
    """Runs the node of a local cluster: GCS, raylet, two agents; no dashboard, autoscaler or log monitor."""

    def __init__(self, settings: RaySettings, sessions_dir: Path, private_dir: Path) -> None:
        self.private_dir = private_dir
        params = RayParams(
            node_ip_address=settings.node_ip,
            num_cpus=settings.num_cpus,
            object_store_memory=settings.object_store_mb * 2**20,
            temp_dir=str(sessions_dir),
            # Unix sockets have short names (107 bytes), and do not work on every file system that homes are on.
            plasma_store_socket_name=str(private_dir / "sockets" / "plasma_store"),
            raylet_socket_name=str(private_dir / "sockets" / "raylet"),
            runtime_env_agent_port=_free_port(settings.node_ip),
            include_dashboard=False,
            no_monitor=True,
            resource_isolation_config=ResourceIsolationConfig(),
            _system_config=_SYSTEM_CONFIG,
        )
        params.include_log_monitor = False  # type: ignore[assignment]
        super().__init__(params, head=True, shutdown_at_exit=False, spawn_reaper=True, ray_init_cluster=True)
        self.log_dir = Path(self._logs_dir)
        # At this point the raylet's only children are its agents, which mostly start up while our workers do.
        _lower_priority(_children(self.all_processes[ray_constants.PROCESS_TYPE_RAYLET][0].process.pid))

    def start_api_server(self, *, include_dashboard: bool | None, raise_on_failure: bool) -> None:
        """Start none: even without a dashboard it is a Python process that Ray waits for, to report usage."""

    def start_raylet(self, *args: Any, **kwargs: Any) -> None:
        """Start the raylet so that it does not wait for the ports of its agents."""
        ports = {
            # -1 means that there is no such service.
            _raylet.METRICS_AGENT_PORT_NAME: -1,
            _raylet.METRICS_EXPORT_PORT_NAME: -1,
            _raylet.DASHBOARD_AGENT_LISTEN_PORT_NAME: -1,
            _raylet.RUNTIME_ENV_AGENT_PORT_NAME: self._ray_params.runtime_env_agent_port,
        }
        for name, port in ports.items():
            _raylet.persist_port(self._session_dir, self._node_id, name, port)
        # The dashboard agent is then started without its modules, and this process need not import them either.
        with _import_blocked("ray.dashboard.optional_deps"):
            super().start_raylet(*args, **kwargs)


class _OwnCodeFirst(JobConfig):
    """Makes workers import from our tree; Ray would put the driver's script folder and working directory first."""

    def __init__(self, namespace: str) -> None:
        tree = code_tree()
        installed = tree in {Path(sysconfig.get_path(kind)).resolve() for kind in ("purelib", "platlib")}
        super().__init__(ray_namespace=namespace, _py_driver_sys_path=[] if installed else [str(tree)])
        pass_on_log_options(self)
        pass_on_trace_options(self)

    def _runtime_env_has_working_dir(self) -> bool:
        # Asked in two places only, to decide whether to add those two folders.
        return True


def _check_may_connect() -> None:
    check_origin()
    check_ray_version()
    if ray.is_initialized():
        raise ClusterError("this process is connected to a Ray cluster already; shut that one down first")
    if threading.current_thread() is not threading.main_thread():
        # The kernel ends the cluster when the thread that started it ends, not when the process does.
        raise ClusterError("Ray clusters are started and joined in the main thread, not in another one")


def _connect(address: str, namespace: str) -> None:
    ray.init(
        address=address,
        namespace=namespace,
        job_config=_OwnCodeFirst(namespace),
        log_to_driver=False,
        configure_logging=False,
    )


def _disconnect() -> None:
    ray.shutdown()
    # Ray keeps the authentication of the last cluster for the life of the process.
    _raylet.Config.initialize("")
    _raylet.AuthenticationTokenLoader.instance().reset_cache()


@contextlib.contextmanager
def _faults_as_cluster_error(problem: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        cause: BaseException = error
        while cause.__cause__:
            cause = cause.__cause__
        raise ClusterError(f"{problem}: {_reason_of(cause)}") from error


def _reason_of(cause: BaseException) -> str:
    """Return one sentence of what Ray says: of two versions that differ, both; else the last line."""
    text = str(cause).strip()
    if (mismatch := mismatch_told(text)) is not None:
        return mismatch
    # Ray quotes whole tracebacks in messages, and follows them with advice for other cases.
    return (text.splitlines() or [type(cause).__name__])[-1].split(". ")[0]


@contextlib.contextmanager
def _ray_environment(node_ip: str, environment: Mapping[str, str]) -> Iterator[None]:
    """Set up the environment for Ray and its processes; restore the caller's environment and SIGTERM handler after."""
    kept = dict(os.environ)
    on_sigterm = signal.getsignal(signal.SIGTERM)
    ray_logger = logging.getLogger("ray")
    kept_level = ray_logger.level
    # Both were read from the environment when ray was imported. Without the first, Ray replaces 127.0.0.1 by an outer
    # address; with the second, it would copy the user's project to every worker under `uv run`.
    constants = {"ENABLE_RAY_CLUSTER": not _is_loopback(node_ip), "RAY_ENABLE_UV_RUN_RUNTIME_ENV": False}
    kept_constants = {name: getattr(ray_constants, name) for name in constants}
    try:
        _replace_environment(environment)
        _set_attributes(ray_constants, constants)
        # Ray gives its logger a handler on standard error; our own error reports the problem.
        ray_logger.setLevel(logging.CRITICAL)
        _raylet.Config.initialize("")
        _raylet.AuthenticationTokenLoader.instance().reset_cache()
        yield
    finally:
        ray_logger.setLevel(kept_level)
        _set_attributes(ray_constants, kept_constants)
        _replace_environment(kept)
        if on_sigterm is not None:
            signal.signal(signal.SIGTERM, on_sigterm)


def _local_environment(private_dir: Path, node_ip: str) -> dict[str, str]:
    """Return the environment of a local cluster's processes: the caller's, without misleading variables."""
    (private_dir / "cwd").mkdir()
    token_path = private_dir / TOKEN_NAME
    token_path.touch(mode=0o600)
    token_path.write_text(secrets.token_hex(32))
    kept = {name: value for name, value in os.environ.items() if name.startswith(_KEPT_RAY) or name[:4] != "RAY_"}
    kept["PYTHONPATH"] = os.pathsep.join(filter(_is_install_folder, kept.get("PYTHONPATH", "").split(os.pathsep)))
    return kept | {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(token_path),
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0" if _is_loopback(node_ip) else "1",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_gcs_server_port_wait_time_s": str(GCS_TIMEOUT_S),
    }


def _is_install_folder(entry: str) -> bool:
    """Return whether a PYTHONPATH entry holds installed packages, Ray perhaps, rather than source trees."""
    return Path(entry).is_absolute() and next(Path(entry).glob("*.dist-info"), None) is not None


def _replace_environment(environment: Mapping[str, str]) -> None:
    for name in os.environ.keys() - environment.keys():
        del os.environ[name]
    os.environ.update(environment)


def _set_attributes(module: ModuleType, values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        setattr(module, name, value)


@contextlib.contextmanager
def _import_blocked(name: str) -> Iterator[None]:
    """Make a module appear not to be installed."""
    loaded = sys.modules.get(name)
    sys.modules[name] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[name]
        if loaded:
            sys.modules[name] = loaded


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _probe_host(address: str) -> str:
    """Return the host of `address`, where a gRPC server answers. Raises ClusterError within about two seconds."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or "/" in host:
        raise ClusterError(f"ray.address {address!r} is no host:port", address=address)
    host = host.strip("[]")
    try:
        with socket.create_connection((host, int(port)), PROBE_TIMEOUT_S) as connection:
            connection.sendall(_HTTP2_GREETING)
            answer = connection.recv(9)
    except OSError as error:
        problem = f"nothing answers at the Ray address {address}: {error.strerror or error}"
        raise ClusterError(f"{problem}; start that cluster, or correct ray.address", address=address) from error
    if answer[3:4] != _HTTP2_SETTINGS:
        raise ClusterError(f"what answers at {address} is no Ray cluster; correct ray.address", address=address)
    return host


def _free_port(host: str) -> int:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for port in random.SystemRandom().sample(_FREE_PORTS, 100):
        # A port that is taken: the next one is tried.
        with socket.socket(family) as probe, contextlib.suppress(OSError):
            probe.bind((host, port))
            return port
    raise ClusterError(f"no free port found on {host} between {_FREE_PORTS.start} and {_FREE_PORTS.stop}", host=host)


def _start_reaper(private_dir: Path) -> subprocess.Popen[bytes]:
    mark = f"RAY_AUTH_TOKEN_PATH={private_dir / TOKEN_NAME}"
    return subprocess.Popen(
        ["/bin/sh", "-c", _REAPER, "jeeves-reaper", mark, str(private_dir)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # Not reached by Ctrl-C, and without the mark of a cluster that this process may itself run in.
        start_new_session=True,
        cwd="/",
        env={"PATH": os.environ.get("PATH", os.defpath)},
    )


def _reap(reaper: subprocess.Popen[bytes]) -> None:
    if reaper.stdin:
        reaper.stdin.close()
    try:
        reaper.wait(REAP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        reaper.kill()
        reaper.wait()


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _lower_priority(pids: list[int]) -> None:
    for pid in pids:
        # It has ended, or may not be changed: that costs only time.
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, pid, 19)


def _remove_old_sessions(sessions_dir: Path) -> None:
    """Remove the logs of all but the last few clusters and those still running."""
    sessions = sorted(path for path in sessions_dir.glob("session_*") if not path.is_symlink())
    for path in sessions[:-KEPT_SESSIONS]:
        pid = path.name.rpartition("_")[2]
        if not (pid.isdecimal() and _is_alive(int(pid))):
            shutil.rmtree(path, ignore_errors=True)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
