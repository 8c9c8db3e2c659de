"""Evaluates imports, the names that a module gives to others, and names that no scope of a file binds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from runtime.codebase.language_parts.type_facts import FactImport, FileFacts
from runtime.codebase.language_parts.type_rules import ImportStyle, TypeRules
from runtime.codebase.resolution.linked_names import linked
from runtime.codebase.resolution.module_paths import crate, path_import, path_member
from runtime.codebase.resolution.type_values import Step, Value, agreed

if TYPE_CHECKING:
    from runtime.codebase.resolution.type_evaluation import Evaluator

WHOLE = "module.exports"
MAX_PACKAGE_FILES = 400


def imported(evaluator: Evaluator, file: str, place: int) -> Value | None:
    """Return what an import of a file means."""
    facts, rules = evaluator.store.facts(file), evaluator.store.rules(file)
    if facts is None or rules is None or not 0 <= place < len(facts.imports):
        return None
    return _IMPORTED[rules.imports](evaluator, file, facts.imports[place])


def exported(evaluator: Evaluator, owner: Value, name: str) -> Value | None:
    """Return what a name of a module or a folder means to those who import it."""
    rules = evaluator.store.rules(owner.file) if owner.kind == "module" else None
    if owner.kind == "folder":
        return _in_files(evaluator, evaluator.store.in_folder(owner.file), name, "")
    if owner.kind == "package":
        return _in_files(
            evaluator, evaluator.store.in_package(evaluator.store.language(owner.file), owner.name), name, owner.name
        )
    find = _EXPORTED.get(rules.imports) if rules is not None else None
    return find(evaluator, owner, name) if find is not None else None


def unbound(evaluator: Evaluator, file: str, name: str) -> Value | None:
    """Return what a name means that no scope of its file binds."""
    facts, rules = evaluator.store.facts(file), evaluator.store.rules(file)
    if facts is None or rules is None:
        return None
    if rules.imports == "text":
        return linked(evaluator, file, name)
    if rules.shares_package:
        found = _of_package(evaluator, file, facts, rules, name)
        if found is not None:
            return found
    for place in reversed(facts.stars):
        given = evaluator.imported(file, place)
        if given is not None and given.is_external and rules.unbound_is_external:
            continue
        if given is None or given.is_external:
            return None
        found = evaluator.member(given, name)
        if found is not None:
            return found.after(Step("import", file, facts.imports[place].line))
    if name.endswith(")"):
        return None
    if rules.imports == "path":
        return crate(evaluator.store, file, name)
    if name in rules.builtins or (rules.unbound_is_external and not _is_defined_elsewhere(evaluator, file, name)):
        return Value("external", name=name)
    return None


def _is_defined_elsewhere(evaluator: Evaluator, file: str, name: str) -> bool:
    """Return True if a file that is no module of its own may mean a global of another file."""
    facts = evaluator.store.facts(file)
    if facts is not None and (facts.imports or facts.scopes[0].fields):
        return False
    return any(not symbol.owner for symbol in evaluator.store.index.symbols("s.name = ?", (name,), 50))


def _of_package(evaluator: Evaluator, file: str, facts: FileFacts, rules: TypeRules, name: str) -> Value | None:
    store = evaluator.store
    if rules.shares_package == "folder":
        files = store.in_folder(file.rpartition("/")[0])
    else:
        files = store.in_package(store.language(file), facts.package)
    key = ("package", files[0] if files else file, facts.package, name)
    found = evaluator.once(key, lambda: _in_files(evaluator, files, name, facts.package))
    return found and found.after(Step("package", file, 1))


def _in_files(evaluator: Evaluator, files: list[str], name: str, package: str) -> Value | None:
    """Return what the one file of a package that binds a name means by it; None if several do."""
    values: list[Value | None] = []
    for path in files[:MAX_PACKAGE_FILES]:
        facts = evaluator.store.facts(path)
        if facts is None or (facts.package != package if package else facts.package.endswith("_test")):
            continue
        held = [one for one in facts.scopes[0].bindings.get(name, ()) if one.kind != "import"]
        if held:
            values.append(evaluator.bound(path, 0, held))
    return agreed(values) if values else None


# Python


def _module_import(evaluator: Evaluator, file: str, item: FactImport) -> Value | None:
    store = evaluator.store
    base = store.resolve(file, item.module)
    step = Step("import", file, item.line)
    if not item.name or item.name == "*":
        return Value("module", base, steps=(step,)) if base else _outside(evaluator, file, item.module)
    whole = _submodule(evaluator, file, item, base)
    if base is not None and base != file:
        found = evaluator.member(Value("module", base), item.name)
        if found is not None or _binds(evaluator, base, item.name):
            return found and found.after(step)
    if whole is not None:
        return Value("module", whole, steps=(step,))
    if base is not None:
        return None
    outside = _outside(evaluator, file, item.module)
    return outside and outside._replace(name=f"{item.module}.{item.name}")


def _submodule(evaluator: Evaluator, file: str, item: FactImport, base: str | None) -> str | None:
    found = evaluator.store.resolve(file, item.module, item.name)
    return found if found != base else None


def _binds(evaluator: Evaluator, path: str, name: str) -> bool:
    facts = evaluator.store.facts(path)
    return facts is not None and name in facts.scopes[0].bindings


def _outside(evaluator: Evaluator, file: str, module: str) -> Value | None:
    """Return a module from outside; None for one whose package the repository has."""
    if module.startswith(".") or evaluator.store.resolve(file, module.partition(".")[0]):
        return None
    return Value("external", name=module)


def _module_member(evaluator: Evaluator, owner: Value, name: str) -> Value | None:
    facts = evaluator.store.facts(owner.file)
    if facts is None:
        return None
    held = facts.scopes[0].bindings.get(name)
    if held is not None:
        return evaluator.bound(owner.file, 0, held)
    for place in reversed(facts.stars):
        given = evaluator.imported(owner.file, place)
        if given is None or given.is_external:
            return None
        found = evaluator.member(given, name)
        if found is not None:
            return found.after(Step("import", owner.file, facts.imports[place].line))
    if owner.file.rpartition("/")[2].startswith("__init__."):
        below = evaluator.store.resolve(owner.file, ".", name)
        if below is not None and below != owner.file:
            return Value("module", below)
    return None


# ECMAScript


def _exports_import(evaluator: Evaluator, file: str, item: FactImport) -> Value | None:
    target = evaluator.store.resolve(file, item.module)
    if target is None:
        return None if _may_be_inside(evaluator, item.module) else Value("external", name=f"{item.module}.{item.name}")
    module = Value("module", target, steps=(Step("import", file, item.line),))
    if item.name == "*":
        return module
    facts = evaluator.store.facts(target)
    if facts is None:
        return None
    given = facts.scopes[0].fields
    if not item.name or (item.name == "default" and "default" not in given):
        whole = given.get(WHOLE)
        if whole is None:
            return module
        found = evaluator.bound(target, 0, whole)
        return found and found.after(*module.steps)
    return evaluator.member(module, item.name)


def _may_be_inside(evaluator: Evaluator, module: str) -> bool:
    """Return True for a module that a setting of the project may lead to one of its own files."""
    if module.startswith((".", "/", "@/", "~", "#")):
        return True
    return any(path.endswith("/package.json") for path in evaluator.store.in_folder(module.rpartition("/")[2]))


def _exports_member(evaluator: Evaluator, owner: Value, name: str) -> Value | None:
    facts = evaluator.store.facts(owner.file)
    if facts is None:
        return None
    held = facts.scopes[0].fields.get(name)
    if held is not None:
        return evaluator.bound(owner.file, 0, held)
    whole = facts.scopes[0].fields.get(WHOLE)
    if whole is not None:
        found = evaluator.bound(owner.file, 0, whole)
        return found and evaluator.member(found, name)
    values = [evaluator.imported(owner.file, place) for place in facts.stars]
    found_in = [evaluator.member(value, name) for value in values if value is not None and not value.is_external]
    told = [value for value in found_in if value is not None]
    return agreed(list(told)) if told else None


# Go


def _folder_import(evaluator: Evaluator, file: str, item: FactImport) -> Value | None:
    target = evaluator.store.resolve(file, item.module)
    if target is None:
        return Value("external", name=item.module)
    return Value("folder", target.removeprefix("."), steps=(Step("import", file, item.line),))


# Java


def _type_import(evaluator: Evaluator, file: str, item: FactImport) -> Value | None:
    """Return a class by its full name, a static member of it, or a package with all of its classes."""
    store = evaluator.store
    step = Step("import", file, item.line)
    if item.name == "*" and store.in_package(store.language(file), item.module):
        return Value("package", file, name=item.module, steps=(step,))
    target = store.resolve(file, item.module)
    if target is None:
        return Value("external", name=item.module)
    facts = store.facts(target)
    parts = item.module.split(".")
    bound = facts.scopes[0].bindings if facts is not None else {}
    start = next((place for place, part in enumerate(parts) if part in bound), None)
    if start is None:
        return None
    found = evaluator.bound(target, 0, bound[parts[start]])
    members = [*parts[start + 1 :], *([item.name] if item.name and item.name != "*" else [])]
    for member in members:
        found = found and evaluator.member(found, member)
    return found and found.after(step)


_IMPORTED: dict[ImportStyle, Callable[[Evaluator, str, FactImport], Value | None]] = {
    "module": _module_import,
    "exports": _exports_import,
    "folder": _folder_import,
    "type": _type_import,
    "path": path_import,
}
_EXPORTED: dict[str, Callable[[Evaluator, Value, str], Value | None]] = {
    "module": _module_member,
    "exports": _exports_member,
    "path": path_member,
}
