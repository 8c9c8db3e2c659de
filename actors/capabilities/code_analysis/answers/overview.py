"""Writes what a repository or folder is, how it is built, how it is entered, and where to begin reading.

What it is for is quoted, a part is described by its own sentence or by the names that others use of it, and how parts
hang together is told by what the entry imports and by counted imports. A list that is cut carries the number of all
(`Claim.of`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from actors.capabilities.code_analysis.answers.overview_links import (
    entry_claims,
    hub_claims,
    imports,
    is_told_by_hub,
    link_claim,
    listed,
    of_kind,
    without_link,
)
from actors.capabilities.code_analysis.evidence.claims import Claim, ClaimRole, code_span
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.question.overview_wording import Focus

MAX_LINKS, MAX_LINKS_BESIDE_HUB = 5, 3
MAX_DRAWN = 16
MAX_ENTRIES = 5
MAX_ASIDES = 8
MAX_DEPENDING = 2
MAX_TAKEN_OVER = 3
_LANGUAGES = {
    **{
        "cpp": "C++",
        "c_sharp": "C#",
        "javascript": "JavaScript",
        "typescript": "TypeScript",
        "tsx": "TypeScript (JSX)",
    },
    **{"php": "PHP", "sql": "SQL", "jsx": "JavaScript (JSX)", "objective_c": "Objective-C", "fsharp": "F#"},
}
_ASIDES = {
    **{"test": "tests", "docs": "documents", "example": "examples", "benchmark": "benchmarks"},
    **{"script": "scripts and programs beside it"},
    **{"vendored": "vendored code", "generated": "generated code", "changelog": "changelogs"},
    **{"translation": "translations", "declaration": "type declarations", "contributed": "contributed code"},
}


def overview_claims(facts: Sequence[CodeFact], focus: Focus = "all", *, draws: bool = False) -> list[Claim]:
    """Return the claims about a folder; with `draws`, all imports between parts that were found.

    `focus`: only those about its entries, where to start, or its languages and dependencies.
    """
    purposes = [_purpose(fact, "lead" if not place else "said") for place, fact in enumerate(of_kind(facts, "purpose"))]
    entries = [_entry(fact) for fact in of_kind(facts, "entry")][:MAX_ENTRIES]
    starts = [_start(fact) for fact in of_kind(facts, "reading")]
    if focus == "entries" and entries:
        return entries
    entries = entries or list(_without_entry(facts))
    if focus == "entries" and entries:
        return [*entries, *starts]
    if focus == "start" and starts:
        return [*purposes[:1], *starts]
    if focus == "languages":
        return [*_languages(facts, "lead"), *(_dependency(fact) for fact in of_kind(facts, "dependency"))]
    about = [*_languages(facts, "said" if purposes else "lead")]
    parts: list[Claim] = [_part(fact, facts) for fact in of_kind(facts, "part")]
    hub = list(hub_claims(facts))
    links = [link_claim(fact) for fact in of_kind(facts, "edge") if draws or not is_told_by_hub(fact, facts)]
    most = MAX_LINKS_BESIDE_HUB if hub else MAX_LINKS
    links = [*hub, *links[: MAX_DRAWN if draws else most]] or list(without_link(facts))
    links = [*entry_claims(facts), *links]
    needed = [_dependency(fact) for fact in of_kind(facts, "dependency")[:MAX_DEPENDING]]
    return [
        *purposes,
        *about,
        *needed,
        *parts,
        *links,
        *_further(facts),
        *_asides(facts),
        *_taken_over(facts),
        *entries,
        *starts,
    ]


def _purpose(fact: CodeFact, role: ClaimRole) -> Claim:
    text = f"{code_span(fact.citation.file)} says: «{fact.text}»"
    return Claim(role, text, (fact.citation,), quotes=(fact.text,))


def _languages(facts: Sequence[CodeFact], role: ClaimRole) -> Iterator[Claim]:
    """Yield one claim about the languages, with the largest file in each."""
    found = of_kind(facts, "language")
    if not found:
        documents = [fact for fact in of_kind(facts, "part") if fact.symbol_kind == "document"]
        if documents and role == "lead":
            text = f"It holds documents and no code, such as {code_span(documents[0].name)}"
            yield Claim(role, text, (documents[0].citation,))
        return
    told = [f"{_language(fact.name)} ({fact.count:,} of {fact.of:,} lines)" for fact in found]
    in_language = f" in {_language(found[0].name)}" if found[0].count < found[0].of else ""
    text = f"Its source is {listed(told)}; the largest file{in_language} is {code_span(found[0].about)}"
    yield Claim(role, text, (found[0].citation,))


def _language(name: str) -> str:
    return _LANGUAGES.get(name, name.replace("_", " ").capitalize())


def _part(fact: CodeFact, facts: Sequence[CodeFact]) -> Claim:
    """Tell what a part says of itself, else which names it defines, else its size."""
    name = code_span(fact.name)
    sized = f"{name} ({_files(fact.count)})" if fact.symbol_kind == "folder" else name
    if fact.text:
        return _described_part(fact, sized, facts)
    alike = [other for other in of_kind(facts, "part_alike") if other.about == fact.name]
    used = [
        other for other in of_kind(facts, "part_name") if other.about == fact.name and other.name not in _names(alike)
    ]
    if not used and not alike:
        return Claim("part", sized, (fact.citation,), subject=fact.name, of=fact.of)
    citations = tuple(other.citation for other in (*alike, *used))
    if not alike and all(other.symbol_kind == "file" for other in used):
        largest = listed([code_span(other.name) for other in used])
        text = f"{sized}, the largest of which {'is' if len(used) == 1 else 'are'} {largest}"
        return Claim("part", text, citations, subject=fact.name, of=fact.of)
    told = [f"{code_span(other.name)} in {other.count} of them" for other in alike]
    first = next((other for other in used if other.count), None)
    told += [_used(other, is_first=other is first) for other in used]
    return Claim("part", f"{sized} defines {listed(told)}", citations, subject=fact.name, of=fact.of)


def _further(facts: Sequence[CodeFact]) -> list[Claim]:
    """Return a claim that names the next parts by weight, of which nothing is said."""
    found = of_kind(facts, "part_further")
    if not found:
        return []
    text = f"Further parts: {listed([code_span(fact.name) for fact in found])}"
    return [Claim("aside", text, tuple(fact.citation for fact in found))]


def _described_part(fact: CodeFact, sized: str, facts: Sequence[CodeFact]) -> Claim:
    """Tell the sentence of a part, or of a definition in it; of a folder, which others it defines as well."""
    others = [
        other
        for other in of_kind(facts, "part_name")
        if other.about == fact.name and fact.about not in ("", other.name)
    ]
    defines = f" defines {code_span(fact.about)}" if fact.about else ""
    further = f"; also {listed([code_span(other.name) for other in others])}" if others else ""
    text = f"{sized}{defines}: «{fact.text}»{further}"
    citations = (fact.citation, *(other.citation for other in others))
    return Claim("part", text, citations, subject=fact.name, quotes=(fact.text,), of=fact.of)


def _names(facts: Sequence[CodeFact]) -> set[str]:
    return {fact.name for fact in facts}


def _used(fact: CodeFact, *, is_first: bool) -> str:
    name = code_span(fact.name)
    if not fact.count:
        return name
    # Not all ways to name a thing are known, in macros, say.
    return f"{name} (named in at least {_files(fact.count)} outside of it)" if is_first else f"{name} ({fact.count})"


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count:,} files"


def _entry(fact: CodeFact) -> Claim:
    file, name = code_span(fact.citation.file), code_span(fact.name)
    if fact.symbol_kind == "command":
        runs = f", which runs {code_span(fact.signature)}" if fact.signature else ""
        text = f"{file} declares the command {name}{runs}"
    elif fact.symbol_kind == "main":
        text = f"{file} has the function {name}, where a program starts"
    elif fact.symbol_kind == "exports":
        names = fact.text.split()
        more = f" ({len(names)} of {fact.count})" if fact.count > len(names) else ""
        text = f"{file} exports {listed([code_span(each) for each in names])}{more}"
    elif fact.symbol_kind == "server":
        text = f"{file} sets {name}, which a web server loads"
    elif fact.symbol_kind == "container":
        text = f"{file} starts {name}"
    elif fact.symbol_kind == "documented":
        where = f"in at least {fact.count} lines, {file} for one"
        text = f"The documents use {name} of {code_span(fact.signature)} {where}"
    elif fact.symbol_kind == "namesake":
        text = f"{file} defines {name}, which is called as the whole is"
    else:
        text = f"{file} can be run as a program"
    return Claim("entry", text, (fact.citation,), subject=fact.name, of=fact.of)


def _dependency(fact: CodeFact) -> Claim:
    names = fact.text.split()
    more = f" ({len(names)} of {fact.count})" if fact.count > len(names) else ""
    text = f"{code_span(fact.name)} declares as dependencies {listed([code_span(name) for name in names])}{more}"
    return Claim("said", text, (fact.citation,))


def _start(fact: CodeFact) -> Claim:
    """Tell where to begin reading, and why there."""
    name, file = code_span(fact.name), code_span(fact.citation.file)
    reasons = {
        "document": f"{name}: by its name it is about the design",
        "main": f"{file}: a program starts in {name}",
        "exports": f"{name}: it exports what users of the package call",
        "namesake": f"{file}: it defines {name}, which is called as the whole is",
        "command": f"{name}: a declared command runs it",
        "imported": f"{name}: at least {_files(fact.count)} of the source {_draw_in(fact)} it, {file} for one",
        "largest": f"{name}: the largest source file, {fact.count:,} lines",
    }
    return Claim("start", reasons.get(fact.symbol_kind, name), (fact.citation,), subject=fact.name)


def _draw_in(fact: CodeFact) -> str:
    """Return how files draw in another one: where languages need no import, they use what it defines."""
    verb = imports(fact)
    return "use" if verb == "uses" else "include" if verb == "includes headers of" else "import"


def _without_entry(facts: Sequence[CodeFact]) -> Iterator[Claim]:
    """Yield a claim that no way into the whole was found, and what was looked for; none for one without code."""
    for fact in [fact for fact in of_kind(facts, "language") if fact.symbol_kind == "whole"][:1]:
        text = (
            "No entry point was found: no declared command, function `main`, exporting file, program or server;"
            f" the largest source file is {code_span(fact.about)}"
        )
        yield Claim("entry", text, (fact.citation,), subject=fact.about)


def _taken_over(facts: Sequence[CodeFact]) -> Iterator[Claim]:
    """Yield a claim for each folder with code of others, by the words of its licence."""
    for fact in [fact for fact in of_kind(facts, "aside") if fact.symbol_kind == "taken_over"][:MAX_TAKEN_OVER]:
        text = (
            f"It includes code taken over from others in {code_span(fact.name)} ({_files(fact.count)}): «{fact.text}»"
        )
        yield Claim("aside", text, (fact.citation,), subject=fact.name, quotes=(fact.text,))


def _asides(facts: Sequence[CodeFact]) -> Iterator[Claim]:
    """Yield one claim about the folders that are no parts, the largest of each kind."""
    by_kind: dict[str, list[CodeFact]] = {}
    for fact in of_kind(facts, "aside"):
        if fact.symbol_kind == "taken_over":
            continue
        by_kind.setdefault(fact.symbol_kind, []).append(fact)
    told, citations = [], []
    for kind, found in list(by_kind.items())[:MAX_ASIDES]:
        others = f" and {len(found) - 1} more" if len(found) > 1 else ""
        told.append(f"{_ASIDES.get(kind, kind)} in {code_span(found[0].name)} ({_files(found[0].count)}){others}")
        citations.append(found[0].citation)
    if told:
        yield Claim("aside", f"Not parts of it: {'; '.join(told)}", tuple(citations))
