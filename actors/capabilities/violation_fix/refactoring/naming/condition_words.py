"""Puts conditions, patterns and expressions into the few words that a name has room for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from actors.capabilities.violation_fix.refactoring.naming.name_words import is_good_noun, words_of

_THROUGH = frozenset({"items", "keys", "values", "copy", "splitlines", "readlines", "iter", "strip"})
_WRAPPERS = frozenset(
    {"enumerate", "sorted", "reversed", "list", "tuple", "set", "iter", "zip", "len", "dict", "iteritems"}
)


def noun_of(node: ast.expr) -> str | None:
    """Return the last name of an expression: of `self.table.rows.items()` it is `rows`."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return noun_of(node.value) if node.attr in _THROUGH else node.attr
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id in _WRAPPERS:
            return noun_of(node.args[0]) if node.args else None
        if isinstance(node.func, ast.Attribute) and node.func.attr in _THROUGH:
            return noun_of(node.func.value)
        return None
    if isinstance(node, ast.Subscript | ast.Starred | ast.Await):
        return noun_of(node.value)
    return None


def description_of(test: ast.expr) -> str | None:
    """Return what a condition is about, as words joined by underscores."""
    words = _words_of_test(test)
    noun = "_".join(words[-3:])
    return noun if words and is_good_noun(noun) else None


def _words_of_test(test: ast.expr) -> list[str]:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        if len(test.values) > 2:
            return []
        described = (_words_of_test(value) for value in test.values)
        return next((words for words in described if words), [])
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _words_of_comparison(test.left, test.ops[0], test.comparators[0])
    if isinstance(test, ast.Call):
        return _words_of_call(test)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _words_of_test(test.operand)
        return ["missing", *inner] if inner and isinstance(test.operand, ast.Name | ast.Attribute) else []
    noun = noun_of(test)
    return _significant(noun) if noun else []


def _significant(identifier: str) -> list[str]:
    words = words_of(identifier)
    return (
        words[1:]
        if len(words) > 1 and words[0] in {"is", "has", "should", "can", "do", "use", "with", "was"}
        else words
    )


def _words_of_comparison(left: ast.expr, operator: ast.cmpop, right: ast.expr) -> list[str]:
    if isinstance(right, ast.Constant) and right.value is None:
        noun = noun_of(left)
        words = _significant(noun) if noun else []
        return ["missing", *words] if words and isinstance(operator, ast.Is) else words
    if isinstance(operator, ast.Eq | ast.Is):
        return _words_of_value(left if isinstance(left, ast.Constant) else right)
    if isinstance(operator, ast.In) and isinstance(left, ast.Constant):
        return _words_of_value(left)
    return []


# Marks around the words of an option, an operator or a media type.
_MARKS = "$-@:./ "
_PLAIN_PREFIXES = ("application/", "x-", "www-")
# What parts the words of a value, such as `http.response.start`; a text of more words is a sentence.
_SEPARATORS = re.compile(r"[-/.: ]+")
_MAX_WORDS = 4
BUILTIN_TYPES = frozenset({"str", "bytes", "int", "float", "bool", "list", "dict", "tuple", "set", "frozenset"})


def _words_of_value(value: ast.expr) -> list[str]:
    if isinstance(value, ast.Constant):
        text = value.value
        spelled = text.strip(_MARKS) if isinstance(text, str) else ""
        for prefix in _PLAIN_PREFIXES:
            spelled = spelled.removeprefix(prefix)
        spelled = _SEPARATORS.sub("_", spelled)
        words = words_of(spelled) if spelled.isidentifier() else []
        return words if len(words) <= _MAX_WORDS else []
    if isinstance(value, ast.Attribute):
        return words_of(value.attr)
    # A constant, or a class.
    is_told = isinstance(value, ast.Name) and (value.id[:1].isupper() or value.id in BUILTIN_TYPES)
    return words_of(value.id) if isinstance(value, ast.Name) and is_told else []


# What predicates without a second word ask for.
PREDICATES = {
    **{"isdir": "directory", "is_dir": "directory", "isfile": "file", "is_file": "file", "islink": "link"},
    **{"is_symlink": "link", "isclass": "class", "isfunction": "function", "ismethod": "method", "ismodule": "module"},
    **{"isgenerator": "generator", "iscoroutine": "coroutine", "callable": "callable"},
}


def _words_of_call(call: ast.Call) -> list[str]:
    name = noun_of(call.func) or ""
    if name in PREDICATES:
        return [PREDICATES[name]]
    if name == "isinstance" and len(call.args) == 2:
        type_name = noun_of(call.args[1])
        return words_of(type_name)[-3:] if type_name else []
    if name == "hasattr" and len(call.args) == 2:
        return _words_of_value(call.args[1])
    if name == "startswith" and len(call.args) == 1:
        return _words_of_value(call.args[0])
    words = words_of(name)
    if len(words) < 2 or words[0] not in {"is", "has"}:
        return []
    # The text that a predicate is asked about says more than its name.
    asked = [
        spelled
        for argument in call.args
        if isinstance(argument, ast.Constant) and (spelled := _words_of_value(argument))
    ]
    return asked[0] if asked else words[1:]


def description_of_pattern(pattern: ast.pattern) -> str | None:
    words: list[str] = []
    if isinstance(pattern, ast.MatchClass):
        words = words_of(noun_of(pattern.cls) or "")
    elif isinstance(pattern, ast.MatchValue):
        words = _words_of_value(pattern.value)
    elif isinstance(pattern, ast.MatchAs) and pattern.pattern is not None:
        return description_of_pattern(pattern.pattern)
    noun = "_".join(words[-3:])
    return noun if words and is_good_noun(noun) else None


def is_flag_test(test: ast.expr) -> bool:
    """Return whether a condition only asks for a name: what the name was set for is checked elsewhere."""
    operand = test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else test
    return isinstance(operand, ast.Name)


def tested_nouns(test: ast.expr, local_names: frozenset[str]) -> Iterator[str]:
    """Yield the local names and own attributes that a condition looks at; what it calls is none."""
    called = {id(node.func) for node in ast.walk(test) if isinstance(node, ast.Call)}
    for node in ast.walk(test):
        if id(node) in called:
            continue
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
            if not node.attr.startswith("__"):
                yield node.attr
        elif isinstance(node, ast.Name) and node.id in local_names and node.id not in ("self", "cls"):
            yield node.id
