"""Lists the proven callers and callees of a definition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.index.reader import IndexReader
from runtime.codebase.index.records import Callee, CallsOf, ReferenceRecord, SymbolRecord
from runtime.codebase.language_parts.type_facts import Call
from runtime.codebase.language_registry import all_words, language_at, may_call
from runtime.codebase.resolution.proven_calls import CallProofs, Target
from runtime.primitives.dotted_names import last_part

MAX_CALLS = 5_000
MAX_FILES = 2_000


def callers(index: IndexReader, proofs: CallProofs, symbol: SymbolRecord, limit: int) -> CallsOf:
    """Find the calls that are proven to mean a definition; source files first, then by place.

    Calls of its name that lead elsewhere or out of the repository do not count as unproven.
    """
    # A tool asks several times in one call, and an agent for the same symbol again.
    known = proofs.callers.get(symbol)
    if known is None:
        known = _all_callers(index, proofs, symbol)
        proofs.callers.put(symbol, known, 1 + len(known.calls) + len(known.mentions))
    return replace(known, calls=known.calls[:limit], mentions=known.mentions[:limit])


def _all_callers(index: IndexReader, proofs: CallProofs, symbol: SymbolRecord) -> CallsOf:
    names = _called_names(index, symbol)
    found: list[ReferenceRecord] = []
    unproven: list[ReferenceRecord] = []
    seen: set[tuple[str, int, int]] = set()
    for name in names:
        for file, uses in _by_file(index, name).items():
            if not may_call(file, symbol.file):
                continue
            if not proofs.has_facts(file):
                told = [use for use in uses if _is_told(index, use, symbol)]
                found += told
                unproven += [use for use in uses if use not in told]
                continue
            around = {use.line: use for use in uses}
            for call in proofs.calls(file, name=name):
                if (file, call.line, call.column) in seen:
                    continue
                seen.add((file, call.line, call.column))
                meaning = proofs.meaning(file, call)
                hit = next((target for target in meaning.targets if _is(target, symbol)), None)
                if hit is not None:
                    found.append(_record(index, file, call, around.get(call.line), hit))
                elif meaning.state == "unknown" and (file, call.line) != (symbol.file, symbol.name_line):
                    use = around.get(call.line)
                    unproven.append(use or ReferenceRecord(file, call.line, call.name, "call"))
    once = {(call.file, call.line): call for call in reversed(found)}
    kept = sorted(once.values(), key=lambda call: (kind_of_path(call.file) != "source", call.file, call.line))
    mentions = [use for use in unproven if kind_of_path(use.file) != "test"]
    mentions.sort(key=lambda use: (kind_of_path(use.file) != "source", _unlikeness(use, symbol), use.file, use.line))
    return CallsOf(kept, len(unproven), len(unproven) - len(mentions), tuple(mentions))


def _unlikeness(use: ReferenceRecord, symbol: SymbolRecord) -> int:
    """Return 0 for a call on an object named like the owner of a method, 1 for an abbreviation of it, 2 for others."""
    receiver, owner = last_part(use.qualifier).strip("_").lower(), last_part(symbol.owner or "").lower()
    if not receiver or not owner:
        return 2
    if receiver in owner or owner in receiver:
        return 0
    letters = iter(owner)
    return 1 if receiver[0] == owner[0] and all(letter in letters for letter in receiver) else 2


def _called_names(index: IndexReader, symbol: SymbolRecord) -> list[str]:
    """Return the names by which a definition is called: its own, its aliases, for a constructor that of its class."""
    names = [symbol.name]
    if symbol.owner and (symbol.name in all_words("constructors") or symbol.kind == "constructor"):
        holder = index.symbol(symbol.parent_id) if symbol.parent_id is not None else None
        if holder is not None:
            names.append(holder.name)
    for name in list(names):
        aliased = index.imports("i.name = ? AND i.alias NOT IN ('', ?)", (name, name), 200)
        names += [item.alias for item in aliased]
    return list(dict.fromkeys(names))


def _by_file(index: IndexReader, name: str) -> dict[str, list[ReferenceRecord]]:
    files: dict[str, list[ReferenceRecord]] = {}
    for use in index.references("r.name = ? AND r.kind IN ('call', 'decorator')", (name,), MAX_CALLS):
        files.setdefault(use.file, []).append(use)
    return dict(list(files.items())[:MAX_FILES])


def _is(target: Target, symbol: SymbolRecord) -> bool:
    if target.symbol_id is not None:
        return target.symbol_id == symbol.id
    return (target.file, target.line) == (symbol.file, symbol.name_line)


def _record(index: IndexReader, file: str, call: Call, use: ReferenceRecord | None, target: Target) -> ReferenceRecord:
    kind = use.kind if use is not None else "call"
    enclosing = use.enclosing if use is not None else _enclosing(index, file, call.line)
    return ReferenceRecord(
        *(file, call.line, call.name, kind, use.qualifier if use is not None else "", enclosing),
        use.enclosing_id if use is not None else None,
        proof=target.proof,
    )


def _enclosing(index: IndexReader, file: str, line: int) -> str | None:
    where = "f.path = ? AND s.start_line <= ? AND s.end_line >= ? AND s.kind NOT IN ('module', 'key', 'section')"
    around = index.symbols(where, (file, line, line), 50)
    inner = min(around, key=lambda symbol: symbol.end_line - symbol.start_line, default=None)
    return inner.qualified_name if inner is not None else None


def _is_told(index: IndexReader, use: ReferenceRecord, symbol: SymbolRecord) -> bool:
    """Return True if a call can only mean a definition: this is the proof for languages without type facts.

    A bare call means a function of its own file, or of the one imported file that has it; a call of a method on the
    object itself means the one of the class around it, if that has exactly one.
    """
    language = language_at(symbol.file)
    if symbol.owner and symbol.kind != "function":
        is_own = not use.qualifier or use.qualifier in language.own_object.split()
        inside = (use.enclosing or "").rpartition(".")[0]
        own = [one for one in index.symbols_of_name(symbol.name, 200) if _is_method_of(one, symbol.name, symbol.owner)]
        return is_own and inside == symbol.owner and use.file == symbol.file and len(own) == 1
    if use.qualifier or (symbol.owner and not language.has_namespaced_functions):
        return False
    others = {other.file for other in index.symbols_of_name(symbol.name, 200) if other.name == symbol.name}
    if use.file in others:
        return use.file == symbol.file
    targets = {item.target for item in index.imports("f.path = ?", (use.file,))}
    return {file for file in others if file in targets} == {symbol.file}


def _is_method_of(one: SymbolRecord, name: str, owner: str) -> bool:
    return one.name == name and one.owner == owner and one.kind != "prototype"


def callees(index: IndexReader, proofs: CallProofs, symbol: SymbolRecord, limit: int) -> list[Callee]:
    """Return the calls in the lines of a symbol, each definition or unknown name once, by line."""
    where = "f.path = ? AND r.line BETWEEN ? AND ? AND r.kind = 'call'"
    uses = index.references(where, (symbol.file, symbol.start_line, symbol.end_line))
    if not proofs.has_facts(symbol.file):
        return list(_told_callees(index, symbol, uses))[:limit]
    qualifiers = {(use.line, use.name): use.qualifier for use in uses}
    found: dict[object, Callee] = {}
    for call in sorted(proofs.calls(symbol.file, symbol.start_line, symbol.end_line), key=_place):
        meaning = proofs.meaning(symbol.file, call)
        qualifier = qualifiers.get((call.line, call.name), "")
        definition = _definition(index, meaning.targets)
        key = definition.id if definition is not None else (call.name, qualifier, meaning.state)
        if key in found:
            continue
        proof = meaning.targets[0].proof if definition is not None else ()
        state = meaning.state if definition is not None or meaning.state != "proven" else "unknown"
        found[key] = Callee(call.name, call.line, qualifier, definition, state=state, proof=proof)
        if len(found) == limit:
            break
    return list(found.values())


def _place(call: Call) -> tuple[int, int]:
    return (call.line, call.column)


def _definition(index: IndexReader, targets: Sequence[Target]) -> SymbolRecord | None:
    ids = [target.symbol_id for target in targets if target.symbol_id is not None]
    return index.symbol(ids[0]) if ids else None


def _told_callees(index: IndexReader, symbol: SymbolRecord, uses: list[ReferenceRecord]) -> Iterator[Callee]:
    """Yield the calls of a file without type facts."""
    first = {(use.name, use.qualifier): use for use in reversed(uses)}
    for use in sorted(first.values(), key=lambda use: (use.line, use.name)):
        named = [other for other in index.symbols_of_name(use.name, 200) if other.name == use.name]
        callable_here = [other for other in named if language_at(other.file).role == "code"]
        told = [other for other in callable_here if _is_told(index, use, other) and may_call(use.file, other.file)]
        definition = told[0] if len(told) == 1 else None
        state = "proven" if definition is not None else "unknown" if named else "external"
        yield Callee(use.name, use.line, use.qualifier, definition, state=state)
