"""Fits how much more is believed of a small repository, in which a question's words are rarer than in those of the fit.

    python -m tests.ranking.small_repositories --clones FOLDER [--judge]

Small repositories are drawn by lot from clones: a file that a held-out question is answered in, and some other source
files. What is there: the questions answered in one of them; what is not: those of absent_held_out.jsonl about the
clone, and held-out ones about other clones. Those of the clone that other files answer count for nothing: part of
their answer may be there. Each eighth of the clones is judged by weights that never saw them; without `--judge` those
of all are written into the package as well. Vectors are made of what is likely by words, as for a first question.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from actors.capabilities.code_analysis.answers import confidence
from actors.capabilities.code_analysis.ranking.answer_order import in_answer_order
from runtime.codebase.codebase import Codebase
from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.files.walk import walk
from runtime.codebase.index.writer import refresh
from runtime.codebase.language_registry import language_named
from runtime.codebase.semantics.similarity import open_semantics
from tests.ranking.asked import ask
from tests.ranking.cases import HELD_OUT, Case, read_cases
from tests.ranking.logistic import DIGITS, Numbers
from tests.ranking.reading_trust import ABSENT, ABSENT_SHARE, FOLDS, PATIENCE_S

# Files of a small repository → how many of them are drawn from a clone.
DRAWN = {1: 4, 3: 3, 9: 2, 30: 2}
QUESTIONS_OF_EACH = 5
ABSENT_OF_EACH = 2
MOST_LINES = 600
NAMES = (confidence.SMALL, confidence.SMALL_SPOKEN_OF)
STEPS, SHRINKAGE = 200, 1.0


@dataclass(frozen=True, slots=True)
class Asked:
    """Holds the features of a question about a small repository, drawn from a clone."""

    clone: str
    files: int
    kind: str
    features: dict[str, float]

    @property
    def is_there(self) -> bool:
        """True if a file of the repository answers it."""
        return self.kind == "there"


def ask_all(clones: Path, seed: int) -> Iterator[Asked]:
    """Yield the questions about small repositories of the clones that are there."""
    lot = random.Random(seed)
    held_out = [case for case in read_cases(HELD_OUT) if (clones / case.folder).is_dir()]
    absent = read_cases(ABSENT, unanswerable=True)
    for clone in sorted({case.folder for case in held_out}):
        root = clones / clone
        own = [case for case in held_out if case.folder == clone]
        gone = [case for case in held_out if case.folder != clone]
        unsaid = [case for case in absent if case.folder == clone]
        source = [path for path in source_files(root) if line_count(root / path) <= MOST_LINES]
        leads = sorted({case.lead[0].file for case in own} & set(source))
        for files, drawn in DRAWN.items():
            for lead in lot.sample(leads, min(drawn, len(leads))):
                chosen = {lead, *lot.sample(source, min(files - 1, len(source)))}
                there = [case for case in own if case.lead[0].file in chosen]
                asked = [("there", case) for case in lot.sample(there, min(QUESTIONS_OF_EACH, len(there)))]
                asked += [("absent", case) for case in lot.sample(unsaid, min(ABSENT_OF_EACH, len(unsaid)))]
                asked += [("other", case) for case in lot.sample(gone, ABSENT_OF_EACH)]
                for kind, features in _asked_of(root, chosen, asked):
                    yield Asked(clone, files, kind, features)


def source_files(root: Path) -> list[str]:
    """Return the paths of source files below a folder, in their order; tests and others' code are left out."""
    return [
        entry.path
        for entry in walk(root).entries
        if entry.skip_reason is None
        and language_named(entry.language).role == "code"
        and kind_of_path(entry.path) == "source"
    ]


def line_count(path: Path) -> int:
    """Return the number of lines of a file."""
    return path.read_bytes().count(b"\n")


def _asked_of(
    root: Path, chosen: set[str], cases: Sequence[tuple[str, Case]]
) -> Iterator[tuple[str, dict[str, float]]]:
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "small"
        for path in chosen:
            (small / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(root / path, small / path)
        refresh(small, Path(folder) / "index.sqlite")
        codebase = Codebase.open(small, Path(folder) / "index.sqlite")
        codebase.semantics = open_semantics(Path(folder) / "vectors.sqlite", here=True)
        for kind, case in cases:
            codebase.embed_likely(case.question, PATIENCE_S)
            asked = ask(case, codebase)
            features = confidence.all_features(
                case.question, in_answer_order(asked.facts), asked.facts, asked.absence, codebase.meaning
            )
            # Without any place nothing is there, whatever is fitted.
            if any(features.values()):
                yield kind, features
        codebase.close()


def fit(asked: Sequence[Asked]) -> dict[str, float]:
    """Return what is added to the log-odds of presence, by feature; none below 0."""
    asked = [one for one in asked if one.features["present"]]
    weights = confidence.weights_of_models()
    odds = np.array(
        [confidence.log_odds(confidence.model_of(one.features, "there", weights), one.features) for one in asked]
    )
    rows = np.array([[one.features[name] for name in NAMES] for one in asked])
    there = np.array([one.is_there for one in asked], float)
    rates = np.where(there, 1.0, ABSENT_SHARE / (1 - ABSENT_SHARE) * there.sum() / max(1.0, (1 - there).sum()))
    found: Numbers = np.zeros(len(NAMES))
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-odds - rows @ found))
        slope = rows.T @ (rates * (there - chance)) - SHRINKAGE * found
        curve = (rows * (rates * chance * (1 - chance))[:, None]).T @ rows + SHRINKAGE * np.eye(len(NAMES))
        found = np.maximum(found + np.linalg.solve(curve, slope), 0.0)
    return {name: round(float(weight), DIGITS) for name, weight in zip(NAMES, found, strict=True)}


def judge(asked: Sequence[Asked]) -> None:
    """Print how many questions of each kind are called not found, without these weights and with them."""
    clones = sorted({one.clone for one in asked})
    weights = confidence.weights_of_models()
    print("| files | question | asked | called not found, without | with |\n|--:|---|--:|--:|--:|")
    found: dict[int, tuple[bool, bool]] = {}
    for fold in range(min(FOLDS, len(clones))):
        of_fold = {clone for number, clone in enumerate(clones) if number % FOLDS == fold}
        of_others = fit([one for one in asked if one.clone not in of_fold])
        for number, one in enumerate(asked):
            if one.clone in of_fold:
                before, now = (
                    confidence.trust_in(one.features, {**weights, confidence.IN_SMALL: added}).is_found
                    for added in ({}, of_others)
                )
                found[number] = not before, not now
    for files in DRAWN:
        for kind in ("there", "absent", "other"):
            own = [found[number] for number, one in enumerate(asked) if (one.files, one.kind) == (files, kind)]
            if own:
                shares = [f"{100 * sum(refused) / len(own):.0f} %" for refused in zip(*own, strict=True)]
                print(f"| {files} | {kind} | {len(own)} | {' | '.join(shares)} |")


def main() -> None:
    """Judge, and fit unless the command line says otherwise."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clones", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--judge", action="store_true")
    given = parser.parse_args()
    asked = list(ask_all(given.clones, given.seed))
    judge(asked)
    if given.judge:
        return
    kept = json.loads(confidence.FILE.read_text(encoding="utf-8"))
    kept["weights"][confidence.IN_SMALL] = fit(asked)
    kept["repositories"]["in_small"] = sorted({one.clone.replace("+", "/") for one in asked})
    confidence.FILE.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    print(f"{confidence.FILE}: {len(asked)} questions, {kept['weights'][confidence.IN_SMALL]}")


if __name__ == "__main__":
    main()
