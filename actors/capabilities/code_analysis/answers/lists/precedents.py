"""Writes where a thing of the same sort stands, and how one was added before: new files, and the lines that others got.

Only what still stands is told; each entry cites it, and the first of a commit names the commit.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from actors.capabilities.code_analysis.answers.evidence import Evidence
from actors.capabilities.code_analysis.evidence.claims import Claim, code_span, commit_text
from actors.capabilities.code_analysis.evidence.commits import CommitNote
from actors.capabilities.code_analysis.evidence.facts import CodeFact

# Of more commits, and of more files of one, a reader learns nothing new.
MAX_COMMITS = 2
MAX_FILES = (6, 3)
MAX_LINES = 3
MAX_STANDING = 8
MAX_LINE_CHARS = 120


def precedents(evidence: Evidence) -> list[Claim]:
    """Return claims about the files of the first commits that added something of the same sort."""
    by_commit: dict[CommitNote, dict[str, list[CodeFact]]] = {}
    for fact in evidence.of("precedent"):
        if fact.commit is not None:
            by_commit.setdefault(fact.commit, {}).setdefault(fact.name, []).append(fact)
    told = list(by_commit.items())[:MAX_COMMITS]
    commits = [
        claim for most, (commit, files) in zip(MAX_FILES, told, strict=False) for claim in _told(commit, files, most)
    ]
    return [*_siblings(evidence), *commits]


def _siblings(evidence: Evidence) -> list[Claim]:
    """Return claims about one thing of the sort that is there: where it is defined, and each file that names it."""
    by_file: dict[tuple[str, str], list[CodeFact]] = {}
    for fact in evidence.of("sibling"):
        by_file.setdefault((fact.symbol_kind, fact.name), []).append(fact)
    return [_of_sibling(facts) for facts in list(by_file.values())[:MAX_STANDING]]


def _of_sibling(facts: Sequence[CodeFact]) -> Claim:
    """Return the claim about one file; that it names others as well tells that such things are listed there."""
    first = facts[0]
    file, name = code_span(first.name), code_span(first.about)
    if first.symbol_kind == "own":
        return Claim("sibling", f"{name} is defined in {file}", (first.citation,), subject=first.about)
    lists = f" (which names {first.count} of {first.of})" if first.count > 1 else ""
    return msgspec.structs.replace(_of_file(f"{file}{lists}", facts[:MAX_LINES], ()), role="sibling")


def _told(commit: CommitNote, files: dict[str, list[CodeFact]], most: int) -> list[Claim]:
    claims = []
    for place, facts in enumerate(list(files.values())[:most]):
        deed = "added" if facts[0].symbol_kind == "new" else "changed"
        who = f"`{commit.short}` also" if place else f"{commit_text(commit)} — it"
        named = () if place else (commit,)
        claims.append(_of_file(f"{who} {deed} {code_span(facts[0].name)}", facts[:MAX_LINES], named))
    return claims


def _of_file(text: str, facts: Sequence[CodeFact], commits: tuple[CommitNote, ...]) -> Claim:
    """Return the claim about one file, with those of its added lines that are short enough to be quoted."""
    lines = tuple(fact.text for fact in facts if fact.text and len(fact.text) <= MAX_LINE_CHARS)
    said = f": {', '.join(map(code_span, lines))}" if lines else ""
    citations = tuple(fact.citation for fact in facts)
    return Claim(
        "precedent", text + said, citations, subject=facts[0].name, commits=commits, quotes=lines, unquoted=text
    )
