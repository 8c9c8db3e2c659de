"""Checks a claim against the lines that it cites: its excerpt, its quotes, and its commits."""

from __future__ import annotations

from collections.abc import Sequence

from actors.capabilities.code_analysis.evidence.claims import Claim, commit_text
from actors.capabilities.code_analysis.evidence.commits import CommitNote, invented
from runtime.codebase.codebase import Codebase
from runtime.codebase.search.prose.sentences import holds


def tells_true_commits(codebase: Codebase, claim: Claim, commits: Sequence[CommitNote]) -> bool:
    """Return whether each commit in a claim was returned by a tool and is rendered unchanged in its text."""
    if any(commit_text(commit) not in claim.text for commit in claim.commits):
        return False
    sources = [codebase.try_source(file) for file in dict.fromkeys(citation.file for citation in claim.citations)]
    shown = "\n".join(
        (*(source.text for source in sources if source), *(commit_text(commit) for commit in claim.commits))
    )
    return not invented(claim.commits, claim.text, commits, shown)


def shows_its_lines(codebase: Codebase, claim: Claim) -> bool:
    """Return whether the excerpt occurs in the lines that the claim cites, line by line and in order."""
    cited = iter([line for lines in _cited_lines(codebase, claim) for line in lines])
    return all(any(shown.strip() in line for line in cited) for shown in claim.code.split("\n"))


def holds_its_quotes(codebase: Codebase, claim: Claim) -> bool:
    """Return whether each quote stands in lines that the claim cites, as one of them or as a sentence."""
    if not claim.quotes:
        return True
    cited = _cited_lines(codebase, claim)
    return all(
        any(holds(lines, quote) or any(quote in line for line in lines) for lines in cited) for quote in claim.quotes
    )


def _cited_lines(codebase: Codebase, claim: Claim) -> list[Sequence[str]]:
    """Return the lines of each citation whose file can be read."""
    sources = [(citation, codebase.try_source(citation.file)) for citation in claim.citations]
    return [source.lines[c.start_line - 1 : c.end_line] for c, source in sources if source]
