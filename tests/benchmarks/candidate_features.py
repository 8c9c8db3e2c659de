"""Writes the candidates of questions with their features and labels, to train and judge rankers on.

    python -m tests.benchmarks.candidate_features --state FOLDER --out FEATURES.jsonl CASES.jsonl IN.jsonl [--words]

CASES.jsonl has the places that should lead (`lead`: [{file, start, end}]), IN.jsonl a line {id, question, repo} for
each case, with the folder of a checkout. All vectors of a repository are made first, in this process, unless `--words`
leaves meaning out. A line of the output is one case: {id, repo, names, rows, labels, places}; a label is 1 for a
candidate that overlaps a place that should lead. Printed: for how many cases a right place is among the candidates, by
words alone and in the union.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from runtime.codebase.codebase import Codebase
from runtime.codebase.index.records import ChunkHit
from runtime.codebase.index.service import IndexService
from runtime.codebase.index.writer import IndexOptions, refresh
from runtime.codebase.search.candidates import FEATURES, Candidate
from runtime.codebase.semantics.embedding import shared_embedder
from runtime.codebase.semantics.similarity import open_semantics
from runtime.codebase.semantics.vector_cache import VectorCache, WantedIndex
from runtime.codebase.semantics.vector_maker import VectorMaker
from tests.benchmarks.retrieval import read_lines


def labels_of(candidates: list[Candidate], lead: list[dict[str, Any]]) -> list[int]:
    """1 for each candidate that overlaps one of the places, else 0."""
    return [int(any(_overlaps(candidate.hit, place) for place in lead)) for candidate in candidates]


def _overlaps(hit: ChunkHit, place: dict[str, Any]) -> bool:
    return bool(hit.file == place["file"] and hit.start_line <= place["end"] and place["start"] <= hit.end_line)


def make_vectors(root: Path, index_path: Path, path: Path) -> None:
    """Make all vectors of an index that are missing."""
    cache = VectorCache(path)
    cache.want(WantedIndex(str(index_path), str(root)))
    maker = VectorMaker(shared_embedder(), cache)
    while maker.step():
        pass
    cache.close()


def write_features(cases_path: str, input_path: str, state: Path, out: Path, *, words: bool) -> None:
    """Write the lines of one set of cases, and print how many candidates are right."""
    cases, inputs = read_lines(cases_path), read_lines(input_path)
    vectors = state / "vectors.sqlite"
    semantics = None if words else open_semantics(vectors, here=True)
    places = IndexService(state, IndexOptions())
    met_by_words = met = answerable = 0
    with out.open("w", encoding="utf-8") as file:
        for name, line in inputs.items():
            root = Path(line["repo"]).resolve()
            index_path = places.index_path(root)
            refresh(root, index_path)
            if semantics is not None:
                make_vectors(root, index_path, vectors)
            codebase = Codebase.open(root, index_path, semantics=semantics)
            candidates = codebase.candidates(line["question"], wait=True)
            codebase.close()
            lead = cases[name].get("lead") or []
            labels = labels_of(candidates, lead)
            answerable += bool(lead)
            met += any(labels)
            met_by_words += any(
                label and candidate.feature("words_rank") for label, candidate in zip(labels, candidates, strict=True)
            )
            hits = [(each.hit.file, each.hit.start_line, each.hit.end_line) for each in candidates]
            rows = [[round(value, 6) for value in each.features] for each in candidates]
            told = {"id": name, "repo": cases[name]["repo"], "names": FEATURES, "rows": rows, "labels": labels}
            file.write(json.dumps({**told, "places": hits}) + "\n")
    if semantics is not None:
        semantics.close()
    print(f"{answerable} cases: a right place by words in {met_by_words}, in the union in {met}")  # noqa: T201


def main() -> None:
    """Read the arguments and write the features."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--words", action="store_true", help="leave meaning out")
    parser.add_argument("cases")
    parser.add_argument("inputs")
    given = parser.parse_args()
    write_features(given.cases, given.inputs, given.state, given.out, words=given.words)


if __name__ == "__main__":
    main()
