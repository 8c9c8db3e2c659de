"""Checks a claim against the lines that it cites: its excerpt, its quotes, and its commits."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from actors.capabilities.code_analysis.evidence.claims import Claim, commit_text
from actors.capabilities.code_analysis.evidence.commits import CommitNote, invented
from runtime.codebase.codebase import Codebase
from runtime.codebase.search.prose.sentences import ELLIPSIS, holds

CUT = ELLIPSIS.rstrip()
# What is quoted may hold such marks itself.
_QUOTED = re.compile(r"«((?:[^«»]|«[^«»]*»)*)»")
_INTRODUCTION = re.compile(r"On «([^«»]*)»: ")
# What is told of a thing as its documentation without marks of a quotation, as rules wrote it in older logs.
_DOCUMENTED = re.compile(
    r"(?:The lines of )?(?P<a>`+)(?:(?!(?P=a)).)+(?P=a)"
    r"(?: is an? [\w ]+ in (?P<b>`+)(?:(?!(?P=b)).)+(?P=b)|, an? [\w ]+| says| that fit best)?"
    r": (?![`«])(?P<said>.+)$",
    re.DOTALL,
)
# What rules say in their own words of where to begin reading.
_REASON = re.compile(
    r"by its name it is about the design|it exports what users of the package call"
    r"|the largest source file, [\d,]+ lines"
    r"|(?:at least )?[\d,]+ files? of the source (?:import|include|use) it, `[^`]+` for one|a program starts in `[^`]+`"
    r"|a declared command runs it"
    r"|it defines `[^`]+`, which is called as the whole is"
)


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
    """Return whether the excerpt occurs in the lines that the claim cites, line by line and in the order of the files.

    A line of «…» stands for lines that are left out.
    """
    files = list(dict.fromkeys(citation.file for citation in claim.citations))
    ordered = sorted(claim.citations, key=lambda citation: (files.index(citation.file), citation.start_line))
    in_order = msgspec.structs.replace(claim, citations=tuple(ordered))
    cited = iter([line for lines in _cited_lines(codebase, in_order) for line in lines])
    told = (shown.strip() for shown in claim.code.split("\n"))
    return all(shown == CUT.strip() or any(shown in line for line in cited) for shown in told)


def holds_its_quotes(codebase: Codebase, claim: Claim, asked: str = "", *, by_model: bool = False) -> bool:
    """Return whether each quote stands in lines that the claim cites, as one of them or as a sentence.

    Of the text itself, what stands between the marks of a quotation counts, and what is told as documentation; a part
    of the question, `asked`, may be quoted ahead of it. The text that a model wrote is left to its judge.
    """
    quotes = [*claim.quotes, *([] if by_model else _told_quotes(claim.text, asked))]
    if not quotes:
        return True
    cited = _cited_lines(codebase, claim)
    return all(any(holds(lines, quote) or any(quote in line for line in lines) for lines in cited) for quote in quotes)


def told_with_lines(codebase: Codebase, claim: Claim) -> Claim:
    """Return a claim without its quotation where the cited lines do not hold that, if it can be told so."""
    if not claim.unquoted or holds_its_quotes(codebase, claim):
        return claim
    return msgspec.structs.replace(claim, text=claim.unquoted, quotes=(), unquoted="")


def _told_quotes(text: str, asked: str) -> list[str]:
    """Return what a sentence of the rules quotes: between the marks of a quotation, or behind what it names."""
    intro = _INTRODUCTION.match(text)
    if intro is not None and intro[1].removesuffix(CUT) in " ".join(asked.split()):
        text = text[intro.end() :]
    spans = [found[1] for found in _QUOTED.finditer(text)]
    if (told := _DOCUMENTED.match(text)) is not None and not _REASON.fullmatch(told["said"]):
        spans.append(told["said"])
    return [part for span in spans for part in span.removesuffix(CUT).split(ELLIPSIS) if part.strip()]


def _cited_lines(codebase: Codebase, claim: Claim) -> list[Sequence[str]]:
    """Return the lines of each citation whose file can be read."""
    sources = [(citation, codebase.try_source(citation.file)) for citation in claim.citations]
    return [source.lines[c.start_line - 1 : c.end_line] for c, source in sources if source]
