"""Writes how the parts of a repository hang together: what draws them together, and the imports between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from actors.capabilities.code_analysis.evidence.claims import Claim, code_span
from actors.capabilities.code_analysis.evidence.facts import CodeFact, FactKind
from runtime.codebase.citation import Citation
from runtime.codebase.language_registry import language_at
from runtime.codebase.overview.named_links import NAMING


def of_kind(facts: Sequence[CodeFact], kind: FactKind) -> list[CodeFact]:
    """Return the facts of one kind, in order."""
    return [fact for fact in facts if fact.kind == kind]


def listed(items: Sequence[str]) -> str:
    """Join items as a sentence does."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def hub_claims(facts: Sequence[CodeFact]) -> Iterator[Claim]:
    """Yield a claim about each file or part that draws the parts together, with the imports by which it does."""
    for name in dict.fromkeys(fact.about for fact in of_kind(facts, "hub")):
        own = [fact for fact in of_kind(facts, "hub") if fact.about == name]
        found, steps = [fact for fact in own if not fact.text], [fact for fact in own if fact.text]
        if found:
            yield _drawn_together(found, steps)


def _drawn_together(found: Sequence[CodeFact], steps: Sequence[CodeFact]) -> Claim:
    first, names = found[0], [_part_span(fact.name) for fact in found]
    name = "The package at the top" if first.about == "." else code_span(first.about)
    if steps:
        verb = imports(steps[-1]).removesuffix(" headers of")
        name += f", which {' by way of '.join(code_span(step.text) for step in reversed(steps))} {verb},"
    elif first.symbol_kind == "part" and first.signature:
        name += f", with {code_span(first.signature)},"
    such = f", such as {', '.join(names)}" if first.count > len(found) else f": {listed(names)}"
    text = f"{name} {imports(first)} {first.count} of {first.of} parts{such}"
    return Claim("link", text, _cited((*steps, *found)))


def entry_claims(facts: Sequence[CodeFact]) -> Iterator[Claim]:
    """Yield a claim about the calls by which a program that is started goes into its parts."""
    found = of_kind(facts, "entry_call")
    steps, calls = ([one for one in found if one.symbol_kind == kind] for kind in ("step", "call"))
    if not calls:
        return
    way = "".join(f"{code_span(step.name)}, which calls " for step in steps)
    own = [one for one in calls if one.about == calls[0].about]
    text = f"{code_span(calls[0].signature)} calls {way}in the order of its lines: {_called(own)}"
    if len(own) < len(calls):
        text += f"; {code_span(calls[-1].about)}, which it calls as well, calls {_called(calls[len(own) :])}"
    yield Claim("link", text.replace("calls in the order", "calls, in the order"), _cited(found))


def _called(calls: Sequence[CodeFact]) -> str:
    return listed([f"{code_span(one.name)} ({_part_span(one.text)})" for one in calls])


def _cited(facts: Sequence[CodeFact]) -> tuple[Citation, ...]:
    return tuple(dict.fromkeys(fact.citation for fact in facts))


def _part_span(name: str) -> str:
    """Return how a part is called; the files at the top are one package in languages that import folders."""
    return "the package at the top" if name == "." else code_span(name)


def is_told_by_hub(edge: CodeFact, facts: Sequence[CodeFact]) -> bool:
    """Return whether what draws the parts together tells an import between parts already."""
    return any(
        fact.name == edge.name
        and (fact.about == edge.about or (edge.count == 1 and fact.citation.file == edge.citation.file))
        for fact in of_kind(facts, "hub")
    )


def imports(fact: CodeFact) -> str:
    """Return how what a fact cites draws in other code: files of C include headers."""
    language = language_at(fact.citation.file)
    # Not each use of a type is an import where files need none.
    is_named = not {language.name, language_at(fact.name).name}.isdisjoint(NAMING)
    return "includes headers of" if language.family == "c" else "uses" if is_named else "imports"


def link_claim(fact: CodeFact) -> Claim:
    """Return the claim about the imports of one part by another."""
    # An import that is not resolved, as one of a macro, is not counted.
    where = "at least one file" if fact.count == 1 else f"at least {fact.count:,} files"
    source = "The package at the top" if fact.about == "." else code_span(fact.about)
    text = f"{source} {imports(fact)} {_part_span(fact.name)} in {where}"
    return Claim("link", text, (fact.citation,), subject=fact.name, source=fact.about, count=fact.count)


def without_link(facts: Sequence[CodeFact]) -> Iterator[Claim]:
    """Yield a claim that no part imports another, for a folder with several parts of code."""
    parts = [fact for fact in of_kind(facts, "part") if fact.symbol_kind != "document"]
    for language in of_kind(facts, "language")[:1] if len(parts) > 1 else ():
        text = "No import of one part by another was found; files of one package, or that a framework loads, need none"
        yield Claim("link", text, (language.citation,))
