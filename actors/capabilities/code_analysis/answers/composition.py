"""The answer as people read it: Markdown from checked claims, sections in the order of the goals.

Nothing enters here that is not a claim, but the headings and the sentences that say what was not found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from actors.capabilities.code_analysis.answers.absence.absent_subject import nowhere_sentence, undefined_sentence
from actors.capabilities.code_analysis.answers.confidence import level
from actors.capabilities.code_analysis.answers.diagram import call_diagram, part_diagram
from actors.capabilities.code_analysis.answers.findings import Finding
from actors.capabilities.code_analysis.answers.lists.listing import MAX_ITEMS
from actors.capabilities.code_analysis.evidence.claims import Claim, ClaimRole, code_span, plain, render
from actors.capabilities.code_analysis.evidence.steps import StepReport
from actors.capabilities.code_analysis.question.analysis import Question
from actors.capabilities.code_analysis.question.aspects import aspect_of
from actors.capabilities.code_analysis.question.kinds import QuestionKind, kind_named, kind_of
from actors.capabilities.code_analysis.question.list_wording import is_of_code
from runtime.codebase.citation import Citation
from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.files.words import query_terms
from runtime.codebase.git.git_settings import REFUSED, WOULD_WAIT
from runtime.codebase.resolution.symbol_links import normal_name
from runtime.codebase.search.presence.absence import Absence
from runtime.primitives.dotted_names import last_part

_HEADINGS: tuple[tuple[ClaimRole, str], ...] = (
    ("value", ""),
    ("choices", ""),
    ("choice", ""),
    ("lead", ""),
    ("said", ""),
    ("point", ""),
    ("code", ""),
    ("module", ""),
    ("part", "**Main parts**"),
    ("link", "**How they hang together**"),
    ("aside", ""),
    ("entry", "**Where it is entered**"),
    ("start", "**Where to start reading**"),
    ("difference", "**Differences**"),
    ("member", "**What it has**"),
    ("step", "**How it goes**"),
    ("sibling", "**Where an existing one appears**"),
    ("precedent", "**How one was added before**"),
    ("hook", "**To be written by what extends it**"),
    ("example", "**What extends it already**"),
    ("setting", "**Where it is configured**"),
    ("change", "**History**"),
    ("together", "**What changes with it**"),
    ("caller", "**Used by**"),
    ("mention", "**Mentioned by name, on an object of unknown type**"),
    ("caveat", ""),
    ("importer", "**Imported by**"),
    ("likely_test", "**Tests that fit best**"),
    ("test", "**Tests**"),
    ("item", ""),
    ("only_aside", ""),
    ("related", "**See also**"),
)

# The heading of uses of something else than what leads: right below that they would be taken for its own.
_USES_OF: dict[ClaimRole, str] = {
    "caller": "**Uses of {}**",
    "mention": "**{} mentioned by name, on an object of unknown type**",
    "test": "**Tests of {}**",
}

_FURTHER = "**Further places**"

# What is said of an aspect without claims; of uses and tests, only what a search proved of a thing (`no_uses`).
_MISSING: dict[str, str] = {
    "answer": "Nothing was found that speaks of {subject}.",
    "mechanism": "Nothing was found that shows how {subject} works.",
    "configuration": "No setting for {subject} was found.",
    "definition": "No definition of {subject} was found.",
    "listing": "Nothing to list was found.",
    "structure": "The layout could not be read.",
    "history": "No commit that changed {subject} was found.",
    "together": "No file was found that changes together with {subject}.",
    "requirements": "No dependency was found that a metadata file declares.",
}

_NO_REPOSITORY = "Its history cannot be told: the folder is no git repository with commits."
_NOT_USED = "Its history cannot be told: git's data of this folder leads out of it, or cannot be read."
_NO_ORIGIN = "The commit that brought it in was not found."
_NOT_COMMITTED = "Its history cannot be told: it is not committed to git."
_SHALLOW = "Its history cannot be told: the clone is shallow and has no commit that changed it."

# What stands ahead of all that the kind of question brings to the front.
_AHEAD: frozenset[ClaimRole] = frozenset({"value", "lead"})

DID_NOT_FIND, LIKELY = "I did not find this.", "Likely places:"
NOT_SURELY = "I did not find this for sure."
NOT_FOUND = f"{DID_NOT_FIND} {LIKELY}"
_NOTHING_YET = "Nothing worth citing had been found when the run was ended."
ROUNDS_ENDED = "This answer may be incomplete, with goals left open: {because}."


def history_reason(steps: Sequence[StepReport]) -> str:
    """Why the steps that asked git found no commit."""
    said = " ".join(str(error) for step in steps for error in step.errors)
    if "no git repository" in said:
        return _NO_REPOSITORY
    blocked = next((str(error) for step in steps for error in step.errors if WOULD_WAIT in str(error)), "")
    if blocked:
        return plain(f"Its history cannot be told: {blocked.partition(f'{REFUSED}: ')[2] or blocked}.")
    if REFUSED in said:
        return _NOT_USED
    if "not committed" in said:
        return _NOT_COMMITTED
    if any(step.is_shallow for step in steps):
        return _SHALLOW
    return "No commit was found that tells of it."


def ranked_citations(findings: Sequence[Finding]) -> list[Citation]:
    """All citations of the answer, most relevant first, each place once.

    Roles decide first (what answers the question before who uses it), then the order of the claims.
    """
    order = {role: number for number, (role, _) in enumerate(_HEADINGS)}
    order["related"] = order["step"]
    claims = [claim for finding in findings for claim in finding.claims]
    ranked: dict[tuple[str, int, int], Citation] = {}
    for claim in sorted(claims, key=lambda claim: order[claim.role]):
        for citation in claim.citations:
            ranked.setdefault((citation.file, citation.start_line, citation.end_line), citation)
    return list(ranked.values())


def compose(
    question: Question,
    findings: Sequence[Finding],
    skipped: Mapping[str, int],
    ended_by: str | None,
    remarks: Sequence[str] = (),
    reasons: Mapping[str, str] | None = None,
    failure: str | None = None,
    *,
    is_found: bool = True,
    may_be_there: bool = False,
    confidence: float | None = None,
    unanswered: Sequence[str] = (),
    absence: Absence | None = None,
    undefined: Sequence[str] = (),
    unused: Mapping[str, str] | None = None,
) -> str:
    """The answer as Markdown; says plainly what was not found, and why it may be incomplete.

    `remarks`: what it must say of its own making; left out of an answer without claims and of one that a bound ended.
    `reasons`: aspect → why nothing was found for it; `unused`: aspect → what a search proved of uses and tests.
    `failure`: the stage that failed for good and why, in words. Unless it `is_found`, the claims are listed as likely
    places (`likely_places`); if it `may_be_there`, this is said. `absence`: what of the question occurs nowhere;
    `undefined`: the names of the question, if nothing bears any of them. The `confidence` is told, and so are the
    `unanswered` parts of a question.
    """
    was_cut = ended_by is not None or failure is not None
    claims = _each_once([claim for finding in findings for claim in finding.claims])
    parts: list[str] = []
    subject = _subject(question, claims)
    why = {aspect: text.format(subject=subject) for aspect, text in _MISSING.items()}
    why |= {**(unused or {}), **(reasons or {})}
    missing = [why[aspect] for f in findings if _tells_no_use(f) and (aspect := aspect_of(f.goal)) in why]
    if not claims and not was_cut and findings and all(aspect_of(f.goal) in (reasons or {}) for f in findings):
        parts += missing
    elif not claims:
        parts.append(_NOTHING_YET if was_cut else _nothing_found(question, absence))
    told = _told_confidence(confidence) if claims and not was_cut else []
    if claims and not is_found:
        likely = _likely(claims, absence, undefined, may_be_there=may_be_there)
        return "\n\n".join((likely, *told, *_endings(skipped, remarks, failure, ended_by)))
    verdicts = _verdicts_on_relations(question, missing, unused or {}) if claims else []
    missing = [text for text in missing if text not in verdicts]
    parts += _sections(question, claims, verdicts)
    if question.asks_for_origin and claims and not any("first appears in" in claim.text for claim in claims):
        parts.append(_NO_ORIGIN)
    if claims:
        parts += [*_not_there(question, claims), *([] if _is_led_by_document(claims) else missing)]
        parts += _without_answer(unanswered)
    return "\n\n".join((*parts, *told, *_endings(skipped, remarks if claims else (), failure, ended_by)))


def _tells_no_use(finding: Finding) -> bool:
    """Return whether a goal has no claims, or none but those on imports, of which something may be said besides."""
    return all(claim.role == "importer" for claim in finding.claims)


def _sections(question: Question, claims: Sequence[Claim], verdicts: Sequence[str]) -> list[str]:
    """Return the sections of an answer, with what is proven not to be right behind the lead."""
    parts: list[str] = []
    for role, heading in _headings(question):
        of_role = [claim for claim in claims if claim.role == role]
        if of_role:
            named = _counted(_of_what(role, heading, claims), of_role) or _list_heading(question, role, of_role)
            # Below a list they would be taken for a part of it.
            parts += [_FURTHER] if role == "point" and parts and parts[-1].startswith("**") else []
            parts.append(_section(role, named, of_role))
        if role == "lead":
            parts += verdicts
        if role == "link" and question.draws_parts and (picture := part_diagram(claims)) is not None:
            parts.append(picture)
        if role == "step" and question.shows_flow and (diagram := call_diagram(of_role)) is not None:
            parts.append(diagram)
    return parts


def _subject(question: Question, claims: Sequence[Claim]) -> str:
    """Return what a question is about: the names in it, else the place that leads, else its own words."""
    names = question.identifiers or [claim.subject for claim in claims if claim.role == "lead" and claim.subject][:1]
    return plain(" or ".join(map(code_span, names)) or f"«{question.subject}»")


def _without_answer(unanswered: Sequence[str]) -> list[str]:
    return [plain(f"Nothing told here surely answers «{text.rstrip(' ?.!')}».") for text in unanswered]


def _likely(claims: Sequence[Claim], absence: Absence | None, undefined: Sequence[str], *, may_be_there: bool) -> str:
    reason = nowhere_sentence(absence) or undefined_sentence(undefined)
    told = list(filter(None, (reason, *(render(claim) for claim in claims if claim.role == "only_aside"))))
    places = [claim for claim in claims if claim.role != "only_aside"]
    # Where a word of it occurs nowhere, or only aside, that stands behind it as the reason.
    begin = NOT_SURELY if may_be_there and not told else DID_NOT_FIND
    if not places:
        return " ".join((begin, *told))
    tests = [claim for claim in places if claim.role == "likely_test"]
    section = [_section("likely_test", dict(_HEADINGS)["likely_test"], tests)] if tests else []
    shown = _shown_and_listed([claim for claim in places if claim not in tests])
    return "\n\n".join(filter(None, (" ".join((begin, *told, LIKELY)), *section, shown)))


def _told_confidence(confidence: float | None) -> list[str]:
    return [] if confidence is None else [f"Confidence: {level(confidence)} ({confidence:.2f})."]


def _endings(
    skipped: Mapping[str, int], remarks: Sequence[str], failure: str | None, ended_by: str | None
) -> list[str]:
    """Say what the answer is made of, and why it may be incomplete."""
    parts = []
    if skipped:
        listed = ", ".join(f"{count} {reason.replace('_', ' ')}" for reason, count in sorted(skipped.items()))
        parts.append(f"Not looked at: {listed}.")
    if ended_by is None and failure is None:
        parts += remarks
    if failure is not None:
        parts.append(f"This answer is partial: {failure}.")
    if ended_by is not None:
        parts.append(f"This answer is partial: the run was ended by a bound ({ended_by}).")
    return parts


def _is_led_by_document(claims: Sequence[Claim]) -> bool:
    """True when a document answers: nobody calls one, and no test mentions it."""
    lead = next((claim for claim in claims if claim.role == "lead"), None)
    return lead is not None and kind_of_path(lead.citations[0].file) == "docs"


def _headings(question: Question) -> Sequence[tuple[ClaimRole, str]]:
    """The sections in order: what the question asks for first, right behind what it is."""
    kinds = (kind_of(question), *_relations(question))
    asked = {role for kind in kinds for role in kind.first_roles}
    # Of a named thing what it is comes first; a place that words found is less than what all of a sort have in common.
    leads = {role for kind in kinds for role in kind.leading_roles if "answer" in question.aspects}
    return sorted(_HEADINGS, key=lambda section: (section[0] not in leads, section[0] not in _AHEAD | asked))


def _relations(question: Question) -> list[QuestionKind]:
    """Return the kinds of further parts that ask for a relation of what the question is about."""
    return [kind for kind in map(kind_named, question.further) if kind.of_relation]


def _verdicts_on_relations(question: Question, missing: Sequence[str], unused: Mapping[str, str]) -> list[str]:
    """Return what was proven of the uses or tests that a question asks for and that are not there."""
    asked = [kind for kind in (kind_of(question), *_relations(question)) if kind.of_relation]
    wanted = {aspect for kind in asked for aspect in kind.added or ()}
    return [text for aspect, text in unused.items() if aspect in wanted and text in missing]


def _of_what(role: ClaimRole, heading: str, claims: Sequence[Claim]) -> str:
    """Return the heading of a section, which names what is used where that is not what leads."""
    lead = next((last_part(claim.subject) for claim in claims if claim.role == "lead" and claim.subject), "")
    used = {claim.used for claim in claims if claim.role == role and claim.used}
    if role not in _USES_OF or not lead or len(used) != 1 or lead in next(iter(used)).split("."):
        return heading
    return plain(_USES_OF[role].format(code_span(next(iter(used)))))


def _list_heading(question: Question, role: ClaimRole, claims: Sequence[Claim]) -> str:
    """How many entries a list of a kind of code has, and that it may lack some where it is as long as lists are."""
    if role == "item" and kind_of(question).of_requirements:
        return _counted("**Declared dependencies**", claims)
    if role != "item" or not question.asks_for_list:
        return ""
    if not is_of_code(question.subject):
        return plain(f"**Found for «{question.subject}»**")
    total = max(claim.of for claim in claims)
    cut = f" of {total:,}" if total > len(claims) else ""
    more = ", and there may be more" if max(total, len(claims)) >= MAX_ITEMS else ""
    return plain(f"**{len(claims)}{cut} found for «{question.subject}»{more}**")


def _counted(heading: str, claims: Sequence[Claim]) -> str:
    """Return a heading with the number of entries where the list is cut: «8 of 12», «8 of more than 50»."""
    total = max(claim.of for claim in claims)
    more = any(claim.more for claim in claims)
    is_cut = heading and (total > len(claims) or more)
    return f"{heading} ({len(claims)} of {'more than ' if more else ''}{total:,})" if is_cut else heading


def _section(role: ClaimRole, heading: str, claims: list[Claim]) -> str:
    if role in {"choices", "lead", "said", "code", "module", "caveat", "aside", "only_aside"}:
        return "\n\n".join(render(claim) for claim in claims)
    if role == "point":
        return _shown_and_listed(claims)
    lines = "\n".join(f"- {render(claim)}" for claim in claims)
    return f"{heading}\n\n{lines}" if heading else lines


def _shown_and_listed(claims: Sequence[Claim]) -> str:
    """Render places: those with code one below the other, then a list of the others."""
    shown = [render(claim) for claim in claims if claim.code]
    listed = "\n".join(f"- {render(claim)}" for claim in claims if not claim.code)
    return "\n\n".join(filter(None, (*shown, listed)))


def _each_once(claims: list[Claim]) -> list[Claim]:
    """Claims without repeats of the same words about the same places; of several roles the one that comes first."""
    order = {role: number for number, (role, _) in enumerate(_HEADINGS)}
    kept: dict[tuple[str, tuple[tuple[str, int, int], ...]], Claim] = {}
    for claim in claims:
        key = (claim.text, tuple((c.file, c.start_line, c.end_line) for c in claim.citations))
        if key not in kept or order[claim.role] < order[kept[key].role]:
            kept[key] = claim
    return list(kept.values())


def tells_none_of_the_names(question: Question, findings: Sequence[Finding]) -> bool:
    """Return whether a question names something and no claim bears or mentions any of it."""
    claims = [claim for finding in findings for claim in finding.claims]
    return bool(question.identifiers) and len(_names_not_told(question, claims)) == len(question.identifiers)


def _names_not_told(question: Question, claims: Sequence[Claim]) -> list[str]:
    shown = "\n".join(f"{claim.text} {claim.code} {' '.join(c.quote for c in claim.citations)}" for claim in claims)
    return [name for name in question.identifiers if normal_name(name).rpartition(".")[2].lower() not in shown.lower()]


def _not_there(question: Question, claims: Sequence[Claim]) -> list[str]:
    """What the question names and nothing that is told bears or mentions, said in a sentence: more is not proven."""
    names = _names_not_told(question, claims)
    if not names:
        return []
    rest = "these fit best" if len(names) == len(question.identifiers) else "the answer is about the rest"
    return [plain(f"No place told here names {' or '.join(map(code_span, names))}; {rest}.")]


def _asked_words(question: Question) -> list[str]:
    """Return the words of a question that can be looked for, as they are written, each once."""
    words = dict.fromkeys(word.strip(".,;:!?()\"'`«»") for word in question.text.split())
    return [word for word in words if not query_terms(word).counts.keys().isdisjoint(question.terms)]


def _nothing_found(question: Question, absence: Absence | None) -> str:
    looked_for = ", ".join(f"`{name}`" for name in (*question.identifiers, *question.paths)[:6])
    words = ", ".join(_asked_words(question)[:8])
    what = looked_for or words or "anything in the question"
    nowhere = nowhere_sentence(absence)
    return plain(
        f"{DID_NOT_FIND} A search for {what} in symbols, text and file names found no place worth citing. "
        f"{nowhere or 'Naming a function, class, file or setting usually helps.'}"
    )
