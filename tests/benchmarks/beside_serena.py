"""How find_definitions and find_references compare with Serena's tools on one repository of Python.

    python -m venv /tmp/serena && /tmp/serena/bin/pip install serena-agent 'pyright[nodejs]'
    python -m tests.benchmarks.beside_serena REPO --serena /tmp/serena/bin [--symbols 40] [--seed 7]

Functions and methods are drawn by seed from the index. Each server is started on a copy of the files of its own, with
nothing kept from before, asked in turn for the definition and the uses of each, and then for the uses once more. A
definition counts as found where a row begins within the lines of the one that was drawn. Uses are compared by file and
line; which of them are real is not decided here. Printed: a table, and the figures as one line of JSON.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from runtime.codebase.codebase import Codebase
from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.index.records import SymbolRecord
from runtime.codebase.index.writer import refresh
from tests.benchmarks.index_speed import share
from tests.doors.mcp_site import Site, stdio_session, text_of
from tests.doors.program import Program

MAX_TOKENS = 50_000
MAX_USES = 500
_MARKED_LINE = re.compile(r"^\s*>\s*(\d+):", re.MULTILINE)
_SETTINGS = """projects: []
gui_log_window: false
web_dashboard: false
ls_specific_settings:
  python:
    ls_path: {server}
"""

# File and line of a use, counted from 1.
Use = tuple[str, int]


class Found(NamedTuple):
    """Holds the files and first lines of definitions, and uses, those that carry a proof apart."""

    definitions: list[Use]
    proven: set[Use]
    others: set[Use]


class Asker(NamedTuple):
    """Asks one server: for the definitions of a symbol, and for its uses."""

    site: Site
    definitions: Callable[[Site, SymbolRecord], list[Use]]
    uses: Callable[[Site, SymbolRecord], tuple[set[Use], set[Use]]]


def drawn(codebase: Codebase, count: int, seed: int) -> list[SymbolRecord]:
    """Functions and methods of source files, without the special methods of Python."""
    found = codebase.index.symbols("s.kind IN ('function', 'method')", (), 50_000)
    own = [each for each in found if kind_of_path(each.file) == "source" and not each.name.startswith("__")]
    return random.Random(seed).sample(own, min(count, len(own)))


def rows_of(told: Any) -> Iterator[dict[str, Any]]:
    """The rows of uses of an answer: of all its lists but those of what the symbol is and of what it calls."""
    for name, rows in told.items():
        if name not in {"definitions", "callees"} and isinstance(rows, list):
            yield from (row for row in rows if isinstance(row, dict) and "line" in row)


def own_definitions(site: Site, symbol: SymbolRecord) -> list[Use]:
    told = site.call("find_definitions", name=symbol.qualified_name, max_tokens=MAX_TOKENS).structured_content or {}
    return [(row["file"], row["start_line"]) for row in told.get("symbols", ())]


def own_uses(site: Site, symbol: SymbolRecord) -> tuple[set[Use], set[Use]]:
    given = {"symbol": symbol.qualified_name, "max_results": MAX_USES, "max_tokens": MAX_TOKENS}
    rows = list(rows_of(site.call("find_references", **given).structured_content or {}))
    proven = {(row["file"], row["line"]) for row in rows if row.get("proof")}
    return proven, {(row["file"], row["line"]) for row in rows} - proven


def serena_definitions(site: Site, symbol: SymbolRecord) -> list[Use]:
    told = json.loads(text_of(site.call("find_symbol", name_path_pattern=name_path(symbol))))
    return [(row["relative_path"], row["body_location"]["start_line"] + 1) for row in told]


def serena_uses(site: Site, symbol: SymbolRecord) -> tuple[set[Use], set[Use]]:
    given = {"name_path": name_path(symbol), "relative_path": symbol.file}
    told = text_of(site.call("find_referencing_symbols", **given))
    try:
        files = json.loads(told)
    except ValueError:
        return set(), set()  # an error in words, such as of a symbol that it does not know
    shown = ((file, json.dumps(rows)) for file, rows in files.items())
    lines = ((file, line) for file, text in shown for line in _MARKED_LINE.findall(text.replace("\\n", "\n")))
    return set(), {(file, int(line) + 1) for file, line in lines}


def name_path(symbol: SymbolRecord) -> str:
    return symbol.qualified_name.replace(".", "/")


@contextlib.asynccontextmanager
async def serena_session(programs: Path, root: Path, home: Path) -> AsyncIterator[Client]:
    """A client of Serena's server over standard input and output, with the settings that lie in a home of its own."""
    options = ["--context", "claude-code", "--agent-interface", "tools", "--project", str(root)]
    env = {"PATH": f"{programs}:{os.defpath}", "HOME": str(home), "SERENA_HOME": str(home), "LANG": "C.UTF-8"}
    parameters = StdioServerParameters(
        command=str(programs / "serena"), args=["start-mcp-server", *options], env=env, cwd=str(root)
    )
    async with Client(stdio_client(parameters)) as client:
        yield client


def measured(start: Callable[[], Asker], symbols: Sequence[SymbolRecord]) -> tuple[dict[str, Any], list[Found]]:
    """Start a server, ask it for each symbol, and return its times and what it found."""
    began_s = time.perf_counter()
    asker = start()
    try:
        asker.definitions(asker.site, symbols[0])
        times: dict[str, list[float]] = {"definition": [], "uses": [], "uses again": []}
        told: dict[str, Any] = {"start_s": round(time.perf_counter() - began_s, 1)}
        found = []
        for symbol in symbols:
            definitions = timed(times["definition"], asker, asker.definitions, symbol)
            proven, others = timed(times["uses"], asker, asker.uses, symbol)
            found.append(Found(definitions, proven, others))
        for symbol in symbols:
            timed(times["uses again"], asker, asker.uses, symbol)
    finally:
        asker.site.close()
    for name, own in times.items():
        told[name] = {"p50_ms": round(statistics.median(own)), "p90_ms": round(share(own, 0.9))}
    return told, found


def timed(times: list[float], asker: Asker, ask: Callable[[Site, SymbolRecord], Any], symbol: SymbolRecord) -> Any:
    began_s = time.perf_counter()
    answer = ask(asker.site, symbol)
    times.append((time.perf_counter() - began_s) * 1000)
    return answer


def is_found(symbol: SymbolRecord, found: Found) -> bool:
    lines = range(symbol.start_line, symbol.end_line + 1)
    return any(file == symbol.file and line in lines for file, line in found.definitions)


def main(arguments: argparse.Namespace) -> None:
    """Draw the symbols, ask both servers, and print how their answers compare."""
    with tempfile.TemporaryDirectory(prefix="jeeves-serena-") as name:
        folder, programs = Path(name), Path(arguments.serena).resolve()
        roots = [folder / each for each in ("jeeves", "serena")]
        for root in roots:
            shutil.copytree(arguments.repo, root, ignore=shutil.ignore_patterns(".git", ".serena"))
        refresh(roots[0], folder / "index.sqlite")
        codebase = Codebase.open(roots[0], folder / "index.sqlite")
        symbols = drawn(codebase, arguments.symbols, arguments.seed)
        codebase.close()

        def own() -> Asker:
            jeeves = Program(folder / "state", JEEVES_RAY__MODE="in_process")
            return Asker(Site(stdio_session(jeeves, roots[0], "--tools", "all")), own_definitions, own_uses)

        def other() -> Asker:
            (folder / "home").mkdir()
            (folder / "home" / "serena_config.yml").write_text(_SETTINGS.format(server=programs / "pyright-langserver"))
            site = Site(serena_session(programs, roots[1], folder / "home"))
            return Asker(site, serena_definitions, serena_uses)

        told: dict[str, Any] = {"symbols": len(symbols)}
        pairs = {}
        for server, start in (("jeeves", own), ("serena", other)):
            told[server], pairs[server] = measured(start, symbols)
            told[server]["definitions"] = sum(map(is_found, symbols, pairs[server]))
        ours, theirs = pairs["jeeves"], pairs["serena"]
        told["uses"] = {
            "jeeves, proven": sum(len(each.proven) for each in ours),
            "jeeves, others": sum(len(each.others) for each in ours),
            "serena": sum(len(each.others) for each in theirs),
            "serena, of the proven": sum(len(a.proven & b.others) for a, b in zip(ours, theirs, strict=True)),
            "serena, of the others": sum(len(a.others & b.others) for a, b in zip(ours, theirs, strict=True)),
        }
    sys.stdout.write(f"{json.dumps({'load': os.getloadavg()[0], **told}, indent=1)}\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repo")
    parser.add_argument("--serena", required=True, help="folder of the programs serena and pyright-langserver")
    parser.add_argument("--symbols", type=int, default=40)
    parser.add_argument("--seed", type=int, default=7)
    main(parser.parse_args())
