"""Says which phase follows which: exits that apply, phases that are skipped, where it ends. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from runtime.contracts.contract import END, ESCALATION, Condition, Contract, Trait
from runtime.contracts.session_state import SessionState

# Alternating exits and skips cannot lead round in a circle longer than this.
MAX_STEPS = 200


def problems_of_start(contract: Contract, intent: str, flags: Sequence[str], gate_level: str) -> list[str]:
    """Return why a session cannot be started so; empty when it can. Flags are those of the contract, in long form."""
    problems = []
    told: set[frozenset[str]] = set()
    if intent not in contract.intents:
        problems.append(f"intent: expected one of {', '.join(contract.intents)}, not '{intent[:60]}'")
    if gate_level not in contract.gate_levels:
        problems.append(f"gate_level: expected one of {', '.join(contract.gate_levels)}, not '{gate_level[:60]}'")
    for flag in flags:
        if flag not in contract.flags:
            problems.append(f"flags: no flag is named '{flag[:60]}'; there are {', '.join(contract.flags)}")
    for flag in (flag for flag in flags if flag in contract.flags):
        for other in contract.flags[flag].excludes:
            pair = frozenset({flag, other})
            if other in flags and pair not in told:
                told.add(pair)
                problems.append(f"flags: {flag} contradicts {other}; give one of them")
    return problems


def long_flags(contract: Contract, given: Sequence[str]) -> tuple[str, ...]:
    """Return flags in their long form, each once: `-f`, `--fast`, `no-verify` and `no_verify` are understood."""
    shorts = {rule.short: name for name, rule in contract.flags.items() if rule.short}
    return tuple(dict.fromkeys(shorts.get(flag, flag.lstrip("-").replace("-", "_")) for flag in given))


def without_gate(contract: Contract, given: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """Return flags without that of the gate level, and the level, empty where none is among them.

    `--gate=full`, `-g=f` and `-g` with the level behind it are understood; a level that none begins with is returned
    as it is.
    """
    kept: list[str] = []
    level = ""
    words = iter(given)
    for word in words:
        name, _, value = word.partition("=")
        if name not in {"-g", "--gate", "gate"}:
            kept.append(word)
            continue
        value = value or next(words, "")
        named = [each for each in contract.gate_levels if value and each.startswith(value.lower())]
        level = named[0] if len(named) == 1 else value or name
    return tuple(kept), level


def has_trait(contract: Contract, flags: Sequence[str], trait: Trait) -> bool:
    """Return whether one of the flags of a session has a trait."""
    return any(contract.flags[flag].trait == trait for flag in flags if flag in contract.flags)


def skipped(contract: Contract, state: SessionState) -> frozenset[str]:
    """Return the phases that the session's flags, its intent and facts about it leave out."""
    named = [name for flag in state.flags if flag in contract.flags for name in contract.flags[flag].skips]
    named += contract.intents.get(state.intent, ())
    facts = {"no_stale_branches"} if not state.stale_branches else set()
    by_fact = {key for key, rule in contract.phases.items() if not facts.isdisjoint(rule.skip_when)}
    return contract.keys_of(named) | by_fact


def first_phase(contract: Contract, state: SessionState) -> str:
    """Return the phase in which a session begins."""
    return _not_skipped(contract.order[0], contract, skipped(contract, state))


def next_phase(contract: Contract, state: SessionState, holds: Callable[[Condition], bool]) -> str:
    """Return the phase behind the session's, given which conditions hold."""
    rule = contract.phases[state.phase]
    ends = (contract.flags[flag].ends_after for flag in state.flags if flag in contract.flags)
    if state.phase in ends:
        return END
    left_out = skipped(contract, state)
    for exit_ in rule.exits:
        if holds(exit_.when):
            if exit_.when == "moved_since_review":
                # What nobody has seen is looked at also where a flag leaves the review of the session's own commit out.
                return exit_.to
            return _of_exit(exit_.to, contract, left_out)
    return _not_skipped(rule.forward, contract, left_out)


def _of_exit(target: str, contract: Contract, left_out: Collection[str]) -> str:
    if target in left_out and contract.phases[target].skipped_to:
        target = contract.phases[target].skipped_to
    return _not_skipped(target, contract, left_out)


def _not_skipped(name: str, contract: Contract, left_out: Collection[str]) -> str:
    for _ in range(MAX_STEPS):
        if name in {END, ESCALATION} or name not in left_out:
            return name
        name = contract.phases[name].forward
    return END


def columns(contract: Contract, intent: str, flags: Sequence[str] = ()) -> Mapping[str, bool]:
    """Return for each phase whether a session of that intent with those flags may come to it, in order of steps."""
    state = SessionState("s", "r", intent, "q", contract.digest, flags=tuple(flags), stale_branches=("stale",))
    left_out = skipped(contract, state)
    return {name: name not in left_out for name in contract.order}
