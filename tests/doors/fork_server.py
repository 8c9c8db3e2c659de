"""The program without its start-up: a process that has imported it once, and forks for each command.

What a command does, from `main()` to the end of the interpreter, is done by a process of its own; starting Python and
importing modules, most of what a short command takes, is done once. Tests of that start, or of Ray, take the program
itself.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

IMPORTED = ("serve.cli", "runtime.codebase", "actors.capabilities.code_analysis")
_SIZE_BYTES = 8


class ForkServer:
    """The end of the tests: asks the server for a command, and is told how it ended."""

    def __init__(self) -> None:
        self._folder = tempfile.mkdtemp(prefix="jeeves-forks-")
        self._address = str(Path(self._folder) / "socket")
        root = Path(__file__).resolve().parents[2]
        # It lives as long as its standard input is open, so that it ends with the tests whatever ends them.
        self._server = subprocess.Popen(
            [sys.executable, "-m", __spec__.name, self._address],
            cwd=root,
            env={"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8", "PYTHONPATH": str(root)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._server.stdout is not None
        assert self._server.stdout.readline() == b"ready\n", "the server that forks `jeeves` did not come up"
        self._server.stdout.close()

    def run(
        self, arguments: Sequence[str | bytes | Path], cwd: Path, env: Mapping[str, str], timeout_s: float
    ) -> tuple[int, str, str]:
        """The command, finished: its exit status, its standard output and its standard error."""
        request = json.dumps([[os.fsdecode(argument) for argument in arguments], str(cwd), dict(env)]).encode()
        with (
            tempfile.TemporaryFile(dir=self._folder) as out,
            tempfile.TemporaryFile(dir=self._folder) as err,
            socket.socket(socket.AF_UNIX) as connection,
        ):
            connection.settimeout(timeout_s)
            connection.connect(self._address)
            socket.send_fds(connection, [len(request).to_bytes(_SIZE_BYTES)], [out.fileno(), err.fileno()])
            connection.sendall(request)
            pid = _received(connection)
            try:
                status = _received(connection)
            except BaseException:
                os.kill(pid, signal.SIGKILL)
                raise
            return status, _text(out), _text(err)

    def close(self) -> None:
        """End the server."""
        self._server.communicate()
        with contextlib.suppress(FileNotFoundError):  # the server has removed it itself
            Path(self._address).unlink()
        Path(self._folder).rmdir()


@functools.cache
def fork_server() -> ForkServer:
    """The server of this process, started when it is first asked for."""
    server = ForkServer()
    atexit.register(server.close)
    return server


def _received(connection: socket.socket) -> int:
    told = connection.recv(_SIZE_BYTES, socket.MSG_WAITALL)
    assert len(told) == _SIZE_BYTES, "the process that waits for `jeeves` has gone"
    return int.from_bytes(told, signed=True)


def _text(file: Any) -> str:
    file.seek(0)
    text: str = file.read().decode("utf-8", "surrogateescape")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def serve(address: str) -> None:
    """Fork for each connection until standard input ends; comes back in the processes that are to be the program."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen(64)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        ready = select.poll()
        for source in (listener, sys.stdin):
            ready.register(source, select.POLLIN)
        while listener.fileno() in dict(ready.poll()):
            connection, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                with connection:
                    _be_the_program(connection)
                return
            connection.close()
            _bury(os.WNOHANG)
    _bury(0)
    os._exit(0)


def _bury(options: int) -> None:
    """Wait for those that held a connection, so that what they took of the processor is counted with the tests."""
    with contextlib.suppress(ChildProcessError):  # none is left
        while os.waitpid(-1, options)[0]:
            pass


def _be_the_program(connection: socket.socket) -> None:
    """Come back as the program, ready for `main()`; its parent stays here, and tells when and how it ended."""
    size, files, _, _ = socket.recv_fds(connection, _SIZE_BYTES, 2)
    request = b""
    while len(request) < int.from_bytes(size):
        request += connection.recv(1 << 20)
    pid = os.fork()
    if pid:
        with contextlib.suppress(BrokenPipeError):  # who asked has given it up
            connection.sendall(pid.to_bytes(_SIZE_BYTES, signed=True))
            status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            connection.sendall(status.to_bytes(_SIZE_BYTES, signed=True))
        os._exit(0)
    arguments, cwd, env = json.loads(request)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for file, number in zip((nothing, *files), range(3), strict=True):
        os.dup2(file, number)
        os.close(file)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.argv = ["jeeves", *arguments]
    sys.modules["__main__"].__package__ = None  # or usage would be told of `python -m ...`
    # As Python opens them in the locale C.UTF-8.
    sys.stdin = sys.__stdin__ = open(0, encoding="utf-8", errors="surrogateescape")  # type: ignore[misc] # noqa: SIM115
    sys.stdout = sys.__stdout__ = open(1, "w", encoding="utf-8", errors="surrogateescape")  # type: ignore[misc] # noqa: SIM115
    sys.stderr = sys.__stderr__ = open(  # type: ignore[misc] # noqa: SIM115
        2, "w", encoding="utf-8", errors="backslashreplace", buffering=1
    )


def import_program() -> None:
    """Import what nearly every command imports."""
    for name in IMPORTED:
        package = importlib.import_module(name)
        for found in pkgutil.walk_packages(getattr(package, "__path__", ()), f"{name}."):
            importlib.import_module(found.name)


if __name__ == "__main__":
    import_program()
    serve(sys.argv[1])
    from serve.cli.main import main

    main()
