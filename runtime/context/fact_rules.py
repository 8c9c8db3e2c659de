"""Draws facts from tool output by rules: what to match, and the statement that each match becomes.

Output is hostile: it is cut to a bounded size, patterns run under a timeout, and statements are one visible line each.
A rule set applies to one tool; which tools have one is a table (`builtin_rules.py`) that capabilities extend.
"""

from __future__ import annotations

import hashlib
import string
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec
import regex as regular

from runtime.context.actions import ActionResult
from runtime.context.fields import MAX_NAME_CHARS
from runtime.context.understanding import Fact, FactCategory
from runtime.errors import CapabilityError
from runtime.primitives.visible_text import visible_line

MAX_OUTPUT_CHARS = 200_000
MAX_LINE_CHARS = 1_000
MAX_FACT_CHARS = 300
MAX_FACTS_PER_OUTPUT = 50
# The slowest built-in rule needs 0.13 s for the worst text that we found.
RULE_TIMEOUT_S = 2.0
ANY_RESULT = frozenset(ActionResult)

_OPTIONAL = regular.compile(r"\[([^\]]*)\]")
_COLOURS = regular.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")

Groups = Mapping[str, str | None]
Finder = Callable[[str], Iterable[Groups]]


class ToolOutput(msgspec.Struct, frozen=True):
    """Holds what a tool returned at a step.

    `scope` names what was verified (a check and its file, a set of tests): a newer output of the same scope replaces
    what an older one said.
    """

    tool: str
    text: str
    result: ActionResult
    step: int = 0
    scope: str = ""


class FactRule(msgspec.Struct, frozen=True):
    """Turns each match of a pattern into a fact.

    `pattern` is a regular expression (multiline) or a function that yields groups. `statement` and `subject` are
    templates over its named groups and `scope_note`; a part in brackets is left out if a group in it is empty.
    `results` limits the rule to outputs with such a result; `is_rest` leaves out matches on lines that an earlier rule
    of the set has matched, and all of a function's once any line is matched.
    """

    name: str
    pattern: str | Finder
    category: FactCategory
    statement: str
    confidence: float = 1.0
    kind: str = ""
    subject: str = ""
    results: frozenset[ActionResult] = ANY_RESULT
    is_rest: bool = False


class RuleSet(msgspec.Struct, frozen=True):
    """Holds the rules for the output of one tool, in order; `prepare` rewrites the text that they read.

    `timeout_s` is the time of each rule.
    """

    rules: tuple[FactRule, ...]
    prepare: Callable[[str], str] = str
    timeout_s: float = RULE_TIMEOUT_S


class Ruled(NamedTuple):
    """Holds the facts that rules drew, the matches left out above the bound, and the rules that ran out of time."""

    facts: tuple[Fact, ...]
    left_out: int
    timed_out: tuple[str, ...]


def extended(rule_sets: Mapping[str, RuleSet], more: Mapping[str, RuleSet]) -> Mapping[str, RuleSet]:
    """Return a table with the rule sets of a capability added; they replace those of the same tools.

    Raises CapabilityError for a pattern that does not compile, and for a template with a group that it lacks.
    """
    for tool, rule_set in more.items():
        for rule in rule_set.rules:
            _check(tool, rule)
    return {**rule_sets, **more}


def apply_rules(output: ToolOutput, rule_set: RuleSet) -> Ruled:
    """Return the facts that the rules find in an output, at most MAX_FACTS_PER_OUTPUT."""
    text = bounded(rule_set.prepare(output.text))
    claimed: set[int] = set()
    facts: dict[str, Fact] = {}
    timed_out: list[str] = []
    left_out = 0
    for rule in rule_set.rules:
        if output.result not in rule.results:
            continue
        try:
            for groups in _matches(rule, text, claimed, rule_set.timeout_s):
                made = _fact(output, rule, groups)
                if made.id in facts:
                    continue
                if len(facts) < MAX_FACTS_PER_OUTPUT:
                    facts[made.id] = made
                else:
                    left_out += 1
        except TimeoutError:
            timed_out.append(rule.name)
    return Ruled(tuple(facts.values()), left_out, tuple(timed_out))


def fact_id(step: int, source: str, statement: str, scope: str = "") -> str:
    """Return the id of a fact: the same fact of the same step has the same one, so a step done again adds nothing."""
    digest = hashlib.sha256("\0".join((source, statement, scope)).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{step}-{digest[:12]}"


def bounded(text: str) -> str:
    """Return the text with plain line ends, without colours, cut in its middle and in its long lines."""
    if len(text) > MAX_OUTPUT_CHARS:
        half = MAX_OUTPUT_CHARS // 2
        text = f"{text[:half]}\n{text[-half:]}"
    text = _COLOURS.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return "\n".join(line[:MAX_LINE_CHARS] for line in text.split("\n"))


def stated(text: str, most: int = MAX_FACT_CHARS) -> str:
    """Return a text as one visible line of bounded length."""
    line = visible_line(" ".join(text[: 4 * most].split()))
    return line if len(line) <= most else line[: most - 1] + "…"


def _matches(rule: FactRule, text: str, claimed: set[int], timeout_s: float) -> Iterator[Groups]:
    if not isinstance(rule.pattern, str):
        if not (rule.is_rest and claimed):
            yield from rule.pattern(text)
        return
    pattern = regular.compile(rule.pattern, regular.MULTILINE)
    for match in pattern.finditer(text, timeout=timeout_s, concurrent=True):
        line = text.rfind("\n", 0, match.start()) + 1
        if rule.is_rest and line in claimed:
            continue
        claimed.add(line)
        yield match.groupdict()


def _fact(output: ToolOutput, rule: FactRule, groups: Groups) -> Fact:
    values = {name: value or "" for name, value in groups.items()}
    values["scope_note"] = f" ({output.scope})" if output.scope else ""
    statement = stated(_filled(rule.statement, values)) or rule.name
    source = f"{output.tool}:{rule.name}"[:MAX_NAME_CHARS]
    return Fact(
        id=fact_id(output.step, source, statement, output.scope),
        category=rule.category,
        statement=statement,
        confidence=rule.confidence,
        source=source,
        step=output.step,
        kind=rule.kind,
        subject=stated(_filled(rule.subject, values)),
        scope=stated(output.scope),
    )


def _filled(template: str, values: Mapping[str, str]) -> str:
    def optional(part: regular.Match[str]) -> str:
        return str(part[1]) if all(values.get(name) for name in _fields(part[1])) else ""

    return str(_OPTIONAL.sub(optional, template)).format_map(values)


def _fields(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


def _check(tool: str, rule: FactRule) -> None:
    if not isinstance(rule.pattern, str):
        return
    try:
        known = {"scope_note", *regular.compile(rule.pattern, regular.MULTILINE).groupindex}
        used = _fields(rule.statement) | _fields(rule.subject)
    except (regular.error, ValueError) as error:
        raise CapabilityError(
            f"rule {rule.name!r} for the output of {tool!r} has a faulty pattern or template: {error}",
            tool=tool,
            rule=rule.name,
        ) from error
    if lacking := sorted(used - known):
        raise CapabilityError(
            f"rule {rule.name!r} for the output of {tool!r} states {', '.join(lacking)}, but its pattern has only the"
            f" groups {', '.join(sorted(known))}",
            tool=tool,
            rule=rule.name,
        )
