"""Defines findings, a goal with its checked claims, and how they stand in the JSON answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from actors.capabilities.code_analysis.evidence.claims import Claim, render
from actors.capabilities.code_analysis.evidence.commits import CommitNote
from runtime.codebase.citation import Citation
from runtime.run.goals import Goal


class Finding(msgspec.Struct, frozen=True):
    """A goal and the checked claims for it."""

    goal: Goal
    claims: tuple[Claim, ...]

    def as_document(self) -> dict[str, Any]:
        """The finding as it stands in the JSON answer."""
        return {
            "goal": self.goal.text,
            "status": self.goal.status if self.claims else "open",
            "text": "\n".join(render(claim) for claim in self.claims),
            "citations": [citation_document(citation) for claim in self.claims for citation in claim.citations],
        }


def citation_document(citation: Citation) -> dict[str, Any]:
    """A citation as it stands in the JSON answer: `quote` and `why` are there, be they empty."""
    return {"quote": "", "why": "", **msgspec.to_builtins(citation)}


def cited_commits(findings: Sequence[Finding]) -> list[CommitNote]:
    """The commits that the answer tells of, each once, in the order in which it does."""
    return list(dict.fromkeys(commit for found in findings for claim in found.claims for commit in claim.commits))


def commit_document(commit: CommitNote) -> dict[str, str]:
    """A commit as it stands in the JSON answer: its whole hash, its day."""
    return {"sha": commit.hash, "author": commit.author, "date": commit.date, "subject": commit.subject}
