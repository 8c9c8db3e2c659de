"""Counts how often names for blocks have the verb and the object that authors chose, by the rule that made them.

    python -m tests.naming.measure --examples FILE [--part N ...]

FILE is what `tests.naming.examples` wrote. Only functions that were put back where they are called count, and only
those whose author's name has a verb; without `--part`, of the packages that taught nothing.
"""

from __future__ import annotations

import argparse
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from actors.capabilities.violation_fix.refactoring.cutting.candidates import MIN_QUALITY
from actors.capabilities.violation_fix.refactoring.naming.learned.judgement import best_verb, judged, likely_verbs
from actors.capabilities.violation_fix.refactoring.naming.learned.verb_groups import (
    NO_VERB,
    QUESTION,
    group_of,
    verb_class,
)
from actors.capabilities.violation_fix.refactoring.naming.learned.verb_model import verb_model
from actors.capabilities.violation_fix.refactoring.naming.suggestion import SuggestedName
from tests.naming.examples import HELD_OUT, Example, object_of, part_of, read_examples

LEAST = 10
_NAMED = re.compile(
    r"^(the (?:output|attributes?|items?|loop over|settings)|what is (?:done to|added to|made of the))\b.*"
)
_BOUNDS = (0.0, 0.35, 0.5, 0.65, 0.8, 0.9, 1.01)


@dataclass
class Count:
    """Counts names, and how many agree with the author's."""

    names: int = 0
    same_verb: int = 0
    same_group: int = 0
    shared_object: int = 0

    def add(self, name: str, author: str) -> None:
        self.names += 1
        self.same_verb += verb_class(name) == verb_class(author)
        self.same_group += group_of(verb_class(name)) == group_of(verb_class(author))
        self.shared_object += bool(set(object_of(name)) & set(object_of(author)))

    def __str__(self) -> str:
        parts = (self.same_verb, self.same_group, self.shared_object)
        return " ".join([f"{self.names:6}", *(f"{part / max(1, self.names):7.2f}" for part in parts)])


def by_rule(examples: Sequence[Example]) -> dict[str, Count]:
    """Return counts of the best name of each block, by rules alone and once held against the verbs of authors."""
    counts: dict[str, Count] = defaultdict(Count)
    model = verb_model()
    for example in examples:
        verbs = likely_verbs(model.verb_probabilities(example.features))
        made = [SuggestedName(*each) for each in example.suggestions]
        best = _best(made)
        if best is not None:
            counts["rules alone"].add(best.name, example.name)
            counts[_NAMED.sub(r"\1", best.reason)].add(best.name, example.name)
        kept = _best([judged(each, verbs) for each in made])
        if kept is not None:
            counts["rules, held against the model"].add(kept.name, example.name)
        if best is not None and kept is None:
            counts["refused by the model"].add(best.name, example.name)
        verb, chance = best_verb(verbs)
        bound = max(each for each in _BOUNDS if each <= chance)
        counts[f"the model's verb, from {bound:.2f}"].add(f"_{verb}_x", example.name)
        if best is None:
            counts[f"the same, where no rule has a name, from {bound:.2f}"].add(f"_{verb}_x", example.name)
    return counts


def _best(names: Sequence[SuggestedName]) -> SuggestedName | None:
    good = [each for each in names if each.quality >= MIN_QUALITY]
    return max(good, key=lambda each: each.quality, default=None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=Path, required=True)
    parser.add_argument("--part", type=int, nargs="*", default=list(range(HELD_OUT)))
    given = parser.parse_args()
    examples = [
        each for each in read_examples(given.examples) if each.is_put_back and part_of(each.package) in given.part
    ]
    told = [each for each in examples if verb_class(each.name) not in (NO_VERB, QUESTION)]
    print(f"{len(examples)} blocks of {len({each.package for each in examples})} packages, {len(told)} with a verb")
    print(f"{'':60}  names    verb   group  object")
    for reason, count in sorted(by_rule(told).items(), key=lambda pair: (-pair[1].names, pair[0])):
        if count.names >= LEAST:
            print(f"{reason[:60]:60} {count}")


if __name__ == "__main__":
    main()
