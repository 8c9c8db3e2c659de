"""A PostgreSQL server of the tests' own: in a folder in /tmp, on a free port, gone when they are done."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from tests.free_ports import free_port

USER, PASSWORD = "jeeves", "open sesame"
MISSING = "NO POSTGRESQL: initdb and pg_ctl are not installed; run `make programs`"


def binaries() -> Path | None:
    """The folder of the newest `initdb`; None when PostgreSQL is not installed."""
    in_debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: path.parts[-3].zfill(3))
    if in_debian:
        return in_debian[-1].parent
    found = shutil.which("initdb")
    return Path(found).resolve().parent if found and shutil.which("pg_ctl") else None


class PostgresServer:
    """A server that can be stopped, killed and started again; data stay in its folder."""

    def __init__(self, bin_dir: Path) -> None:
        self._bin = bin_dir
        # Not below pytest's folders: those are closed to the user that the server runs as.
        self.folder = Path(tempfile.mkdtemp(prefix="jeeves-pg-"))
        self.port = free_port()
        self._as = _somebody_else()
        if self._as:
            os.chown(self.folder, self._as["user"], self._as["group"])
        password_file = self.folder / "password"
        password_file.write_text(PASSWORD, encoding="utf-8")
        password_file.chmod(0o644)
        self._call(
            "initdb", "-D", self._data, "-U", USER, f"--pwfile={password_file}", "-A", "scram-sha-256", "-E", "UTF8",
            "--no-locale", "--no-sync",
        )  # fmt: skip
        self.start()

    @property
    def _data(self) -> str:
        return str(self.folder / "data")

    @property
    def dsn(self) -> str:
        """How to connect, with the password."""
        return f"host={self.folder} port={self.port} user={USER} password='{PASSWORD}' dbname=postgres"

    def dsn_with(self, **changed: str) -> str:
        """How to connect, with some of it changed."""
        from psycopg.conninfo import make_conninfo

        return make_conninfo(self.dsn, **changed)

    def start(self) -> None:
        """Return when it takes connections."""
        # What it has written survives its kill in the memory of the system; only a power cut needs the disk.
        options = f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1 -c max_connections=50 -c fsync=off"
        self._call("pg_ctl", "-D", self._data, "-w", "-l", str(self.folder / "log"), "-o", options, "start")

    def stop(self) -> None:
        """Break all connections and return when it is down."""
        self._call("pg_ctl", "-D", self._data, "-m", "fast", "-w", "stop")

    def kill(self) -> None:
        """As a crash would end it: nothing is finished first."""
        pid = int((self.folder / "data" / "postmaster.pid").read_text(encoding="utf-8").splitlines()[0])
        os.kill(pid, signal.SIGQUIT)
        self._call("pg_ctl", "-D", self._data, "-m", "immediate", "-w", "stop", check=False)

    def close(self) -> None:
        """Stop it and remove its folder."""
        self._call("pg_ctl", "-D", self._data, "-m", "immediate", "-w", "stop", check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _call(self, program: str, *arguments: str, check: bool = True) -> None:
        command = [str(self._bin / program), *arguments]
        log = self.folder / f"{program}.log"
        with log.open("wb") as out:
            done = subprocess.run(command, stdout=out, stderr=out, check=False, cwd="/", **(self._as or {}))  # type: ignore[call-overload]
        if check and done.returncode != 0:
            raise RuntimeError(f"{program} failed: {log.read_text(encoding='utf-8', errors='replace')}")


def _somebody_else() -> dict[str, int]:
    """PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue  # this machine has no such user; the next one may do
        return {"user": entry.pw_uid, "group": entry.pw_gid}
    raise RuntimeError("PostgreSQL does not run as root, and there is no user postgres or nobody")
