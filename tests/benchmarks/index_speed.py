"""How fast the code index is made and asked, and what memory it takes, on trees of a given size.

    python -m tests.benchmarks.index_speed [--lines 100000 750000] [--source FOLDER] [--words] [--questions 30]

Each tree is a copy of Python files of FOLDER (this environment's packages if none is named) until it has that many
lines; each is measured in a process of its own, so that peak memory is its own. Printed: a table and one line of JSON
for each tree. CPU time is that of the process over all its threads; where other work shares the machine it tells more
than the clock. Questions are names of the tree and first sentences of its docstrings, the same each time.

The goals are those of 100,000 and 750,000 lines: an index in 8 s and 60 s, one changed file in 200 ms, a first answer
on a fresh index in 1.5 s, later ones in 30 ms (half of them) and 150 ms (99 of 100), 1 GB of memory.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from runtime.codebase.codebase import Codebase
from runtime.codebase.index.writer import refresh
from runtime.codebase.semantics.similarity import open_semantics
from runtime.codebase.tools.locate import locate

ROUNDS = 5
LEAST_DOCSTRING_CHARS = 25


@dataclass(frozen=True, slots=True)
class Figures:
    """What one tree took; times in milliseconds by the clock, `_cpu_ms` of the processor."""

    lines: int
    files: int
    index_ms: float
    index_cpu_ms: float
    changed_file_ms: float
    changed_file_cpu_ms: float
    first_ms: float
    first_cpu_ms: float
    warm_p50_ms: float
    warm_p99_ms: float
    warm_p50_cpu_ms: float
    warm_p99_cpu_ms: float
    peak_mb: float
    vectors: bool


def copy_lines(source: Path, target: Path, lines: int) -> int:
    """Copy Python files of `source` below `target` in order until they have that many lines; how many they have."""
    copied = 0
    for path in sorted(source.rglob("*.py")):
        if copied >= lines:
            break
        data = path.read_bytes()
        if b"\0" in data:
            continue
        place = target / path.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
        copied += data.count(b"\n")
    return copied


def timed(work: Callable[[], Any]) -> tuple[float, float]:
    """Milliseconds by the clock and of the processor."""
    started_s, cpu_s = time.perf_counter(), time.process_time()
    work()
    return 1000 * (time.perf_counter() - started_s), 1000 * (time.process_time() - cpu_s)


def questions_of(codebase: Codebase, count: int) -> list[str]:
    """A third names of functions and classes, the rest first sentences of docstrings; the same for the same tree."""
    chance = random.Random(5)
    named = codebase.index.symbols("s.kind IN ('class', 'function', 'method') AND s.docstring <> ''", (), 50_000)
    chosen = chance.sample(named, min(count, len(named)))
    words = [symbol.docstring.split("\n")[0] for symbol in chosen]
    return [
        symbol.name if place % 3 == 0 or len(said) < LEAST_DOCSTRING_CHARS else said
        for place, (symbol, said) in enumerate(zip(chosen, words, strict=True))
    ]


def share(values: list[float], part: float) -> float:
    """The value that this part of the values does not exceed."""
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


def measure(root: Path, state: Path, *, count: int, words: bool) -> Figures:
    """Index a tree, change a file, and ask."""
    index = state / "index.sqlite"
    index_ms, index_cpu_ms = timed(lambda: refresh(root, index))
    indexed = refresh(root, index)
    semantics = None if words else open_semantics(state / "vectors.sqlite", here=True)
    codebase = Codebase.open(root, index, semantics=semantics)
    questions = questions_of(codebase, count)
    first_ms, first_cpu_ms = timed(lambda: locate(codebase, questions[-1], 20))
    changed = max((file for file in codebase.files() if file.is_readable), key=lambda file: -abs(file.lines - 500))
    for question in questions:
        locate(codebase, question, 20, wait=True)
    took = [timed(partial(locate, codebase, question, 20)) for _ in range(ROUNDS) for question in questions]
    with (root / changed.path).open("a", encoding="utf-8") as file:
        file.write("\nCHANGED = True\n")
    changed_ms, changed_cpu_ms = timed(lambda: refresh(root, index))
    figures = Figures(
        lines=indexed.lines,
        files=indexed.files,
        index_ms=index_ms,
        index_cpu_ms=index_cpu_ms,
        changed_file_ms=changed_ms,
        changed_file_cpu_ms=changed_cpu_ms,
        first_ms=first_ms,
        first_cpu_ms=first_cpu_ms,
        warm_p50_ms=statistics.median(wall for wall, _ in took),
        warm_p99_ms=share([wall for wall, _ in took], 0.99),
        warm_p50_cpu_ms=statistics.median(cpu for _, cpu in took),
        warm_p99_cpu_ms=share([cpu for _, cpu in took], 0.99),
        peak_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        vectors=semantics is not None,
    )
    codebase.close()
    if semantics is not None:
        semantics.close()
    return figures


def table(figures: Figures) -> str:
    """The figures for a reader."""
    meaning = "with vectors" if figures.vectors else "words alone"
    rows = [
        ("full index", figures.index_ms, figures.index_cpu_ms),
        ("one changed file", figures.changed_file_ms, figures.changed_file_cpu_ms),
        ("first answer", figures.first_ms, figures.first_cpu_ms),
        ("warm answer, half of them", figures.warm_p50_ms, figures.warm_p50_cpu_ms),
        ("warm answer, 99 of 100", figures.warm_p99_ms, figures.warm_p99_cpu_ms),
    ]
    head = f"{figures.lines:,} lines, {figures.files:,} files, {meaning}, peak memory {figures.peak_mb:,.0f} MB"
    return "\n".join([head, *(f"  {name:26s} {wall:10,.1f} ms  CPU {cpu:10,.1f} ms" for name, wall, cpu in rows)])


def main(arguments: argparse.Namespace) -> None:
    """Measure each size in a process of its own, or with `--one` a single size in this one."""
    if not arguments.one:
        for lines in arguments.lines:
            passed = [arg for arg in sys.argv[1:] if arg != "--one"]
            subprocess.run([sys.executable, "-m", __spec__.name, *passed, "--one", str(lines)], check=True)
        return
    folder = Path(tempfile.mkdtemp(prefix="jeeves-speed-"))
    try:
        copy_lines(Path(arguments.source), folder / "tree", arguments.one)
        figures = measure(folder / "tree", folder / "state", count=arguments.questions, words=arguments.words)
    finally:
        shutil.rmtree(folder)
    sys.stdout.write(f"{table(figures)}\n{json.dumps(asdict(figures))}\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", nargs="+", type=int, default=[100_000, 750_000])
    parser.add_argument("--source", default=sysconfig.get_path("purelib"))
    parser.add_argument("--questions", type=int, default=30)
    parser.add_argument("--words", action="store_true", help="leave meaning out")
    parser.add_argument("--one", type=int, default=0, help=argparse.SUPPRESS)
    main(parser.parse_args())
