"""Loads phase contracts from YAML files and reports all faults at once, each with file, line and key."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from runtime.contracts.contract import END, ESCALATION, Contract, FieldRule
from runtime.primitives.yaml_documents import (
    Document,
    KeyPath,
    load_yaml,
    model_faults,
    parse_yaml,
    raise_faults,
)

SERVER_FACTS = frozenset({"no_stale_branches"})
MAX_FIELD_DEPTH = 4
_WORD_OF_RISK = re.compile(r"[a-z]{3,40}")
# Each pattern only adds to what is protected, so that a longer list is never a looser one.
_PROTECTED = re.compile(r"(?![!#])(?!.*(?:^|/)\.\.?(?:/|$))[^\s\\]{1,500}")


def load_contract(path: Path) -> Contract:
    """Load the contract in the YAML file `path`. Raises DocumentFaults that lists all of its faults."""
    return _checked(load_yaml(path))


def parse_contract(text: str, file: str = "<contract>") -> Contract:
    """Parse the contract in YAML `text`. Raises DocumentFaults that lists all of its faults."""
    return _checked(parse_yaml(text, file))


def _checked(document: Document) -> Contract:
    try:
        contract = Contract.model_validate(document.data)
    except ValidationError as error:
        raise_faults(model_faults(document, error))
        raise AssertionError("a refused contract has faults") from error
    raise_faults(document.fault(path, problem) for path, problem in problems_of(contract))
    return contract


def problems_of(contract: Contract) -> Iterator[tuple[KeyPath, str]]:
    """Yield what is wrong with a contract as a whole: unknown phases, tools and flags, and phases never reached."""
    yield from _unknown_phases(contract)
    yield from _unknown_tools(contract)
    yield from _unknown_flags(contract)
    yield from _fields(contract)
    yield from _words_of_risk(contract)
    yield from _protected_paths(contract)
    steps: dict[int, str] = {}
    for name, rule in contract.phases.items():
        if rule.step in steps:
            yield ("phases", name, "step"), f"{rule.step} is the step of {steps[rule.step]} already"
        steps[rule.step] = name
    for name in sorted(contract.phases.keys() - _reached(contract)):
        yield ("phases", name), "no phase leads here"
    for name in _endless(contract):
        yield ("phases", name, "forward"), f"leads round in a circle and never to {END}"


def _names(contract: Contract) -> frozenset[str]:
    return frozenset(contract.phases) | {contract.phase_name(key) for key in contract.phases}


def _unknown_phases(contract: Contract) -> Iterator[tuple[KeyPath, str]]:
    keys, names = frozenset(contract.phases) | {END}, _names(contract)
    for path, name in _mentions(contract):
        known = names if path[0] != "phases" else keys
        if path[-1] in {"skipped_to", "to"}:
            known = keys | {ESCALATION}
        if name not in known:
            yield path, f"no phase is named '{name}'"
    for tool, of_tool in contract.tools.items():
        if of_tool.since and of_tool.within:
            yield ("tools", tool), "has `since` and `within`; give one of them"


def _mentions(contract: Contract) -> Iterator[tuple[KeyPath, str]]:
    """Yield each place that names a phase."""
    for key, rule in contract.phases.items():
        yield ("phases", key, "forward"), rule.forward
        if rule.skipped_to:
            yield ("phases", key, "skipped_to"), rule.skipped_to
        for place, exit_ in enumerate(rule.exits):
            yield ("phases", key, "exits", place, "to"), exit_.to
    for intent, skipped in contract.intents.items():
        for place, name in enumerate(skipped):
            yield ("intents", intent, place), name
    for flag, of_flag in contract.flags.items():
        for place, name in enumerate(of_flag.skips):
            yield ("flags", flag, "skips", place), name
        if of_flag.ends_after:
            yield ("flags", flag, "ends_after"), of_flag.ends_after
    for tool, of_tool in contract.tools.items():
        for name in (*of_tool.within, *((of_tool.since,) if of_tool.since else ())):
            yield ("tools", tool), name


def _unknown_tools(contract: Contract) -> Iterator[tuple[KeyPath, str]]:
    for key, rule in contract.phases.items():
        for place, demand in enumerate(rule.required_tools):
            path: KeyPath = ("phases", key, "required_tools", place)
            known = [tool for tool in demand.any_of if tool in contract.tools]
            for tool in demand.any_of:
                if tool not in contract.tools:
                    yield (*path, "any_of"), f"no tool is named '{tool}'"
                elif any(name not in _names(contract) for name in _phases_named(contract, tool)):
                    continue
                elif not contract.is_permitted(tool, key):
                    yield (*path, "any_of"), f"'{tool}' may not be called in {key}"
            kinds = {contract.tools[tool].kind or tool for tool in known}
            if known and len(kinds) < demand.at_least:
                yield (*path, "at_least"), f"{demand.at_least} kinds are demanded of tools of {len(kinds)} kinds"


def _phases_named(contract: Contract, tool: str) -> tuple[str, ...]:
    rule = contract.tools[tool]
    return (*rule.within, *((rule.since,) if rule.since else ()))


def _unknown_flags(contract: Contract) -> Iterator[tuple[KeyPath, str]]:
    for flag, rule in contract.flags.items():
        for place, other in enumerate(rule.excludes):
            if other not in contract.flags:
                yield ("flags", flag, "excludes", place), f"no flag is named '{other}'"
    shorts: dict[str, str] = {}
    for flag, rule in contract.flags.items():
        if rule.short and rule.short in shorts:
            yield ("flags", flag, "short"), f"{rule.short} is the short form of {shorts[rule.short]} already"
        shorts[rule.short] = flag
    for key, phase in contract.phases.items():
        for place, name in enumerate(phase.skip_when):
            if name not in SERVER_FACTS:
                yield ("phases", key, "skip_when", place), f"'{name}' is none of: {', '.join(sorted(SERVER_FACTS))}"


def _words_of_risk(contract: Contract) -> Iterator[tuple[KeyPath, str]]:
    for place, word in enumerate(contract.high_risk.words):
        if _WORD_OF_RISK.fullmatch(word) is None:
            yield ("high_risk", "words", place), "the beginning of a word is needed: at least three small letters"


def _protected_paths(contract: Contract) -> Iterator[tuple[KeyPath, str]]:
    for place, pattern in enumerate(contract.protected_paths):
        if _PROTECTED.fullmatch(pattern) is None:
            told = "a pattern as in .gitignore is needed, without `!`, `#`, blanks, backslashes, `.` and `..`"
            yield ("protected_paths", place), told


def _fields(contract: Contract) -> Iterator[tuple[KeyPath, str]]:
    for key, phase in contract.phases.items():
        if not phase.expected_payload:
            yield ("phases", key, "expected_payload"), "demands no field"
        for name, rule in phase.expected_payload.items():
            yield from _field(("phases", key, "expected_payload", name), rule, 1)


def _field(path: KeyPath, rule: FieldRule, depth: int) -> Iterator[tuple[KeyPath, str]]:
    if rule.least > rule.most:
        yield (*path, "least"), f"{rule.least} is above the most, {rule.most}"
    if (rule.type == "choice") != bool(rule.choices):
        yield (*path, "choices"), "a choice has choices, and nothing else has"
    if rule.words and rule.type not in {"text", "texts"}:
        yield (*path, "words"), f"a field of type {rule.type} has no words"
    if rule.fields and rule.type not in {"object", "objects"}:
        yield (*path, "fields"), f"a field of type {rule.type} has no fields"
    if depth > MAX_FIELD_DEPTH:
        yield path, f"nested more than {MAX_FIELD_DEPTH} levels deep"
        return
    for name, inner in rule.fields.items():
        yield from _field((*path, "fields", name), inner, depth + 1)


def _reached(contract: Contract) -> set[str]:
    """Return the phases that some way leads to from the first."""
    waiting, reached = list(contract.order[:1]), set(contract.order[:1])
    while waiting:
        rule = contract.phases[waiting.pop()]
        # A person's answer to an escalation leads back to the plan, which an exit of the plan's successors names too.
        for name in (rule.forward, *(exit_.to for exit_ in rule.exits)):
            if name in contract.phases and name not in reached:
                reached.add(name)
                waiting.append(name)
    return reached


def _endless(contract: Contract) -> list[str]:
    """Return the phases from which skipping everything never comes to the end."""
    endless = []
    for name in contract.phases:
        seen, at = set(), name
        while at in contract.phases and at not in seen:
            seen.add(at)
            at = contract.phases[at].forward
        if at in seen:
            endless.append(name)
    return endless
