"""Follows type facts from an expression to what it is known to be.

    value = Evaluator(store).value(file, scope, expression)

Nothing is executed and nothing is guessed: where two bindings disagree, a base is unknown or a result is not declared,
the answer is None. Cycles, deep chains and large files end at fixed limits, and results that such a limit touched are
not kept. It is longer than other modules since its functions call each other in a cycle, one for each form.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeVar

from runtime.codebase.language_parts.type_facts import NOTHING, Binding, Expression, FileFacts, Scope
from runtime.codebase.language_parts.type_rules import TypeRules
from runtime.codebase.resolution import import_values
from runtime.codebase.resolution.class_members import class_order, extension_members
from runtime.codebase.resolution.facts_store import FactsStore
from runtime.codebase.resolution.reaching_bindings import declared_first, reaching
from runtime.codebase.resolution.type_values import NONE, Step, Value, ValueKind, agreed
from runtime.primitives.dotted_names import last_part

MAX_DEPTH = 60
MAX_EVALUATIONS = 30_000
MAX_KEPT = 200_000
MAX_BINDINGS = 24
_PLACEHOLDER = "?"
_T = TypeVar("_T")


class Evaluator:
    """Evaluates expressions of one generation of an index, and keeps what it found."""

    def __init__(self, store: FactsStore) -> None:
        self.store = store
        self._kept: dict[Hashable, object] = {}
        self._open: set[Hashable] = set()
        self._is_touched = False
        self._left = MAX_EVALUATIONS
        self._forms: dict[str, Callable[[str, int, Expression], Value | None]] = {
            "name": lambda file, scope, form: self.named(file, scope, str(form[1]), int(form[2])),
            "attribute": self._attribute,
            "call": self._result,
            "new": self._made,
            "typed": self._typed,
            "apply": self._applied,
            "union": self._union,
            "literal": lambda _file, _scope, form: _literal(str(form[1])),
            "element": self._element,
            "index": self._indexed,
            "await": self._awaited,
            "enter": self._entered,
            "item": self._item,
            "self": lambda file, scope, form: self.own_object(file, scope, int(form[1])),
            "super": self._super,
            "module": lambda file, _scope, form: self.imported(file, int(form[1])),
            "scope": lambda file, _scope, form: self.scope_value(file, int(form[1])),
        }

    def begin(self) -> None:
        """Begin a new question, with all of its evaluations still to be used."""
        self._left = MAX_EVALUATIONS
        if len(self._kept) > MAX_KEPT:
            self._kept.clear()

    def once(self, key: Hashable, find: Callable[[], _T | None]) -> _T | None:
        """Return what `find` returns, found once; None within a cycle, at a depth or after a number of steps."""
        if key in self._kept:
            return self._kept[key]  # type: ignore[return-value]
        self._left -= 1
        if key in self._open or len(self._open) >= MAX_DEPTH or self._left < 0:
            self._is_touched = True
            return None
        outer, self._is_touched = self._is_touched, False
        self._open.add(key)
        try:
            found = find()
        finally:
            self._open.discard(key)
            is_whole = not self._is_touched or not self._open
            self._is_touched = outer or (self._is_touched and bool(self._open))
        if is_whole and self._left >= 0:
            self._kept[key] = found
        return found

    def value(self, file: str, scope: int, expression: int) -> Value | None:
        """Return what an expression in a scope of a file is known to be."""
        if expression == NOTHING:
            return None
        facts = self.store.facts(file)
        if facts is None or expression >= len(facts.expressions):
            return None
        form = facts.expressions[expression]
        find = self._forms.get(str(form[0]))
        if find is None:
            return None
        return self.once(("value", file, scope, expression), lambda: find(file, scope, form))

    def _scope(self, file: str, scope: int) -> Scope | None:
        facts = self.store.facts(file)
        return facts.scopes[scope] if facts is not None and 0 <= scope < len(facts.scopes) else None

    # Names

    def named(self, file: str, scope: int, name: str, line: int = 0) -> Value | None:
        """Return what a bare name means at a line of a scope; without a line, at the scope's end."""
        facts, rules = self.store.facts(file), self.store.rules(file)
        if facts is None or rules is None:
            return None
        at, has_left = scope, False
        while at >= 0:
            held = facts.scopes[at]
            is_class = held.kind in ("class", "extension")
            bindings = held.bindings.get(name)
            if bindings is not None and (not is_class or rules.sees_class_names or not has_left):
                if is_class and rules.sees_members:
                    return self._own_member(file, at, name)
                return self.bound(file, at, bindings, 0 if has_left else line)
            if is_class and rules.sees_members:
                own = self._own_member(file, at, name)
                if own is not None and own.kind != "external":
                    return own
                # A method may be inherited from a class outside; what is no method is looked for further out.
                if own is not None and name.endswith(")"):
                    return None
            has_left = has_left or held.kind == "function"
            at = held.parent
        return import_values.unbound(self, file, name)

    def _own_member(self, file: str, scope: int, name: str) -> Value | None:
        own = self._own_class(file, scope)
        found = None if own is None else self.member(own._replace(kind="instance"), name)
        return None if found is None else found.after(Step("self", file, self._line(file, scope)))

    def _line(self, file: str, scope: int) -> int:
        held = self._scope(file, scope)
        return held.line if held is not None else 1

    def bound(self, file: str, scope: int, bindings: Sequence[Binding], line: int = 0) -> Value | None:
        """Return what the bindings of a name mean at a line."""
        usable = declared_first(reaching(bindings, line, self._loops(file, scope) if line else ()))
        if not usable or len(usable) > MAX_BINDINGS:
            return None
        if all(binding.kind == "scope" for binding in usable):
            return self._defined(file, [binding.ref for binding in usable])
        return agreed([self.binding_value(file, scope, binding) for binding in usable])

    def _loops(self, file: str, scope: int) -> Sequence[tuple[int, int]]:
        facts = self.store.facts(file)
        while facts is not None and scope > 0 and facts.scopes[scope].kind != "function":
            scope = facts.scopes[scope].parent
        return facts.scopes[max(scope, 0)].loops if facts is not None else ()

    def _defined(self, file: str, scopes: list[int]) -> Value | None:
        facts = self.store.facts(file)
        if facts is None:
            return None
        functions = [scope for scope in scopes if facts.scopes[scope].kind == "function"]
        if len(functions) != len(scopes):
            return self.scope_value(file, scopes[0]) if len(scopes) == 1 else None
        whole = [scope for scope in functions if not {"overload", "stub"} & {*facts.scopes[scope].marks}]
        kept = whole or functions
        made = self.scope_value(file, kept[-1])
        return made and made._replace(others=tuple((file, scope) for scope in kept[:-1][:MAX_BINDINGS]))

    def scope_value(self, file: str, scope: int) -> Value | None:
        """Return the class or function that a scope is."""
        held = self._scope(file, scope)
        if held is None or held.kind not in ("class", "function"):
            return None
        kind: ValueKind = "class" if held.kind == "class" else "function"
        return Value(kind, file, scope, steps=(Step("scope", file, held.line),))

    def binding_value(self, file: str, scope: int, binding: Binding) -> Value | None:
        """Return what one binding gives to a name."""
        if binding.kind == "scope":
            return self.scope_value(file, binding.ref)
        if binding.kind == "import":
            found = self.imported(file, binding.ref)
            return found and found.after(Step("import", file, binding.line))
        if binding.kind == "value":
            found = self.value(file, scope, binding.ref)
            return found and found.after(Step("assignment", file, binding.line))
        if binding.kind == "type":
            rules = self.store.rules(file)
            kind = self.value(file, scope, binding.ref)
            return self.instance(kind, rules, Step("annotation", file, binding.line)) if rules is not None else None
        if binding.kind in ("self", "class"):
            held = self._scope(file, scope)
            own = self._own_class(file, held.parent) if held is not None else None
            if own is None:
                return None
            own = own._replace(kind="instance" if binding.kind == "self" else "class", steps=())
            return own.after(Step("self", file, binding.line))
        return None

    def imported(self, file: str, place: int) -> Value | None:
        """Return what an import means."""
        return self.once(("import", file, place), lambda: import_values.imported(self, file, place))

    def own_object(self, file: str, scope: int, line: int) -> Value | None:
        """Return the object whose method a scope belongs to."""
        own = self._own_class(file, scope)
        return own and own._replace(kind="instance", steps=(Step("self", file, line),))

    def _own_class(self, file: str, scope: int) -> Value | None:
        facts = self.store.facts(file)
        while facts is not None and scope > 0:
            held = facts.scopes[scope]
            if held.kind == "class":
                return Value("class", file, scope, steps=(Step("scope", file, held.line),))
            if held.kind == "extension":
                found = self.value(file, held.parent, held.bases[0]) if held.bases else None
                if found is None or found.kind not in ("class", "function", "instance"):
                    return None
                return Value("class", found.file, found.scope, steps=found.steps)
            scope = held.parent
        return None

    def _super(self, file: str, scope: int, form: Expression) -> Value | None:
        own = self._own_class(file, scope)
        return own and own._replace(kind="super", steps=(Step("base", file, int(form[1])),))

    # Members

    def _attribute(self, file: str, scope: int, form: Expression) -> Value | None:
        owner = self.value(file, scope, int(form[1]))
        return None if owner is None else self.member(owner, str(form[2]))

    def member(self, owner: Value, name: str) -> Value | None:
        """Return what a member of a value is."""
        if owner.is_external:
            return Value("external", name=f"{owner.name}.{name}", arguments=owner.arguments, steps=owner.steps)
        key = ("member", owner.identity, owner.arguments, name)
        if owner.kind in ("module", "folder", "package"):
            found = self.once(key, lambda: import_values.exported(self, owner, name))
            return found and found.after(*owner.steps)
        found = self.once(key, lambda: self._class_member(owner, name))
        if found is None:
            return None
        if found.kind == "function":
            return self._taken(found, owner).after(*owner.steps)
        return found.after(*owner.steps)

    def _taken(self, found: Value, owner: Value) -> Value:
        """Return a function taken from an object: a property's result, or the function with its object."""
        held, rules = self._scope(found.file, found.scope), self.store.rules(found.file)
        bound = found._replace(arguments=(owner._replace(steps=()),))
        if held is None or rules is None or "property" not in held.marks:
            return bound
        result = self.call(bound, rules)
        return result if result is not None else Value("function", found.file, found.scope, name=_PLACEHOLDER)

    def _class_member(self, owner: Value, name: str) -> Value | None:
        outside = False
        rules = self.store.rules(owner.file)
        order = class_order(self, owner.file, owner.scope)
        if owner.kind == "super":
            order = order[1:]
        for one in order:
            if one is None:
                return None
            if one.is_external:
                outside = outside or rules is None or last_part(one.name) not in rules.plain_bases
                continue
            found = self._member_here(one, name, owner.kind)
            if found is not None:
                if outside or found.is_none:
                    return None
                is_own = (one.file, one.scope) == (owner.file, owner.scope)
                return found if is_own else found.after(*one.steps)
        return Value("external", name=name) if outside else None

    def _of_kind(self, file: str, bindings: list[Binding], owner_kind: str) -> list[Binding]:
        """Return the definitions that belong to the class, or those that belong to its objects, if it has both."""
        facts = self.store.facts(file)
        if facts is None or len(bindings) < 2 or any(binding.kind != "scope" for binding in bindings):
            return bindings
        static = [one for one in bindings if "static" in facts.scopes[one.ref].marks]
        if not static or len(static) == len(bindings):
            return bindings
        return static if owner_kind == "class" else [one for one in bindings if one not in static]

    def _member_here(self, one: Value, name: str, owner_kind: str) -> Value | None:
        """Return a member that a class or its extensions define; `NONE` where they define it in ways that differ."""
        held = self._scope(one.file, one.scope)
        if held is None:
            return None
        own = () if held.kind == "function" else held.bindings.get(name, ())
        bindings = [*own, *held.fields.get(name, ())]
        if bindings:
            if len(bindings) > 1 and any(binding.kind == "scope" for binding in bindings):
                bindings = (
                    [binding for binding in bindings if binding.kind == "scope"] if not held.fields.get(name) else []
                )
            found = self._member_bound(one, held, name, self._of_kind(one.file, bindings, owner_kind))
            return found if found is not None else NONE
        further = extension_members(self, one, name)
        if not further:
            return None
        first, *rest = further
        return first._replace(others=(*first.others, *((more.file, more.scope) for more in rest)))

    def _member_bound(self, one: Value, held: Scope, name: str, bindings: list[Binding]) -> Value | None:
        usable = declared_first(bindings)
        if not usable or len(usable) > MAX_BINDINGS:
            return None
        if all(binding.kind == "scope" for binding in usable):
            return self._defined(one.file, [binding.ref for binding in usable])
        fields = held.fields.get(name, ())
        values = []
        for binding in usable:
            inside = self._scope_at(one.file, one.scope, binding.line) if binding in fields else one.scope
            found = self.binding_value(one.file, inside, binding)
            values.append(found and found.after(Step("field", one.file, binding.line)))
        return agreed(values)

    def _scope_at(self, file: str, outer: int, line: int) -> int:
        """Return the innermost scope within another one around a line: the one in which a field is assigned."""
        facts = self.store.facts(file)
        best = outer
        for place in range(outer + 1, len(facts.scopes) if facts is not None else 0):
            held = facts.scopes[place] if facts is not None else None
            if held is None or held.line > facts.scopes[outer].end_line:  # type: ignore[union-attr]
                break
            if held.kind != "class" and held.line <= line <= held.end_line and held.line:
                best = place
        return best

    # Calls and types

    def _result(self, file: str, scope: int, form: Expression) -> Value | None:
        callee, rules = self.value(file, scope, int(form[1])), self.store.rules(file)
        count = int(form[3]) if len(form) > 3 else NOTHING
        result = None if callee is None or rules is None else self.call(callee, rules, count)
        if result is None or callee is None:
            return None
        return result.after(Step("constructor" if callee.kind == "class" else "return", file, int(form[2])))

    def call(self, callee: Value, rules: TypeRules, count: int = NOTHING) -> Value | None:
        """Return what a call of a value with a number of arguments gives, in a file of a language with these rules."""
        if callee.kind == "class":
            return callee._replace(kind="instance")
        if callee.kind == "external":
            return external_result(callee, rules)
        if callee.kind == "instance":
            return self._method_result(callee, rules.call_method, rules)
        if callee.kind != "function" or callee.name == _PLACEHOLDER:
            return None
        places = self.fitting([(callee.file, callee.scope), *callee.others], count)
        taken_from = callee.arguments[0] if callee.arguments else None
        results = [self._result_of(file, scope, taken_from) for file, scope in places]
        found = agreed(results)
        return found and found.after(*callee.steps)

    def _result_of(self, file: str, scope: int, taken_from: Value | None) -> Value | None:
        key = ("result", file, scope, taken_from)
        return self.once(key, lambda: self._function_result(file, scope, taken_from))

    def fitting(self, places: list[tuple[str, int]], count: int) -> list[tuple[str, int]]:
        """Return the definitions that take a number of arguments; all, if the number is not known."""
        if count < 0 or len(places) < 2:
            return places
        kept = [(self._scope(file, scope), (file, scope)) for file, scope in places]
        return [place for held, place in kept if held is not None and held.arity[0] <= count <= held.arity[1]]

    def _method_result(self, owner: Value, name: str, rules: TypeRules) -> Value | None:
        method = self.member(owner, name) if name else None
        return self.call(method, rules) if method is not None and method.kind == "function" else None

    def _function_result(self, file: str, scope: int, taken_from: Value | None) -> Value | None:
        held, rules = self._scope(file, scope), self.store.rules(file)
        if held is None or rules is None or "changed" in held.marks:
            return None
        if held.returns != NOTHING:
            found = self._declared_result(file, scope, held, rules, taken_from)
        elif "stub" in held.marks or "constructor" in held.marks:
            found = None
        elif not held.results:
            found = NONE
        elif len(held.results) > MAX_BINDINGS:
            found = None
        else:
            found = agreed([self.value(file, inside, result) for inside, result in held.results])
            if "generator" in held.marks and found is not None:
                found = Value("external_instance", name="Iterator", arguments=(found,), steps=found.steps)
        if found is None:
            return None
        if {"contextmanager", "asynccontextmanager"} & {*held.marks}:
            return Value("external_instance", name="ContextManager", arguments=found.arguments, steps=found.steps)
        if "async" in held.marks and "generator" not in held.marks and last_part(found.name) not in rules.awaited:
            return Value("external_instance", name="Awaitable", arguments=(found,), steps=found.steps)
        return found

    def _declared_result(
        self, file: str, scope: int, held: Scope, rules: TypeRules, taken_from: Value | None
    ) -> Value | None:
        facts = self.store.facts(file)
        form = facts.expressions[held.returns] if facts is not None else ("literal", _PLACEHOLDER)
        if form[0] == "name" and form[1] in rules.own_type:
            if taken_from is None or taken_from.kind not in ("instance", "class"):
                return self.own_object(file, scope, held.line)
            return taken_from._replace(kind="instance")
        return self.instance(self.value(file, scope, held.returns), rules, Step("annotation", file, held.line))

    def _made(self, file: str, scope: int, form: Expression) -> Value | None:
        made, rules = self.value(file, scope, int(form[1])), self.store.rules(file)
        step = Step("constructor", file, self._form_line(file, int(form[1])))
        return self.instance(made, rules, step) if rules is not None else None

    def _typed(self, file: str, scope: int, form: Expression) -> Value | None:
        rules = self.store.rules(file)
        return self.instance(self.value(file, scope, int(form[1])), rules) if rules is not None else None

    def _form_line(self, file: str, expression: int) -> int:
        facts = self.store.facts(file)
        for _ in range(MAX_DEPTH):
            form = facts.expressions[expression] if facts is not None and expression >= 0 else ("literal", "")
            if form[0] == "name":
                return int(form[2])
            if form[0] == "scope":
                return self._line(file, int(form[1]))
            if form[0] not in ("attribute", "apply"):
                break
            expression = int(form[1])
        return 1

    def instance(self, kind: Value | None, rules: TypeRules, *steps: Step) -> Value | None:
        """Return an object of a type."""
        if kind is None:
            return None
        if kind.kind == "class":
            return kind._replace(kind="instance").after(*steps)
        if kind.kind == "function" and rules.imports == "exports" and not kind.name:
            return Value("instance", kind.file, kind.scope, steps=kind.steps).after(*steps)
        if kind.kind == "external":
            if last_part(kind.name) in rules.transparent and kind.arguments:
                inner = kind.arguments[0]
                return inner and inner.after(*steps)
            if last_part(kind.name) in rules.opaque:
                return None
            return kind._replace(kind="external_instance").after(*steps)
        return kind.after(*steps) if kind.is_none or kind.kind == "external_instance" else None

    def _applied(self, file: str, scope: int, form: Expression) -> Value | None:
        base, rules = self.value(file, scope, int(form[1])), self.store.rules(file)
        if base is None or rules is None:
            return None
        if base.kind == "instance" or (base.kind == "external_instance" and not _is_written(file, self.store, form)):
            return self._index_of(base, rules)
        if base.kind not in ("class", "external", "external_instance"):
            return None
        as_value = base.kind == "external_instance"
        given = [self.value(file, scope, int(one)) for one in form[2:]]
        arguments = [one if as_value else self.instance(one, rules) for one in given]
        return base._replace(arguments=tuple(one and one._replace(steps=one.steps[:4]) for one in arguments))

    def _union(self, file: str, scope: int, form: Expression) -> Value | None:
        return agreed([self.value(file, scope, int(one)) for one in form[1:]])

    # Parts of values

    def _element(self, file: str, scope: int, form: Expression) -> Value | None:
        owner, rules = self.value(file, scope, int(form[1])), self.store.rules(file)
        return None if owner is None or rules is None else self.element_of(owner, rules)

    def element_of(self, owner: Value, rules: TypeRules) -> Value | None:
        """Return what iterating over a value gives."""
        if owner.kind == "external_instance":
            return _argument(owner, rules.elements)
        if owner.kind != "instance":
            return None
        under = self._underlying(owner, rules)
        if under is not None:
            return self.element_of(under, rules)
        result = self._method_result(owner, rules.iterator_method, rules)
        return _argument(result, rules.elements) if result is not None and result.is_external else None

    def _indexed(self, file: str, scope: int, form: Expression) -> Value | None:
        owner, rules = self.value(file, scope, int(form[1])), self.store.rules(file)
        return None if owner is None or rules is None else self._index_of(owner, rules)

    def _index_of(self, owner: Value, rules: TypeRules) -> Value | None:
        if owner.kind == "external_instance":
            return _argument(owner, rules.indexed)
        if owner.kind != "instance":
            return None
        under = self._underlying(owner, rules)
        return (
            self._index_of(under, rules) if under is not None else self._method_result(owner, rules.index_method, rules)
        )

    def _underlying(self, owner: Value, rules: TypeRules) -> Value | None:
        """Return an object of the external type that a class is another name of; None for other classes."""
        held = self._scope(owner.file, owner.scope)
        if held is None or held.kind != "class" or held.returns == NOTHING:
            return None
        found = self.instance(self.value(owner.file, held.parent, held.returns), rules)
        return found if found is not None and found.is_external else None

    def _awaited(self, file: str, scope: int, form: Expression) -> Value | None:
        waited = self.value(file, scope, int(form[1]))
        rules = self.store.rules(file)
        if waited is None or rules is None:
            return None
        if waited.kind == "external_instance":
            is_waited = last_part(waited.name) in rules.awaited and waited.arguments
            return waited.arguments[-1] if is_waited else None
        return waited if rules.imports == "exports" else None

    def _entered(self, file: str, scope: int, form: Expression) -> Value | None:
        owner = self.value(file, scope, int(form[1]))
        if owner is None:
            return None
        if owner.kind == "external_instance":
            return owner.arguments[0] if owner.name == "ContextManager" and owner.arguments else None
        rules = self.store.rules(file)
        if owner.kind != "instance" or rules is None:
            return None
        for name in rules.enter_methods:
            method = self.member(owner, name)
            if method is not None and method.kind == "function":
                result = self.call(method, rules)
                if result is not None and result.kind == "external_instance" and result.name == "Awaitable":
                    return result.arguments[0]
                return result
        return None

    def _item(self, file: str, scope: int, form: Expression) -> Value | None:
        owner, rules = self.value(file, scope, int(form[1])), self.store.rules(file)
        if owner is None or rules is None or owner.kind != "external_instance":
            return None
        place = int(form[2])
        if last_part(owner.name) in ("tuple", "Tuple"):
            return owner.arguments[place] if place < len(owner.arguments) else None
        return self.element_of(owner, rules)


def _argument(owner: Value, places: Mapping[str, int]) -> Value | None:
    place = places.get(last_part(owner.name))
    if place is None or not owner.arguments:
        return None
    return owner.arguments[place] if -len(owner.arguments) <= place < len(owner.arguments) else None


def external_result(callee: Value, rules: TypeRules) -> Value | None:
    """Return what a call of something external gives, where its name tells: its class, or a known type."""
    name = last_part(callee.name)
    told = rules.results.get(name)
    if told is not None:
        return Value("external_instance", name=told, steps=callee.steps)
    if callee.arguments and name in rules.element_methods:
        place = rules.element_methods[name]
        return callee.arguments[place] if -len(callee.arguments) <= place < len(callee.arguments) else None
    if callee.arguments and name in rules.collection_methods:
        place = rules.collection_methods[name]
        kept = callee.arguments[place] if -len(callee.arguments) <= place < len(callee.arguments) else None
        return Value("external_instance", name="list", arguments=(kept,), steps=callee.steps)
    if name[:1].isupper() and not name.isupper() and name not in rules.opaque and rules.constructs_by_call:
        return callee._replace(kind="external_instance")
    return None


def _literal(name: str) -> Value | None:
    return None if name == _PLACEHOLDER else Value("external_instance", name=name)


def _is_written(file: str, store: FactsStore, form: Expression) -> bool:
    """Return True if the base of an applied form is a literal, as in the type of a list of known elements."""
    facts: FileFacts | None = store.facts(file)
    return facts is not None and facts.expressions[int(form[1])][0] == "literal"
