"""Defines how the names and types of a language are resolved, as far as languages differ in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from runtime.codebase.language_parts.type_facts import FileFacts

if TYPE_CHECKING:
    from tree_sitter import Node

# What an import names: a module (Python), what a module exports (ECMAScript), a folder of files (Go), a type by its
# full name (Java), a path through modules and types (Rust), or the text of a file (C).
ImportStyle = Literal["module", "exports", "folder", "type", "path", "text"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TypeRules:
    """Declares how to extract a language's type facts, and how its names are looked up.

    `shares_package`: files of one package see each other's top-level names: those of the same folder, or those that
    declare the same package. `sees_members`: a bare name may mean a member of the object or class around it.
    `sees_class_names`: functions within a class see the names of its body. `unbound`: names that no scope binds belong
    to the language. `overloads`: definitions of one name in one scope are told apart by their arguments.
    """

    extract: Callable[[Node], FileFacts]
    imports: ImportStyle
    shares_package: Literal["", "folder", "declared"] = ""
    sees_members: bool = False
    sees_class_names: bool = True
    unbound_is_external: bool = False
    builtins: frozenset[str] = frozenset()
    overloads: bool = False
    # Whether a call of a class makes an object.
    constructs_by_call: bool = False
    call_method: str = ""
    constructor: str = ""
    enter_methods: tuple[str, ...] = ()
    iterator_method: str = ""
    index_method: str = ""
    # Bases that add no member that a program calls by name, and types that stand for the type of their argument.
    plain_bases: frozenset[str] = frozenset()
    transparent: frozenset[str] = frozenset()
    own_type: frozenset[str] = frozenset()
    awaited: frozenset[str] = frozenset()
    # Which argument of an external generic type its elements and its indexed values have; the methods that return an
    # element of the object or all of them; external functions and the type of their result.
    elements: Mapping[str, int] = field(default_factory=dict)
    indexed: Mapping[str, int] = field(default_factory=dict)
    element_methods: Mapping[str, int] = field(default_factory=dict)
    collection_methods: Mapping[str, int] = field(default_factory=dict)
    results: Mapping[str, str] = field(default_factory=dict)
    # External classes whose objects tell nothing of their type, such as type variables.
    opaque: frozenset[str] = frozenset()
