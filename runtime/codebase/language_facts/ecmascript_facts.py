"""Extracts the type facts of JavaScript and TypeScript files.

It is longer than other modules: one method for each form of the two languages, which call each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from runtime.codebase.language_parts.facts_walker import FactsWalker, Handler, line_of, text_of
from runtime.codebase.language_parts.type_facts import NOTHING, TO_THE_END, Binding, FileFacts

if TYPE_CHECKING:
    from tree_sitter import Node

WHOLE = "module.exports"
MAX_OBJECT_KEYS = 300

_FUNCTIONS = frozenset({"arrow_function", "function_expression", "generator_function", "function"})
_TELLING = _FUNCTIONS | {"method_definition", "shorthand_property_identifier", "new_expression", "class", "identifier"}
_LITERALS = {
    "string": "string",
    "template_string": "string",
    "number": "number",
    "true": "boolean",
    "false": "boolean",
    "regex": "RegExp",
    "null": "null",
    "undefined": "undefined",
}
_UNTOLD_TYPES = frozenset({"any", "unknown", "object", "never"})
_DECLARED_IN_BLOCK = frozenset(
    {"lexical_declaration", "class_declaration", "function_declaration", "abstract_class_declaration"}
)


def ecmascript_facts(root: Node) -> FileFacts:
    """Return the type facts of a syntax tree of JavaScript, TypeScript or TSX."""
    return _EcmascriptWalker().walk(root)


class _EcmascriptWalker(FactsWalker):
    def __init__(self) -> None:
        super().__init__()
        self._assigned: list[tuple[int, str, Binding]] = []

    def finish(self) -> None:
        scopes = self.facts.scopes
        for scope, name, binding in self._assigned:
            holder = scope
            while holder > 0 and (name not in scopes[holder].bindings or scopes[holder].kind == "class"):
                holder = scopes[holder].parent
            if holder > 0 or name in scopes[0].bindings:
                scopes[holder].bindings[name].append(binding)

    # Scopes

    def block(self, node: Node, scope: int) -> int:
        if any(child.type in _DECLARED_IN_BLOCK for child in node.named_children):
            scope = self.add_scope("block", "", scope, node)
        return super().block(node, scope)

    def _function(self, node: Node, scope: int, name_node: Node | None, *marks: str) -> int:
        inner = self.add_scope("function", text_of(name_node), scope, node, name_node)
        made = self.facts.scopes[inner]
        made.marks += marks
        kinds = {child.type for child in node.children}
        if node.type == "arrow_function":
            made.marks.append("arrow")
        made.marks += [mark for mark, kind in (("async", "async"), ("generator", "*")) if kind in kinds]
        if "generator" in node.type and "generator" not in made.marks:
            made.marks.append("generator")
        outer, self.until = self.until, TO_THE_END
        self._type_parameters(node, inner)
        self._parameters(node, inner)
        made.returns = self._type(node.child_by_field_name("return_type"), inner)
        body = node.child_by_field_name("body")
        if body is not None and body.type == "statement_block":
            super().block(body, inner)
        elif body is not None:
            made.results.append((inner, self.visit(body, inner)))
        self.until = outer
        return inner

    def _type_parameters(self, node: Node, scope: int) -> None:
        parameters = node.child_by_field_name("type_parameters")
        for child in parameters.named_children if parameters is not None else ():
            self.bind(scope, text_of(child.child_by_field_name("name")), "unknown", child)

    def _parameters(self, node: Node, scope: int) -> None:
        single = node.child_by_field_name("parameter")
        if single is not None:
            self._pattern(single, scope, single, NOTHING)
            return
        parameters = node.child_by_field_name("parameters")
        least = most = 0
        for child in parameters.named_children if parameters is not None else ():
            if child.type == "comment":
                continue
            pattern = child.child_by_field_name("pattern") or child.child_by_field_name("left") or child
            default = child.child_by_field_name("value") or child.child_by_field_name("right")
            self.visit(default, scope)
            most = TO_THE_END if pattern.type == "rest_pattern" else most + 1
            least += child.type in ("required_parameter", "identifier") and default is None and most < TO_THE_END
            kind = self._type(child.child_by_field_name("type"), scope)
            if pattern.type == "identifier":
                self.bind(scope, text_of(pattern), "type", child, kind)
                if any(part.type in ("accessibility_modifier", "readonly") for part in child.children):
                    holder = self.facts.scopes[scope].parent
                    self.bind(holder, text_of(pattern), "type", child, kind, field=True)
            else:
                self._pattern(pattern, scope, child, self.wrapped("typed", kind))
        self.facts.scopes[scope].arity = (least, most)

    def function(self, node: Node, scope: int) -> int:
        name = node.child_by_field_name("name")
        marks = ("stub",) if node.type == "function_signature" else ()
        self.bind(scope, text_of(name), "scope", node, self._function(node, scope, name, *marks))
        return NOTHING

    def function_value(self, node: Node, scope: int) -> int:
        name = node.child_by_field_name("name")
        return self.express("scope", self._function(node, scope, name))

    # Variables

    def declarator(self, node: Node, scope: int) -> int:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is None:
            return NOTHING
        statement = node.parent
        if statement is not None and statement.type == "variable_declaration":
            scope_for = scope
            while self.facts.scopes[scope_for].kind == "block":
                scope_for = self.facts.scopes[scope_for].parent
        else:
            scope_for = scope
        declared = self._type(node.child_by_field_name("type"), scope)
        if value is not None and value.type in _FUNCTIONS and name.type == "identifier":
            self.bind(scope_for, text_of(name), "scope", node, self._function(value, scope, name))
            return NOTHING
        if value is not None and value.type == "class" and name.type == "identifier":
            self.bind(scope_for, text_of(name), "scope", node, self._class(value, scope, name))
            return NOTHING
        given = self.visit(value, scope) if value is not None else self.express("literal", "undefined")
        if declared != NOTHING and name.type == "identifier":
            self.bind(scope_for, text_of(name), "type", node, declared)
        else:
            self._pattern(name, scope_for, node, given)
        return NOTHING

    def _pattern(self, target: Node, scope: int, statement: Node, given: int) -> None:
        """Bind the names of a pattern to the parts of a value."""
        kind = target.type
        if kind in ("identifier", "shorthand_property_identifier_pattern"):
            self.bind(scope, text_of(target), "value", statement, given)
        elif kind == "object_pattern":
            for child in target.named_children:
                self._property_pattern(child, scope, statement, given)
        elif kind == "array_pattern":
            for place, child in enumerate(target.named_children):
                self._pattern(child, scope, statement, self.wrapped("item", given, place))
        elif kind in ("assignment_pattern", "object_assignment_pattern"):
            self.visit(target.child_by_field_name("right"), scope)
            left = target.child_by_field_name("left")
            if left is not None:
                self._pattern(left, scope, statement, NOTHING)
        elif kind == "rest_pattern":
            for child in target.named_children:
                self._pattern(child, scope, statement, NOTHING)

    def _property_pattern(self, child: Node, scope: int, statement: Node, given: int) -> None:
        if child.type == "shorthand_property_identifier_pattern":
            self._pattern(child, scope, statement, self.attribute(given, text_of(child)))
        elif child.type == "pair_pattern":
            value = child.child_by_field_name("value")
            if value is not None:
                key = text_of(child.child_by_field_name("key"))
                self._pattern(value, scope, statement, self.attribute(given, key))
        else:
            self._pattern(child, scope, statement, NOTHING)

    def assignment(self, node: Node, scope: int) -> int:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or right is None:
            return NOTHING
        if left.type == "member_expression":
            return self._member_assignment(node, left, right, scope)
        value = self.visit(right, scope)
        if left.type == "identifier":
            kind = "value" if value != NOTHING else "unknown"
            made = Binding(kind, line_of(node), value, node.end_point[0] + 1, self.until)  # type: ignore[arg-type]
            self._assigned.append((scope, text_of(left), made))
        else:
            self.visit(left, scope)
        return value

    def _member_assignment(self, node: Node, left: Node, right: Node, scope: int) -> int:
        owner, name_node = left.child_by_field_name("object"), left.child_by_field_name("property")
        owner_text, name = text_of(owner)[:200], text_of(name_node)
        is_whole = owner_text == "module" and name == "exports"
        extended = owner_text.removesuffix(".prototype")
        is_exported = owner_text in ("exports", WHOLE)
        if right.type in _FUNCTIONS and owner is not None and not is_whole and owner.type != "this":
            if is_exported:
                inner = self._function(right, scope, name_node)
                self.bind(0, name, "scope", node, inner, field=True)
                return self.express("scope", inner)
            base = owner.child_by_field_name("object") if extended != owner_text else owner
            holder = self.add_scope("extension", extended, scope, node)
            self.facts.scopes[holder].bases.append(self.visit(base, scope))
            inner = self._function(right, holder, name_node)
            self.bind(holder, name, "scope", node, inner)
            return self.express("scope", inner)
        value = self.visit(right, scope)
        if is_whole:
            self.bind(0, WHOLE, "value", node, value, field=True)
        elif is_exported:
            self.bind(0, name, "value", node, value, field=True)
        elif owner is not None and owner.type == "this":
            holder = self._holder(scope)
            if holder:
                self.bind(holder, name, "value", node, value, field=True)
        else:
            self.visit(owner, scope)
        return value

    def _holder(self, scope: int) -> int:
        """Return the class, extension or constructing function whose object `this` is in a scope; 0 without one."""
        scopes = self.facts.scopes
        while scope > 0:
            held = scopes[scope]
            if held.kind == "class" and "object" not in held.marks:
                return scope
            if held.kind == "function" and "arrow" not in held.marks:
                outer = scopes[held.parent]
                if "static" in held.marks:
                    return 0
                if outer.kind in ("class", "extension"):
                    return held.parent
                return scope if held.name[:1].isupper() else 0
            scope = held.parent
        return 0

    def this(self, node: Node, scope: int) -> int:
        holder = self._holder(scope)
        if not holder:
            return NOTHING
        if self.facts.scopes[holder].kind == "function":
            return self.express("new", self.express("scope", holder))
        return self.express("self", line_of(node))

    def super_(self, node: Node, scope: int) -> int:
        return self.express("super", line_of(node)) if self._holder(scope) else NOTHING

    def for_in(self, node: Node, scope: int) -> int:
        value = self.visit(node.child_by_field_name("right"), scope)
        left = node.child_by_field_name("left")
        inner = self.add_scope("block", "", scope, node)
        operator = node.child_by_field_name("operator")
        if left is not None:
            is_of = operator is not None and text_of(operator) == "of"
            self._pattern(left, inner, left, self.wrapped("element", value) if is_of else NOTHING)
        self.visit(node.child_by_field_name("body"), inner)
        return NOTHING

    def for_(self, node: Node, scope: int) -> int:
        self.children(node, self.add_scope("block", "", scope, node))
        return NOTHING

    def catch(self, node: Node, scope: int) -> int:
        inner = self.add_scope("block", "", scope, node)
        parameter = node.child_by_field_name("parameter")
        if parameter is not None:
            self._pattern(parameter, inner, parameter, NOTHING)
        self.visit(node.child_by_field_name("body"), inner)
        return NOTHING

    def return_(self, node: Node, scope: int) -> int:
        if node.named_children:
            value = self.visit(node.named_children[0], scope)
            function = self.scope_above(scope, "function")
            if function:
                self.facts.scopes[function].results.append((scope, value))
        return NOTHING

    # Classes and objects

    def class_(self, node: Node, scope: int) -> int:
        name = node.child_by_field_name("name")
        self.bind(scope, text_of(name), "scope", node, self._class(node, scope, name))
        return NOTHING

    def class_value(self, node: Node, scope: int) -> int:
        return self.express("scope", self._class(node, scope, node.child_by_field_name("name")))

    def _class(self, node: Node, scope: int, name: Node | None) -> int:
        outside = scope
        if node.child_by_field_name("type_parameters") is not None:
            outside = self.add_scope("block", "", scope, node)
            self._type_parameters(node, outside)
        inner = self.add_scope("class", text_of(name), outside, node, name)
        made = self.facts.scopes[inner]
        if "interface" in node.type:
            made.marks.append("interface")
        for child in node.named_children:
            if child.type in ("class_heritage", "extends_type_clause"):
                self._heritage(child, outside, made.bases)
        outer, self.until = self.until, TO_THE_END
        body = node.child_by_field_name("body")
        for child in body.named_children if body is not None else ():
            self.visit(child, inner)
        self.until = outer
        return inner

    def _heritage(self, node: Node, scope: int, bases: list[int]) -> None:
        for child in node.named_children:
            if child.type == "extends_clause":
                value = child.child_by_field_name("value")
                bases.append(self.visit(value, scope))
            elif child.type == "implements_clause":
                bases += [self._type(one, scope) for one in child.named_children]
            elif node.type == "extends_type_clause":
                bases.append(self._type(child, scope))
            else:
                bases.append(self.visit(child, scope))

    def method(self, node: Node, scope: int) -> int:
        name = node.child_by_field_name("name")
        kinds = {child.type for child in node.children}
        marks = [mark for mark in ("static",) if mark in kinds]
        if "get" in kinds:
            marks.append("property")
        if "signature" in node.type:
            marks.append("stub")
        inner = self._function(node, scope, name, *marks)
        if "set" not in kinds:
            self.bind(scope, text_of(name), "scope", node, inner)
        return NOTHING

    def field(self, node: Node, scope: int) -> int:
        name = node.child_by_field_name("name") or node.child_by_field_name("property")
        value, annotation = node.child_by_field_name("value"), node.child_by_field_name("type")
        for child in node.named_children:
            if child.type == "decorator":
                self.visit(child, scope)
        if value is not None and value.type in _FUNCTIONS:
            self.bind(scope, text_of(name), "scope", node, self._function(value, scope, name))
            return NOTHING
        shape = annotation.named_children[0] if annotation is not None and annotation.named_children else None
        if value is None and shape is not None and shape.type == "function_type":
            self.bind(scope, text_of(name), "scope", node, self._function(shape, scope, name, "stub"))
            return NOTHING
        declared = self._type(annotation, scope)
        given = self.visit(value, scope)
        if declared != NOTHING or value is None:
            self.bind(scope, text_of(name), "type", node, declared)
        else:
            self.bind(scope, text_of(name), "value", node, given)
        return NOTHING

    def object_(self, node: Node, scope: int) -> int:
        parts = node.named_children
        kinds = {child.type for child in parts}
        kinds |= {value.type for child in parts if (value := child.child_by_field_name("value")) is not None}
        if (parts and not kinds & _TELLING) or len(parts) > MAX_OBJECT_KEYS:
            self.children(node, scope)
            return NOTHING
        inner = self.add_scope("class", "", scope, node)
        made = self.facts.scopes[inner]
        made.marks.append("object")
        outer, self.until = self.until, TO_THE_END
        for child in parts:
            self._object_part(child, inner, scope)
        self.until = outer
        return self.express("new", self.express("scope", inner))

    def _object_part(self, child: Node, inner: int, scope: int) -> None:
        if child.type == "method_definition":
            self.visit(child, inner)
        elif child.type == "shorthand_property_identifier":
            self.bind(inner, text_of(child), "value", child, self.name(child))
        elif child.type == "pair":
            key, value = child.child_by_field_name("key"), child.child_by_field_name("value")
            name = text_of(key).strip("'\"")
            if value is not None and value.type in _FUNCTIONS:
                self.bind(inner, name, "scope", child, self._function(value, inner, key))
            else:
                self.bind(inner, name, "value", child, self.visit(value, scope))
        elif child.type == "spread_element":
            self.children(child, scope)
            self.facts.scopes[inner].bases.append(NOTHING)

    def enum(self, node: Node, scope: int) -> int:
        name = node.child_by_field_name("name")
        inner = self.add_scope("class", text_of(name), scope, node, name)
        self.bind(scope, text_of(name), "scope", node, inner)
        return NOTHING

    def type_alias(self, node: Node, scope: int) -> int:
        inner = self.add_scope("block", "", scope, node)
        self._type_parameters(node, inner)
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if value is not None and value.type == "object_type":
            held = self.add_scope("class", text_of(name), inner, node, name)
            self.facts.scopes[held].marks.append("interface")
            self.children(value, held)
            self.bind(scope, text_of(name), "scope", node, held)
        else:
            self.bind(scope, text_of(name), "value", node, self._type(value, inner))
        return NOTHING

    # Imports and exports

    def import_(self, node: Node, scope: int) -> int:
        module = _module_of(node)
        for clause in node.named_children:
            for child in clause.named_children if clause.type == "import_clause" else ():
                if child.type == "identifier":
                    self.bind_import(scope, text_of(child), module, "default", node)
                elif child.type == "namespace_import":
                    self.bind_import(scope, text_of(child.named_children[0]), module, "*", node)
                elif child.type == "named_imports":
                    self._named_imports(child, scope, module, node)
            if clause.type == "import_require_clause" and clause.named_children:
                required = text_of(clause.child_by_field_name("source")).strip("'\"")
                self.bind_import(scope, text_of(clause.named_children[0]), required, "", node)
        return NOTHING

    def _named_imports(self, clause: Node, scope: int, module: str, node: Node) -> None:
        for item in clause.named_children:
            name, alias = item.child_by_field_name("name"), item.child_by_field_name("alias")
            self.bind_import(scope, text_of(alias or name), module, text_of(name), node)

    def export(self, node: Node, scope: int) -> int:
        module = _module_of(node)
        kinds = {child.type for child in node.children}
        declaration, value = node.child_by_field_name("declaration"), node.child_by_field_name("value")
        for child in node.named_children:
            if child.type == "decorator":
                self.visit(child, scope)
            elif child.type == "export_clause":
                self._export_clause(child, module, node)
            elif child.type == "namespace_export" and module:
                place = self.add_import(module, "*", node)
                self.bind(0, text_of(child.named_children[0]), "import", node, place, field=True)
        if declaration is not None:
            self._exported_declaration(declaration, scope, is_default="default" in kinds)
        elif value is not None:
            self._exported_value(value, scope, node, is_default="default" in kinds)
        elif module and "*" in kinds:
            self.facts.stars.append(self.add_import(module, "*", node))
        elif not module and "=" in kinds and node.named_children:
            self.bind(0, WHOLE, "value", node, self.visit(node.named_children[-1], scope), field=True)
        return NOTHING

    def _export_clause(self, clause: Node, module: str, node: Node) -> None:
        for item in clause.named_children:
            name, alias = item.child_by_field_name("name"), item.child_by_field_name("alias")
            if name is None:
                continue
            bound = text_of(alias or name)
            if module:
                self.bind(0, bound, "import", item, self.add_import(module, text_of(name), node), field=True)
            else:
                self.bind(0, bound, "value", item, self.name(name), field=True)

    def _exported_value(self, value: Node, scope: int, node: Node, *, is_default: bool) -> None:
        given = self.visit(value, scope)
        form = self.facts.expressions[given] if given != NOTHING else ("literal", "")
        if is_default and form[0] == "scope" and not self.facts.scopes[int(form[1])].name:
            self.facts.scopes[int(form[1])].name = "default"
        self.bind(0, "default" if is_default else WHOLE, "value", node, given, field=True)

    def _exported_declaration(self, declaration: Node, scope: int, *, is_default: bool) -> None:
        module = self.facts.scopes[0]
        counts = {name: len(held) for name, held in self.facts.scopes[scope].bindings.items()}
        self.visit(declaration, scope)
        name = declaration.child_by_field_name("name")
        if is_default:
            held = self.facts.scopes[scope].bindings.get(text_of(name), ()) if name is not None else ()
            module.fields.setdefault("default", []).extend(held[-1:])
            return
        for bound, held in self.facts.scopes[scope].bindings.items():
            fresh = held[counts.get(bound, 0) :]
            if fresh:
                module.fields.setdefault(bound, []).extend(fresh)

    # Expressions

    def identifier(self, node: Node, _scope: int) -> int:
        return self.name(node)

    def member(self, node: Node, scope: int) -> int:
        owner = self.visit(node.child_by_field_name("object"), scope)
        return self.attribute(owner, text_of(node.child_by_field_name("property")))

    def call_(self, node: Node, scope: int) -> int:
        function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if function is None:
            return NOTHING
        required = self._required(function, arguments, node)
        if required != NOTHING:
            return required
        callee = self.visit(function, scope)
        given = [self.visit(child, scope) for child in arguments.named_children] if arguments is not None else []
        if function.type == "identifier":
            return self.call(function, scope, callee, len(given))
        name = function.child_by_field_name("property") if function.type == "member_expression" else None
        if name is not None:
            return self.call(name, scope, callee, len(given))
        return self.wrapped("call", callee, line_of(node), len(given))

    def _required(self, function: Node, arguments: Node | None, node: Node) -> int:
        is_require = function.type == "identifier" and text_of(function) == "require"
        if not (is_require or function.type == "import") or arguments is None or not arguments.named_children:
            return NOTHING
        first = arguments.named_children[0]
        if first.type != "string":
            return NOTHING
        module = text_of(first).strip("'\"")
        return self.express("module", self.add_import(module, "" if is_require else "*", node))

    def new(self, node: Node, scope: int) -> int:
        made = node.child_by_field_name("constructor")
        arguments = node.child_by_field_name("arguments")
        kind = self.visit(made, scope)
        given = [self.visit(child, scope) for child in arguments.named_children] if arguments is not None else []
        if made is None:
            return NOTHING
        name = made.child_by_field_name("property") if made.type == "member_expression" else made
        if name is not None and name.type in ("identifier", "property_identifier"):
            self.call(name, scope, kind, len(given))
        types = node.child_by_field_name("type_arguments")
        if types is not None and kind != NOTHING:
            kind = self._applied(kind, types, scope)
        return self.wrapped("new", kind)

    def subscript(self, node: Node, scope: int) -> int:
        value = self.visit(node.child_by_field_name("object"), scope)
        self.visit(node.child_by_field_name("index"), scope)
        return self.wrapped("index", value)

    def await_(self, node: Node, scope: int) -> int:
        return self.wrapped("await", self.visit(node.named_children[0], scope)) if node.named_children else NOTHING

    def inner(self, node: Node, scope: int) -> int:
        return self.visit(node.named_children[0], scope) if node.named_children else NOTHING

    def cast(self, node: Node, scope: int) -> int:
        parts = node.named_children
        value = self.visit(parts[0], scope) if parts else NOTHING
        if len(parts) < 2 or text_of(parts[1]) == "const":
            return value
        return self.wrapped("typed", self._type(parts[1], scope))

    def satisfies(self, node: Node, scope: int) -> int:
        return self.inner(node, scope)

    def ternary(self, node: Node, scope: int) -> int:
        self.visit(node.child_by_field_name("condition"), scope)
        return self.union([self.visit(node.child_by_field_name(one), scope) for one in ("consequence", "alternative")])

    def binary(self, node: Node, scope: int) -> int:
        left = self.visit(node.child_by_field_name("left"), scope)
        right = self.visit(node.child_by_field_name("right"), scope)
        operator = text_of(node.child_by_field_name("operator"))
        if operator in ("||", "??"):
            return self.union((left, right))
        return right if operator == "&&" else NOTHING

    def literal(self, node: Node, scope: int) -> int:
        if node.type == "template_string":
            self.children(node, scope)
        return self.express("literal", _LITERALS[node.type])

    def array(self, node: Node, scope: int) -> int:
        given = [self.visit(child, scope) for child in node.named_children]
        made = self.express("literal", "Array")
        element = self.union(given[:20]) if given and len(given) <= 20 else NOTHING
        return made if element == NOTHING else self.express("apply", made, element)

    # Types

    def _type(self, node: Node | None, scope: int) -> int:
        """Return the expression of a type."""
        while node is not None and node.type in ("type_annotation", "parenthesized_type", "readonly_type"):
            node = node.named_children[0] if node.named_children else None
        if node is None:
            return NOTHING
        kind = node.type
        if kind in ("type_identifier", "identifier"):
            return self.name(node)
        if kind == "nested_type_identifier":
            owner = node.child_by_field_name("module")
            inner = self.visit(owner, scope) if owner is not None else NOTHING
            return self.attribute(inner, text_of(node.child_by_field_name("name")))
        if kind == "generic_type":
            base = self._type(node.child_by_field_name("name"), scope)
            return self._applied(base, node.child_by_field_name("type_arguments"), scope)
        if kind == "array_type":
            element = self._type(node.named_children[0], scope) if node.named_children else NOTHING
            unknown = self.express("literal", "?")
            return self.express("apply", self.express("name", "Array", 0), element if element != NOTHING else unknown)
        if kind == "union_type":
            return self.union([self._type(child, scope) for child in node.named_children])
        if kind == "literal_type":
            return self._type(node.named_children[0], scope) if node.named_children else NOTHING
        if kind == "predefined_type":
            name = text_of(node)
            return (
                NOTHING if name in _UNTOLD_TYPES else self.express("literal", "undefined" if name == "void" else name)
            )
        if kind in _LITERALS:
            return self.express("literal", _LITERALS[kind])
        return self.express("name", "this", 0) if kind == "this_type" else NOTHING

    def _applied(self, base: int, arguments: Node | None, scope: int) -> int:
        if base == NOTHING:
            return NOTHING
        unknown = self.express("literal", "?")
        given = [self._type(child, scope) for child in arguments.named_children] if arguments is not None else []
        return self.express("apply", base, *(unknown if one == NOTHING else one for one in given))

    handlers: ClassVar[dict[str, Handler]] = {
        **dict.fromkeys(("function_declaration", "generator_function_declaration", "function_signature"), function),
        **dict.fromkeys(_FUNCTIONS, function_value),
        "variable_declarator": declarator,
        "assignment_expression": assignment,
        "this": this,
        "super": super_,
        "for_in_statement": for_in,
        "for_statement": for_,
        "catch_clause": catch,
        "return_statement": return_,
        **dict.fromkeys(("class_declaration", "abstract_class_declaration", "interface_declaration"), class_),
        "class": class_value,
        **dict.fromkeys(("method_definition", "method_signature", "abstract_method_signature"), method),
        **dict.fromkeys(("public_field_definition", "field_definition", "property_signature"), field),
        "object": object_,
        "enum_declaration": enum,
        "type_alias_declaration": type_alias,
        "import_statement": import_,
        "export_statement": export,
        **dict.fromkeys(("identifier", "type_identifier"), identifier),
        "member_expression": member,
        "call_expression": call_,
        "new_expression": new,
        "subscript_expression": subscript,
        "await_expression": await_,
        **dict.fromkeys(("parenthesized_expression", "non_null_expression"), inner),
        "as_expression": cast,
        "satisfies_expression": satisfies,
        "ternary_expression": ternary,
        "binary_expression": binary,
        "array": array,
        **dict.fromkeys(_LITERALS, literal),
        **dict.fromkeys(("comment", "type_annotation", "type_arguments"), lambda _self, _node, _scope: NOTHING),
    }
    blocks: ClassVar[frozenset[str]] = frozenset({"statement_block", "switch_body"})


def _module_of(node: Node) -> str:
    return text_of(node.child_by_field_name("source")).strip("'\"")
