"""How claims are worded: one short sentence each, in plain English, quoting the code's own words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from actors.capabilities.code_analysis.evidence.claims import Claim, ClaimRole, code_span, commit_text
from actors.capabilities.code_analysis.evidence.doc_text import readable
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.question.analysis import Question
from actors.capabilities.code_analysis.ranking.relevance import Entity
from runtime.codebase.citation import Citation
from runtime.codebase.files.words import index_terms
from runtime.primitives.dotted_names import last_part

MAX_EXCERPT_LINES = 16
MAX_QUOTE_CHARS = 160
MAX_MODULES = 25
SHORT_SENTENCE_CHARS = 25
MAX_SAME_NAMES = 3
# What leads is told with its second sentence as well, if both have so many characters together.
MAX_TWO_SENTENCES_CHARS = 320
# Where a quoted sentence is cut.
CUT = " …"

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`(])|\n\s*\n")
# A part of documentation that is no prose: parameters, examples, a list, what a sentence ahead announces.
_NO_PROSE = re.compile(
    r"[^\w`(\"']|(?:args|arguments|param(?:eter)?s?|attributes|examples?|returns?|raises|throws|yields|todo|notes?|see"
    r"|usage|deprecated|fixme|warnings?)\b",
    re.IGNORECASE,
)
_DOC_QUOTES = ('"""', "'" * 3)
_DEFINITION = re.compile(r"\s*(?:async\s+def|def|@)\b|\s*@")
_COMMENT = re.compile(r"\s*(?://|/\*|\*/?(?:\s|$)|#(?!\[|!|include|define|if|pragma)|--\s)")
_ORDERS = {
    "last": "{about} was changed last in {commit}",
    "before": "{commit}",
    "some": "{about} was changed in {commit}",
}
_HEAD_FILES = frozenset({"__init__.py", "index.js", "index.ts", "lib.rs", "main.go", "doc.go"})
# Values that a question may name and that no search looks for.
_LITERALS = re.compile(r"\b(?:None|True|False|null|nil|undefined|NaN|\d{2,})\b")
_KIND_WORDS = {"section": "a section", "key": "a key", "constant": "a constant", "variable": "a variable"}

# What a claim begins with that tells a line of a name without what it names.
NO_DEFINITION = "No definition of "


def first_sentence(text: str, limit: int = 220) -> str:
    """The first sentence of a docstring on one line, cut at a word when it is longer than `limit` characters.

    A very short one («Receives a Response.») is given with the next.
    """
    parts = [" ".join(part.split()) for part in _SENTENCE_END.split(readable(text), maxsplit=2)]
    sentence = parts[0] if len(parts[0]) >= SHORT_SENTENCE_CHARS else " ".join(parts[:2])
    return sentence if len(sentence) <= limit else sentence[:limit].rsplit(" ", 1)[0] + CUT


def first_two_sentences(text: str) -> str:
    """Return the first two sentences of a documentation on one line, if the second goes on and both are short enough.

    Otherwise the first one.
    """
    first = first_sentence(text)
    parts = [" ".join(part.split()) for part in _SENTENCE_END.split(readable(text), maxsplit=2)]
    if first != parts[0]:
        return first
    told = " ".join(parts[:2])
    further = told[len(first) :].strip()
    is_sentence = further.endswith((".", "!", "?")) and not first.endswith(":") and not _NO_PROSE.match(further)
    return told if is_sentence and len(told) <= MAX_TWO_SENTENCES_CHARS else first


def lead_claim(entity: Entity) -> Claim:
    """What the answer begins with: what it is, where, and what it says of itself."""
    where = code_span(entity.citation.file)
    if not entity.name:
        return _of_entity("lead", entity, f"The lines of {where} that fit best")
    return _of_entity("lead", entity, f"{_named(entity)} is {_kind(entity)} in {where}", first_two_sentences)


def related_claim(entity: Entity) -> Claim:
    """Another place that belongs to the subject."""
    return _of_entity("related", entity, f"{_named(entity)}, {_kind(entity)}")


def member_claim(fact: CodeFact, owner: str) -> Claim:
    """What a type has: a method with what it says of itself, else as it is declared."""
    name = fact.name.removeprefix(f"{owner}.")
    said, quotes = documented(fact.docstring)
    declared = code_span(_cut(" ".join(fact.signature.split()))) if fact.signature else _line(fact.citation)
    unquoted = f"{code_span(name)}: {declared}"
    if not said:
        return Claim("member", unquoted, (fact.citation,), subject=fact.name)
    text = f"{code_span(name)}{said}"
    return Claim("member", text, (fact.citation,), subject=fact.name, quotes=quotes, unquoted=unquoted)


def item_claim(entity: Entity) -> Claim:
    """One entry of a list."""
    return _of_entity("item", entity, _named(entity))


def caller_claim(fact: CodeFact) -> Claim:
    """Who uses it, with the line where it happens."""
    who = code_span(fact.name or fact.citation.file)
    return Claim("caller", f"{who}: {_line(fact.citation)}", (fact.citation,), subject=fact.name, used=fact.about)


def named_line_claim(fact: CodeFact) -> Claim:
    """The line that has a name of which no definition is known."""
    where = code_span(fact.name or fact.citation.file)
    text = f"{NO_DEFINITION}{code_span(fact.about)} was found; it stands in {where}: {_line(fact.citation)}"
    return Claim("lead", text, (fact.citation,), subject=fact.about)


def named_in_tests_claim(fact: CodeFact) -> Claim:
    """The line of the code that has a name which only tests define: which thing is meant there is not known."""
    where, name = code_span(fact.name or fact.citation.file), code_span(fact.about)
    text = f"{NO_DEFINITION}{name} outside of tests was found; it stands in {where}: {_line(fact.citation)}"
    return Claim("lead", text, (fact.citation,), subject=fact.about)


def mention_claim(fact: CodeFact) -> Claim:
    """A line that calls something of that name on an object whose type is not known: a place to read."""
    who = code_span(fact.name or fact.citation.file)
    return Claim("mention", f"{who}: {_line(fact.citation)}", (fact.citation,), subject=fact.name, used=fact.about)


def unproven_claim(definition: CodeFact, count: int, namesakes: Sequence[CodeFact], leads: Sequence[Entity]) -> Claim:
    """That further calls of its name may mean a definition, as their receiver is not known, or what else."""
    own = {lead.name for lead in leads}
    others = list({fact.name: fact for fact in namesakes if fact.name not in own}.values())[:MAX_SAME_NAMES]
    name = code_span(last_part(definition.name))
    # The lines of a definition are cited, so that the sentence speaks of it.
    text = f"This {name} may also be meant by {count} more {'call' if count == 1 else 'calls'} of that name"
    if others:
        text += f", as may {' and '.join(code_span(fact.name) for fact in others)}"
    text += "; the receiver is unknown"
    return Claim("caveat", text, (definition.citation, *(fact.citation for fact in others)))


def importer_claim(fact: CodeFact) -> Claim:
    """Who imports it."""
    return Claim("importer", f"{code_span(fact.citation.file)}: {_line(fact.citation)}", (fact.citation,))


def test_claim(fact: CodeFact) -> Claim:
    """A test that mentions it, or a file of tests that goes with where it is defined."""
    who = code_span(fact.name or fact.citation.file)
    if fact.symbol_kind == "file":
        return Claim("test", f"{who} goes with its file and does not name it", (fact.citation,), subject=fact.name)
    return Claim("test", f"{who}: {_line(fact.citation)}", (fact.citation,), subject=fact.name, used=fact.about)


def likely_test_claim(fact: CodeFact) -> Claim:
    """A test that fits what is asked, with the line of it that fits best."""
    return Claim("likely_test", f"{code_span(fact.name)}: {_line(fact.citation)}", (fact.citation,), subject=fact.name)


def test_entity_claim(entity: Entity) -> Claim:
    """A test that is named after what is asked about."""
    return _of_entity("test", entity, _named(entity))


def step_claim(fact: CodeFact, caller: str, call: Citation | None) -> Claim:
    """Something that is called on the way: the line of the call where it was read, then what is called."""
    says, quotes = documented(fact.docstring)
    citations = (fact.citation,) if call is None else (call, fact.citation)
    text = f"{code_span(caller)} calls {code_span(fact.name)}"
    return Claim("step", text + says, citations, subject=fact.name, source=caller, quotes=quotes)


def setting_claim(entity: Entity) -> Claim:
    """A place where it is configured."""
    return _of_entity("setting", entity, f"{_named(entity)}, {_kind(entity)}")


def setting_line_claim(fact: CodeFact) -> Claim:
    """A line that sets it."""
    who = code_span(fact.name or fact.citation.file)
    return Claim("setting", f"{who}: {_line(fact.citation)}", (fact.citation,), subject=fact.name)


def sets_a_value(line: str, name: str) -> bool:
    """True for a line that gives a name a value (`NAME = 1`, `"name": 1`) or asks the environment for it."""
    last = re.escape(name.rpartition(".")[2])
    if line.lstrip().startswith(("#", "//", "*", ":", ">>>", "return ", "case ")):
        return False
    is_set = re.search(rf"[\"']?\b{last}\b[\"']?\]?\s*(?::[^=:]*)?(?::=|=(?!=)|:(?!:|\s*$))", line, re.IGNORECASE)
    return is_set is not None or re.search(rf"env\w*.{{0,12}}[\"']{last}\b", line, re.IGNORECASE) is not None


def change_claim(fact: CodeFact, order: Literal["last", "before", "some"] = "some") -> Claim:
    """What a commit did to a thing: told in our words, since no file holds a commit's.

    `order`: whether it is the newest of the thing's commits, one before it, or that is not said. Lines are cited where
    they stem from the commit.
    """
    about = code_span(fact.about) if fact.about != "." else "The repository"
    if fact.commit is None:
        return Claim("change", f"Lines of {about} are changed and not committed", (fact.citation,), subject=fact.about)
    commit = commit_text(fact.commit)
    if fact.deed == "began":
        text = f"The name {code_span(fact.about.rpartition('.')[2])} first appears in {commit}"
    elif fact.deed == "ends":
        text = f"This clone is shallow and ends at {commit}; what changed {about} before cannot be told"
    else:
        text = _ORDERS[order].format(about=about, commit=commit)
    lines = (fact.citation,) if fact.deed == "wrote" else ()
    return Claim("change", text, lines, subject=fact.about, commits=(fact.commit,))


def together_claim(fact: CodeFact, is_first: bool = True) -> Claim:
    """A file that changed in the same commits as another; `is_first`: of a list about that other one."""
    assert fact.commit is not None
    times = "once" if fact.count == 1 else f"in {fact.count} commits"
    together = f" changed together with {code_span(fact.about)}" if is_first else ""
    text = f"{code_span(fact.name)}{together} {times}, last in {commit_text(fact.commit)}"
    return Claim("together", text, (), subject=fact.name, commits=(fact.commit,))


def code_claim(entity: Entity, question: Question) -> Claim | None:
    """The lines of a place that have most to do with the question, shown as they stand in the file."""
    if entity.code is None or not entity.code.text.strip():
        return None
    lines = entity.code.text.split("\n")
    first = entity.code.citation.start_line
    on_branch = _window_on_branch(entity.branch, first, lines)
    start, end = on_branch or excerpt(lines, question.terms, _LITERALS.findall(question.text))
    shown = lines[start:end]
    citation = msgspec.structs.replace(
        entity.code.citation,
        start_line=first + start,
        end_line=first + end - 1,
        quote=next((line.strip() for line in shown if line.strip()), "")[:MAX_QUOTE_CHARS],
        symbol=entity.name or None,
    )
    met = f", where the case is met from line {entity.branch[0]} on" if on_branch else ""
    return Claim("code", f"In {_named(entity)}{met}:", (citation,), code=_dedented(shown), subject=entity.name)


def module_claims(modules: Sequence[CodeFact], texts: Sequence[CodeFact]) -> list[Claim]:
    """What the repository says of itself, then its parts."""
    claims = [claim for fact in texts[:1] if (claim := _self_description(fact)) is not None]
    described = [fact for fact in modules if fact.docstring and fact.name.rsplit("/", 1)[-1] in _HEAD_FILES]
    if not claims and described:
        fact = described[0]
        said, quotes = documented(fact.docstring, 400)
        claims.append(Claim("lead", f"{code_span(fact.name)} says{said}", (fact.citation,), quotes=quotes))
    for fact in modules[:MAX_MODULES]:
        says, quotes = documented(fact.docstring)
        says = says or (f" has {fact.text}" if fact.text else "")
        claims.append(
            Claim("item", f"{code_span(fact.name)}{says}", (fact.citation,), subject=fact.name, quotes=quotes)
        )
    return claims


def _self_description(fact: CodeFact) -> Claim | None:
    """The first prose of a README."""
    words = [line.strip() for line in fact.text.split("\n") if _is_prose(line)]
    if not words:
        return None
    citation = msgspec.structs.replace(fact.citation, quote=words[0][:MAX_QUOTE_CHARS])
    said, quotes = documented(" ".join(words), 400)
    return Claim("lead", f"{code_span(citation.file)} says{said}", (citation,), quotes=quotes)


def excerpt(
    lines: Sequence[str], terms: Sequence[str], literals: Sequence[str] = (), limit: int = MAX_EXCERPT_LINES
) -> tuple[int, int]:
    """The window [start, end) of at most `limit` lines that shares most with `terms`, and `literals` as they stand.

    What few lines have says more of them than what is everywhere.

    Docstrings and the signature before one, and a comment at the head, are left out, blank lines at both ends trimmed;
    ties go to the earlier window. Never empty for non-blank lines.
    """
    in_doc = docstring_lines(lines)
    if in_doc and max(in_doc) < len(lines) - 1 and _DEFINITION.match(lines[0]):
        in_doc |= set(range(min(in_doc)))
    in_doc |= _comment_at_head(lines)
    wanted = set(terms)
    shared = [wanted.intersection(index_terms(line).split()) for line in lines]
    shared = [words | {word for word in literals if word in line} for words, line in zip(shared, lines, strict=True)]
    lines_with = Counter(word for number, words in enumerate(shared) if number not in in_doc for word in words)
    scores = [0.0 if n in in_doc or not line.strip() else 0.2 for n, line in enumerate(lines)]
    for number in range(len(lines)):
        if number not in in_doc:
            for word in shared[number]:
                scores[number] += 2 / (1 + lines_with[word] ** 0.5)
    size = min(limit, len(lines))
    first = next((n for n in range(len(lines)) if n not in in_doc and lines[n].strip()), 0)
    starts = range(min(first, len(lines) - size), len(lines) - size + 1)
    best = max(starts, key=lambda start: (sum(scores[start : start + size]), -start))
    start, end = best, best + size
    while start < end - 1 and (start in in_doc or not lines[start].strip()):
        start += 1
    while end > start + 1 and (not lines[end - 1].strip() or end - 1 in in_doc):
        end -= 1
    return start, end


def _window_on_branch(branch: Sequence[int], first: int, lines: Sequence[str]) -> tuple[int, int] | None:
    """The window [start, end) with a branch and the lines before it; None when the branch was not read."""
    if not branch or branch[0] < first or branch[-1] >= first + len(lines):
        return None
    last = branch[-1] - first + 1
    start = max(0, last - MAX_EXCERPT_LINES)
    while not lines[start].strip():
        start += 1
    return start, last


def _comment_at_head(lines: Sequence[str]) -> set[int]:
    """Positions of the comment that the lines begin with, unless there is nothing else."""
    end = next((n for n, line in enumerate(lines) if line.strip() and not _COMMENT.match(line)), 0)
    return set(range(end))


def docstring_lines(lines: Sequence[str]) -> set[int]:
    """Positions of the lines that triple-quoted strings at the start of a line take up."""
    inside: set[int] = set()
    closing: str | None = None
    for number, line in enumerate(lines):
        stripped = line.strip()
        if closing is not None:
            inside.add(number)
            if closing in stripped:
                closing = None
            continue
        quotes = next((q for q in _DOC_QUOTES if stripped.lstrip("rRbBuUfF").startswith(q)), None)
        if quotes is not None:
            inside.add(number)
            if stripped.count(quotes) == 1:
                closing = quotes
    return inside


def _named(entity: Entity) -> str:
    return code_span(entity.name or entity.citation.file)


def _kind(entity: Entity) -> str:
    if not entity.kind or entity.kind in {"chunk", "text"}:
        return "a place"
    article = "an" if entity.kind[0] in "aeiou" else "a"
    return _KIND_WORDS.get(entity.kind, f"{article} {entity.kind}")


def documented(docstring: str, limit: int = 220) -> tuple[str, tuple[str, ...]]:
    """Return the first sentence of a documentation as a quotation behind a colon, and what cited lines must hold."""
    return _quoted(first_sentence(docstring, limit))


def _quoted(said: str) -> tuple[str, tuple[str, ...]]:
    return (f": «{said}»", (said.removesuffix(CUT),)) if said else ("", ())


def _of_entity(role: ClaimRole, entity: Entity, text: str, told: Callable[[str], str] = first_sentence) -> Claim:
    """Return a claim about a place: its documentation, else its signature, else the line that fits best."""
    said, quotes = _quoted(told(entity.docstring))
    says = ""
    if entity.signature and entity.signature != f"class {entity.name}":
        says = f": {code_span(_cut(' '.join(entity.signature.split())))}"
    elif (line := _line(entity.citation)) and entity.name not in line:
        says = f": {line}"
    if not said:
        return Claim(role, text + says, (entity.citation,), subject=entity.name)
    return Claim(role, text + said, (entity.citation,), subject=entity.name, quotes=quotes, unquoted=text + says)


def _cut(text: str, limit: int = MAX_QUOTE_CHARS) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _line(citation: Citation) -> str:
    line = next((part.strip() for part in citation.quote.split("\n") if part.strip()), "")
    return code_span(_cut(line)) if line else ""


def _is_prose(line: str) -> bool:
    text = line.strip()
    return len(text) > 30 and text[0].isalpha() and not text.startswith(("http", "import ", "from "))


def _dedented(lines: Sequence[str]) -> str:
    indents = [len(line) - len(line.lstrip()) for line in lines if line.strip()]
    cut = min(indents, default=0)
    return "\n".join(line[cut:] for line in lines).rstrip()
