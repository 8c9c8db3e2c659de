"""Tells whether new functions of a file are named in camelCase or in lower case with underscores."""

from __future__ import annotations

import ast

from actors.capabilities.violation_fix.refactoring.complexity import Function
from actors.capabilities.violation_fix.refactoring.naming.name_words import in_camel_case, words_of


def names_in_camel_case(tree: ast.Module, own: str) -> bool:
    """Return whether most functions of a file, those of one word left out, are named in camelCase.

    Beside a function that is named in lower case with underscores, nothing is.
    """
    names = [node.name.strip("_") for node in ast.walk(tree) if isinstance(node, Function)]
    camel = sum(_is_camel_case(name) for name in names)
    is_lower = "_" in own.strip("_") and own.islower()
    return not is_lower and 2 * camel > camel + sum("_" in name for name in names) > 0


def in_style(name: str, *, is_camel_case: bool) -> str:
    """Return a private name in the style of the file; one that has it already stays as it is."""
    bare = name.strip("_")
    if is_camel_case:
        return name if "_" not in bare else in_camel_case(name)
    return "_" + "_".join(words_of(bare)) if _is_camel_case(bare) else name


def _is_camel_case(name: str) -> bool:
    return name[:1].islower() and not name.islower() and "_" not in name
