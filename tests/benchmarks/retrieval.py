"""Ranked places against a baseline, case by case, on cases with known answers.

    python -m tests.benchmarks.retrieval --scorer evaluate.py --state FOLDER [--words] CASES.jsonl IN.jsonl [...]

CASES are lines with `id`, `repo` and gold; IN are the lines of `jeeves batch` for them; the scorer has
`score(case, ranked)`. Both methods see the same index in the same run. The baseline is BM25 over the text of syntax
chunks, its first 30 fused with MiniLM by reciprocal rank (60); for localization it leaves out tests and documents.
Printed for each figure: baseline, ours, the mean difference with its 95 % bootstrap interval, and the least and
greatest mean of ours with one repository left out.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import random
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from runtime.codebase.codebase import Codebase, described
from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.files.words import query_terms
from runtime.codebase.index.records import ChunkHit
from runtime.codebase.index.service import IndexService
from runtime.codebase.index.writer import IndexOptions, refresh
from runtime.codebase.semantics.similarity import Semantics, open_semantics
from runtime.codebase.tools.locate import locate

CANDIDATES = 30
RRF_OFFSET = 60
RESAMPLES = 10_000
SHOWN = ("R@1", "R@5", "R@10", "func@10", "line@10", "MRR", "NDCG@10")

Place = dict[str, Any]


def baseline(codebase: Codebase, semantics: Semantics | None, question: str, *, source_only: bool) -> list[Place]:
    """BM25 over chunks, the first 30 fused with MiniLM by reciprocal rank; without the model BM25 alone."""
    terms = query_terms(question[:8000]).counts
    match = " OR ".join(f'"{term}"' for term in terms)
    if not match:
        return []
    rows = codebase.index.ranked_chunks(f"body : ({match})", (1.0, 0.0, 0.0, 0.0), 20 * CANDIDATES)
    hits = [ChunkHit(row[1], row[2], row[3], row[5], row[6]) for row in rows]
    if source_only:
        hits = [hit for hit in hits if kind_of_path(hit.file) not in ("test", "docs")]
    hits = hits[:CANDIDATES]
    texts = [described(hit, codebase.try_source(hit.file)) for hit in hits]
    alike = semantics.similarities(question, texts, wait=True) if semantics else None
    if alike is not None:
        by_meaning = sorted(range(len(hits)), key=lambda place: -(alike[place] or 0.0))
        scores = {place: 1 / (RRF_OFFSET + place) for place in range(len(hits))}
        for rank, place in enumerate(by_meaning):
            scores[place] += 1 / (RRF_OFFSET + rank)
        hits = [hits[place] for place in sorted(scores, key=lambda place: -scores[place])]
    return [_place(hit.file, hit.start_line, hit.end_line) for hit in hits]


def ours(codebase: Codebase, question: str) -> list[Place]:
    """What `jeeves batch --mode locate` answers."""
    found = locate(codebase, question, 20, join=True, wait=True)
    return [_place(item.file, item.start_line, item.end_line) for item in found.citations]


def _place(file: str, start: int, end: int) -> Place:
    return {"file": file, "line_start": start, "line_end": end}


def paired_interval(differences: Sequence[float], *, resamples: int = RESAMPLES) -> tuple[float, float]:
    """The middle 95 % of the means of resampled differences; the same for the same differences."""
    chance = random.Random(20)
    count = len(differences)
    means = sorted(statistics.fmean(chance.choices(differences, k=count)) for _ in range(resamples))
    return means[int(0.025 * resamples)], means[int(0.975 * resamples) - 1]


def left_out(values: Sequence[float], repos: Sequence[str]) -> tuple[float, float]:
    """The least and the greatest mean with the cases of one repository left out."""
    means = []
    for gone in set(repos):
        rest = [value for value, repo in zip(values, repos, strict=True) if repo != gone]
        means.append(statistics.fmean(rest) if rest else statistics.fmean(values))
    return min(means), max(means)


def read_lines(path: str) -> dict[str, dict[str, Any]]:
    """JSON lines by their id."""
    lines = (json.loads(text) for text in Path(path).read_text(encoding="utf-8").split("\n") if text.strip())
    return {line["id"]: line for line in lines}


def compare(cases_path: str, input_path: str, scorer: Any, state: Path, *, words: bool) -> None:
    """Print the table of one set of cases."""
    cases, inputs = read_lines(cases_path), read_lines(input_path)
    semantics = None if words else open_semantics(state / "vectors.sqlite", here=True)
    places = IndexService(state, IndexOptions())
    measured: dict[str, list[tuple[float, float, str]]] = defaultdict(list)
    took_ms = []
    for name, line in inputs.items():
        case, root = cases[name], Path(line["repo"]).resolve()
        index = places.index_path(root)
        refresh(root, index)
        codebase = Codebase.open(root, index, semantics=semantics)
        simple = baseline(codebase, semantics, line["question"], source_only="hunks" in case["gold"])
        started_s = time.perf_counter()
        found = ours(codebase, line["question"])
        took_ms.append(1000 * (time.perf_counter() - started_s))
        codebase.close()
        scores = [scorer.score(case, list(_below(case.get("root") or "", ranked))) for ranked in (simple, found)]
        for key in scores[0].keys() & scores[1].keys():
            measured[key].append((scores[0][key], scores[1][key], case["repo"]))
    if semantics is not None:
        semantics.close()
    told = "BM25 + MiniLM" if semantics is not None else "BM25 (words alone)"
    out = [
        f"\n{Path(cases_path).stem}: {len(inputs)} cases, baseline {told}, {statistics.fmean(took_ms):.0f} ms a case"
    ]
    out += [_row(key, measured[key]) for key in SHOWN if key in measured]
    sys.stdout.write("\n".join(out) + "\n")
    sys.stdout.flush()


def _below(root: str, ranked: Iterable[Place]) -> Iterable[Place]:
    prefix = root if not root or root.endswith("/") else root + "/"
    return ({**place, "file": prefix + place["file"]} for place in ranked)


def _row(key: str, values: Sequence[tuple[float, float, str]]) -> str:
    simple, found = [item[0] for item in values], [item[1] for item in values]
    low, high = paired_interval([b - a for a, b in zip(simple, found, strict=True)])
    least, most = left_out(found, [item[2] for item in values])
    mean, base = statistics.fmean(found), statistics.fmean(simple)
    return (
        f"  {key:8s} baseline {100 * base:5.1f}  ours {100 * mean:5.1f}  difference {100 * (mean - base):+5.1f} "
        f"[{100 * low:+5.1f}, {100 * high:+5.1f}]  one repository left out {100 * least:.1f} to {100 * most:.1f}"
    )


def main(arguments: Mapping[str, Any]) -> None:
    """Compare each pair of files."""
    spec = importlib.util.spec_from_file_location("scorer", arguments["scorer"])
    assert spec is not None
    assert spec.loader is not None
    scorer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(scorer)
    files = arguments["files"]
    for cases, inputs in zip(files[::2], files[1::2], strict=True):
        compare(cases, inputs, scorer, Path(arguments["state"]), words=arguments["words"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--scorer", required=True)
    parser.add_argument("--state", required=True)
    parser.add_argument("--words", action="store_true", help="leave meaning out, of both methods")
    main(vars(parser.parse_args()))
