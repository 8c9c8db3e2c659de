"""How long the search tools of the MCP door take on one repository, each asked many different things.

    python -m tests.benchmarks.search_tool_speed REPO [--calls 20] [--vectors] [--state FOLDER]

Through the client of the official SDK over standard input and output. What is asked is drawn from the repository's own
definitions and files, the same each time: every call of the first round is new to the server, the second round asks the
same again. Printed: a table, and the figures as one line of JSON. Processor time is that of the server and all that it
started. The goal for 100,000 lines: half of the calls of each tool within 100 ms. With `--vectors` all vectors are made
before anything is measured, which may take minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from runtime.codebase.codebase import Codebase
from runtime.codebase.index.writer import refresh
from tests.benchmarks.index_speed import questions_of, share
from tests.capabilities.code_change.capacity import tree_of
from tests.doors.mcp_site import Site, stdio_session
from tests.doors.program import Program

GOAL_MS = 100
ROUNDS = ("new", "again")
# What is asked before anything is measured, so that the index is there and processes run.
WARMING = ("git_status", "find_definitions", "locate", "search_text")
Calls = Mapping[str, Sequence[tuple[str, dict[str, Any]]]]


def calls_about(codebase: Codebase, count: int) -> Calls:
    """What is asked of each tool; the same for the same repository."""
    chance = random.Random(7)
    symbols = codebase.index.symbols("s.kind IN ('class', 'function', 'method')", (), 50_000)
    functions = [each for each in symbols if each.kind != "class"]
    files = sorted({each.file for each in symbols})
    folders = sorted({str(Path(file).parent) for file in files})

    def drawn(among: Sequence[Any]) -> list[Any]:
        return chance.sample(among, min(count, len(among)))

    names = [each.name for each in drawn(symbols)]
    fours = [[each.name for each in chance.sample(symbols, min(4, len(symbols)))] for _ in range(count)]
    asked_for = [each for each in questions_of(codebase, 9 * count) if " " in each][: 3 * count]
    # Each case has its own: what was read together with a sentence is kept.
    sentences, others, further = (asked_for[at::3] for at in range(3))
    asked: dict[str, tuple[str, list[dict[str, Any]]]] = {
        "locate, a name": ("locate", [{"query": name} for name in names]),
        "locate, a sentence": ("locate", [{"query": sentence} for sentence in sentences]),
        "locate, a sentence, thorough": ("locate", [{"query": sentence, "thorough": True} for sentence in further]),
        "semantic_search": ("semantic_search", [{"query": sentence} for sentence in others]),
        "find_definitions": ("find_definitions", [{"name": name} for name in names]),
        "explore_symbol_usage": (
            "explore_symbol_usage",
            [{"symbol": each.qualified_name if at % 2 else each.name} for at, each in enumerate(drawn(symbols))],
        ),
        "search_text, one": ("search_text", [{"patterns": [name]} for name in names]),
        "search_text, four": ("search_text", [{"patterns": four} for four in fours]),
        "search_text, an expression": (
            "search_text",
            [{"patterns": [rf"def \w*{name[:4]}\w*\("], "regex": True} for name in names],
        ),
        "search_files": ("search_files", [{"pattern": f"**/{Path(file).stem[:4]}*"} for file in drawn(files)]),
        "get_symbols": ("get_symbols", [{"path": file} for file in drawn(files)]),
        "map_module, a folder": ("map_module", [{"path": folder} for folder in drawn(folders)]),
        "map_module, a file": ("map_module", [{"path": file} for file in drawn(files)]),
        "map_module, the root": ("map_module", [{"path": "."}]),
        "read_code": ("read_code", [{"symbol": each.name, "path": each.file} for each in drawn(symbols)]),
        "trace_entry_point": ("trace_entry_point", [{"entry": each.qualified_name} for each in drawn(functions)]),
        "find_related": ("find_related", [{"path": file} for file in drawn(files)]),
        "explain_code_history": ("explain_code_history", [{"path": file} for file in drawn(files)]),
        "git_status": ("git_status", [{}] * count),
        "analyze_impact": ("analyze_impact", [{"symbols": [each.name]} for each in drawn(symbols)]),
    }
    return {case: [(tool, given) for given in calls] for case, (tool, calls) in asked.items()}


def processor_s(pid: int) -> float:
    """Seconds of the processor that a process and all that it started have taken."""
    ticks = 0
    for each in tree_of(pid):
        try:
            fields = Path(f"/proc/{each}/stat").read_bytes().rpartition(b")")[2].split()
        except OSError:
            continue  # the process has ended since it was listed
        ticks += sum(int(field) for field in fields[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


def measured(site: Site, pid: int, calls: Sequence[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """Milliseconds of the calls of one case, each made once, in each round."""
    told: dict[str, Any] = {"calls": len(calls)}
    for name in ROUNDS:
        times_ms, refused = [], 0
        cpu_s = processor_s(pid)
        for tool, given in calls:
            began_s = time.perf_counter()
            refused += bool(site.call(tool, **given).is_error)
            times_ms.append((time.perf_counter() - began_s) * 1000)
        told[name] = {
            "p50_ms": round(statistics.median(times_ms), 1),
            "p90_ms": round(share(times_ms, 0.9), 1),
            "cpu_ms": round((processor_s(pid) - cpu_s) * 1000 / len(calls), 1),
            "refused": refused,
        }
    return told


def asked_of(root: Path, calls: Calls, state: Path, *, vectors: bool) -> dict[str, Any]:
    """Start a server on the repository, ask it, and return the figures of each case."""
    embeddings = {"JEEVES_CODE_INDEX__EMBEDDINGS": str(vectors).lower()}
    jeeves = Program(state, JEEVES_RAY__MODE="in_process", **embeddings)
    if vectors:
        jeeves.run("index", "--repo", root, "--wait-vectors", timeout_s=3600).answers()
    site = Site(stdio_session(jeeves, root, "--tools", "all"))
    try:
        (pid,) = (pid for pid in tree_of(os.getpid()) if b"--repo" in Path(f"/proc/{pid}/cmdline").read_bytes())
        for tool in WARMING:
            site.call(tool, **next(given for asked in calls.values() for name, given in asked if name == tool))
        return {case: measured(site, pid, asked) for case, asked in calls.items()}
    finally:
        site.close()


def main(arguments: argparse.Namespace) -> None:
    """Draw what is asked, ask it, and print the figures."""
    root = Path(arguments.repo).resolve()
    with tempfile.TemporaryDirectory(prefix="jeeves-tools-") as folder:
        refresh(root, Path(folder) / "index.sqlite")
        codebase = Codebase.open(root, Path(folder) / "index.sqlite")
        calls = calls_about(codebase, arguments.calls)
        codebase.close()
        state = Path(arguments.state).resolve() if arguments.state else Path(folder) / "state"
        told = asked_of(root, calls, state, vectors=arguments.vectors)
    sys.stdout.write(f"{table(told)}\n{json.dumps({'load': os.getloadavg()[0], 'cases': told})}\n")


def table(told: Mapping[str, Any]) -> str:
    """The figures for a reader."""
    head = (
        f"{'call':28s} {'calls':>5s} {'new p50':>8s} {'p90':>7s} {'cpu':>6s} {'again p50':>9s} {'p90':>7s} {'cpu':>6s}"
    )
    rows = [head]
    for case, figures in told.items():
        new, again = (figures[name] for name in ROUNDS)
        mark = "" if new["p50_ms"] <= GOAL_MS else "  over"
        times = " ".join(f"{part[name]:9.1f}" for part in (new, again) for name in ("p50_ms", "p90_ms", "cpu_ms"))
        rows.append(f"{case:28s} {figures['calls']:5d} {times}{mark}")
    return "\n".join(rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repo")
    parser.add_argument("--calls", type=int, default=20)
    parser.add_argument("--vectors", action="store_true", help="with the vectors of the repository")
    parser.add_argument("--state", default="", help="a state folder that stays, so that vectors are made once")
    main(parser.parse_args())
