"""Measures how like symbols are to questions: those that answer, and others of the same repository.

    python -m tests.ranking.symbol_likeness --clones FOLDER --state FOLDER

The bands of `relevance` in configs/contracts/code_change.yaml are chosen from what it prints.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from runtime.codebase.codebase import Codebase
from runtime.codebase.index.records import SymbolRecord
from runtime.codebase.index.writer import refresh
from runtime.codebase.semantics.embedding import shared_embedder
from runtime.tools.result import ToolResult
from serve.mcp.changes.symbol_meaning import symbol_text

CASES = Path(__file__).parent / "cases.jsonl"
KINDS = ("class", "constructor", "function", "interface", "method", "struct")
OTHERS = 5
SEED = 7


def pairs(clones: Path, state: Path) -> tuple[list[float], list[float]]:
    """Return the likeness of symbols that lead to an answer, and of others drawn at random."""
    drawn = random.Random(SEED)
    opened: dict[str, tuple[Codebase, list[SymbolRecord]]] = {}
    related: list[float] = []
    others: list[float] = []
    for case in map(json.loads, CASES.read_text(encoding="utf-8").splitlines()):
        name = case["repo"].replace("/", "+")
        if case.get("unanswerable") or not (clones / name).is_dir():
            continue
        if name not in opened:
            refresh(clones / name, state / f"{name}.sqlite")
            codebase = Codebase.open(clones / name, state / f"{name}.sqlite")
            known = [each for each in codebase.symbols_of_kinds(KINDS) if "test" not in each.file]
            opened[name] = codebase, known
        codebase, known = opened[name]
        leads = [codebase.symbol_at(place["file"], (place["start"] + place["end"]) // 2) for place in case["lead"]]
        answering = [each for each in leads if each is not None and each.kind in KINDS]
        likeness = _likeness(case["question"], [*answering, *drawn.sample(known, min(OTHERS, len(known)))])
        related += likeness[: len(answering)]
        others += likeness[len(answering) :]
    return related, others


def _likeness(question: str, symbols: Sequence[SymbolRecord]) -> list[float]:
    texts = [symbol_text(each.name, _found(each)) for each in symbols]
    vectors = shared_embedder().embed([question, *texts])
    return [float(value) for value in vectors[1:] @ vectors[0]]


def _found(symbol: SymbolRecord) -> ToolResult:
    row: dict[str, Any] = {"signature": symbol.signature, "docstring": symbol.docstring}
    return ToolResult("ok", {"symbols": [row]})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clones", type=Path, required=True)
    parser.add_argument("--state", type=Path, required=True)
    told = parser.parse_args()
    told.state.mkdir(parents=True, exist_ok=True)
    related, others = (np.array(values) for values in pairs(told.clones, told.state))
    print(f"{len(related)} symbols that answer, {len(others)} others")
    for bound in (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4):
        shares = f"answering {np.mean(related >= bound):.2f}, others {np.mean(others >= bound):.2f}"
        print(f"at least {bound:.2f}: {shares}")


if __name__ == "__main__":
    main()
