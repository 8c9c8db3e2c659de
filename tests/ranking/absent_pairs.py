"""Makes questions about what is not there: those of one repository, asked of another that lacks their subject.

    python -m tests.ranking.absent_pairs --clones FOLDER --state FOLDER [--seed 13]

Half of the repositories that a question is put to do similar things as its own: a logging library is asked what another
one has. A pair is left out if one piece of the other repository has three of the four rarest words of the question; so
is a question that names a repository or a name of code. absent_pairs.jsonl gets ids and repositories alone.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from runtime.codebase.codebase import Codebase
from runtime.codebase.files.words import query_terms
from tests.ranking.cases import Case, read_cases
from tests.ranking.examples import open_clone

FOLDER = Path(__file__).parent
CASES, FILE = FOLDER / "cases.jsonl", FOLDER / "absent_pairs.jsonl"
SEED = 13
MAX_NEAR, MAX_OF_QUESTION = 3, 5
RAREST, MOST_TOGETHER = 4, 2
# What repositories are about: those that share a word are near each other.
SUBJECTS = {
    "DapperLib/Dapper": "data",
    "Delgan/loguru": "log",
    "apache/commons-lang": "language",
    "axios/axios": "http",
    "celery/celery": "queue",
    "coleifer/peewee": "data",
    "gabime/spdlog": "log",
    "go-resty/resty": "http",
    "google/leveldb": "data",
    "hyperium/hyper": "http server network",
    "libevent/libevent": "network server",
    "mkdocs/mkdocs": "command",
    "mochajs/mocha": "test command",
    "mockito/mockito": "test",
    "nats-io/nats.go": "queue network",
    "pmndrs/zustand": "state",
    "puma/puma": "server http",
    "rack/rack": "server http",
    "reduxjs/redux-toolkit": "state http",
    "sharkdp/bat": "command",
    "sirupsen/logrus": "log",
    "slimphp/Slim": "server http",
    "tox-dev/tox": "command test",
    "typeorm/typeorm": "data",
    "urfave/cli": "command",
}
_CODE = re.compile(r"`|[a-z][A-Z]|_\w|\.\w+\(")
_NOT_A_NAME = {"cli", "lang", "go"}


class Pair(msgspec.Struct, frozen=True):
    """Puts the question of a case to another repository; `is_near`: one about something similar."""

    case: str
    repo: str
    is_near: bool


def read_pairs(cases: Mapping[str, Case]) -> list[Case]:
    """Return the pairs of the file as cases without an answer; their form is `near` or `far`."""
    pairs = [msgspec.json.decode(line, type=Pair) for line in FILE.read_text(encoding="utf-8").splitlines()]
    return [
        msgspec.structs.replace(
            cases[pair.case], repo=pair.repo, lead=(), nuggets=(), form="near" if pair.is_near else "far"
        )
        for pair in pairs
        if pair.case in cases
    ]


def pairs_of(cases: Sequence[Case], codebases: Mapping[str, Codebase], seed: int) -> Iterator[Pair]:
    """Yield the pairs of all cases; the same seed, cases and clones give the same."""
    chooser = random.Random(seed)
    names = {part for repo in SUBJECTS for part in re.split(r"\W", repo.partition("/")[2].lower())} - _NOT_A_NAME
    shares = _shares({term for case in cases for term in query_terms(case.question).counts}, codebases)
    for case in cases:
        if names & set(re.findall(r"\w+", case.question.lower())) or _CODE.search(case.question):
            continue
        rarest = sorted(query_terms(case.question).counts, key=lambda term: (shares[term], term))[:RAREST]
        own = set(SUBJECTS[case.repo].split())
        others = [repo for repo in sorted(codebases) if repo != case.repo]
        near = [repo for repo in others if own & set(SUBJECTS[repo].split())]
        far = [repo for repo in others if repo not in near]
        chooser.shuffle(near)
        chooser.shuffle(far)
        kept = [Pair(case.id, repo, True) for repo in near if _lacks(codebases[repo], rarest)][:MAX_NEAR]
        kept += [Pair(case.id, repo, False) for repo in far if _lacks(codebases[repo], rarest)]
        yield from kept[:MAX_OF_QUESTION]


def _shares(terms: set[str], codebases: Mapping[str, Codebase]) -> dict[str, float]:
    shares = dict.fromkeys(terms, 0.0)
    for codebase in codebases.values():
        pieces = codebase.index.chunk_count()
        for term, count in codebase.index.document_counts(sorted(terms)).items():
            shares[term] += count / pieces
    return shares


def _lacks(codebase: Codebase, rarest: Sequence[str]) -> bool:
    """Return whether no piece has more than two of the rarest words of a question."""
    found: Counter[int] = Counter()
    for term in rarest:
        sql = "SELECT rowid FROM chunk_text WHERE chunk_text MATCH ?"
        found.update(piece for (piece,) in codebase.index.rows(sql, (f'"{term}"',)))
    return max(found.values(), default=0) <= MOST_TOGETHER


def main() -> None:
    """Write the pairs into the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clones", type=Path, required=True)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args()
    cases = read_cases(CASES)
    repos = sorted({case.repo for case in cases})
    codebases = {repo: open_clone(given.clones, given.state, repo.replace("/", "+")) for repo in repos}
    pairs = list(pairs_of(cases, codebases, given.seed))
    lines = [json.dumps(msgspec.to_builtins(pair)) for pair in pairs]
    FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{FILE}: {len(pairs)} pairs, {sum(pair.is_near for pair in pairs)} of them near")


if __name__ == "__main__":
    main()
