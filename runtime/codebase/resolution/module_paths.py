"""Follows paths through modules that are files: `crate::shop::depot::Depot`."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from runtime.codebase.language_parts.type_facts import FactImport
from runtime.codebase.resolution.type_values import Step, Value

if TYPE_CHECKING:
    from runtime.codebase.resolution.facts_store import FactsStore
    from runtime.codebase.resolution.type_evaluation import Evaluator

_ROOTS = ("lib", "main")
_HEADS = (*_ROOTS, "mod")


def path_import(evaluator: Evaluator, file: str, item: FactImport) -> Value | None:
    """Return what a path means that a file imports."""
    parts = [part for part in item.module.split("::") if part]
    if item.name and item.name != "*":
        parts.append(item.name)
    step = Step("import", file, item.line)
    if not parts:
        return None
    first, *rest = parts
    found = _start(evaluator, file, first, rest)
    for part in rest:
        if found is None:
            return None
        if found.kind == "external":
            return Value("external", name=".".join(parts))
        found = evaluator.member(found, part)
    return found and found.after(step)


def _start(evaluator: Evaluator, file: str, first: str, rest: list[str]) -> Value | None:
    store = evaluator.store
    if first == "crate":
        return Value("module", crate_root(store, file))
    if first == "self":
        return Value("module", file)
    if first == "super":
        above = _above(store, file)
        return Value("module", above) if above else None
    below = child(store, file, first)
    if below is not None:
        return Value("module", below)
    at_root = child(store, crate_root(store, file), first) if store.is_rooted(file) else None
    if at_root is not None:
        return Value("module", at_root)
    facts = store.facts(file)
    held = facts.scopes[0].bindings.get(first) if facts is not None else None
    if held is not None and rest and all(binding.kind != "import" for binding in held):
        return evaluator.bound(file, 0, held)
    return crate(store, file, first)


def crate(store: FactsStore, file: str, name: str) -> Value | None:
    """Return the root of a crate of the repository by its name; an external value for another crate."""
    for folder, declared in store.declared(store.language(file)).items():
        if declared.replace("-", "_") == name:
            for root in _ROOTS:
                path = posixpath.join(folder, "src", root + _ending(file))
                if path in store.files:
                    return Value("module", path)
            return None
    return Value("external", name=name)


def path_member(evaluator: Evaluator, owner: Value, name: str) -> Value | None:
    """Return an item of a module, a module below it, or what it hands on."""
    store = evaluator.store
    facts = store.facts(owner.file)
    if facts is None:
        return None
    if name == "super":
        above = _above(store, owner.file)
        return Value("module", above) if above else None
    held = facts.scopes[0].bindings.get(name)
    if held:
        found = evaluator.bound(owner.file, 0, held)
        if found is not None:
            return found
    below = child(store, owner.file, name)
    if below is not None:
        return Value("module", below)
    if held:
        return None
    for place in facts.stars:
        given = evaluator.imported(owner.file, place)
        if given is None or given.is_external:
            continue
        found = evaluator.member(given, name)
        if found is not None:
            return found.after(Step("import", owner.file, facts.imports[place].line))
    return None


def child(store: FactsStore, file: str, name: str) -> str | None:
    """Return the file of a module below that of a file."""
    (folder, stem), ending = _place(file), _ending(file)
    is_head = stem in _HEADS or crate_root(store, file) == file
    base = folder if is_head else posixpath.join(folder, stem)
    for path in (posixpath.join(base, name + ending), posixpath.join(base, name, "mod" + ending)):
        if path in store.files and path != file:
            return path
    return None


def _above(store: FactsStore, file: str) -> str | None:
    folder, stem = _place(file)
    if stem in _ROOTS:
        return None
    if stem == "mod":
        folder = posixpath.dirname(folder)
    ending = _ending(file)
    heads = [posixpath.join(folder, name + ending) for name in ("mod", *_ROOTS)]
    return next((path for path in (*heads, folder + ending) if path in store.files and path != file), None)


def crate_root(store: FactsStore, file: str) -> str:
    """Return the file that a crate begins with; a file without one above it is its own crate."""
    folder, _ = _place(file)
    at = folder
    while True:
        for root in _ROOTS:
            path = posixpath.join(at, root + _ending(file))
            if path in store.files:
                return path
        if not at:
            return file
        at = posixpath.dirname(at)


def _ending(file: str) -> str:
    return posixpath.splitext(file)[1]


def _place(file: str) -> tuple[str, str]:
    return posixpath.dirname(file), posixpath.splitext(posixpath.basename(file))[0]
