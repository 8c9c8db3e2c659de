"""Defines the types that annotations are made of, by the names of where they are defined."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

UNION = "Union"
PARAMETER_LIST = "[]"
# Begins the name of what is written as it stands, such as a value of Literal.
VERBATIM = "="
_TEXTS = (VERBATIM + "'", VERBATIM + '"')
# Classes of `typing` that stand for a builtin one.
BUILTIN_ALIASES = {
    **{f"typing.{name}": name.lower() for name in ("List", "Dict", "Set", "Tuple", "Type")},
    "typing.FrozenSet": "frozenset",
    "typing.Text": "str",
}
_NAMES_IN_ABC = frozenset(
    {
        *("AsyncGenerator", "AsyncIterable", "AsyncIterator", "Awaitable", "Callable", "Collection", "Container"),
        *("Coroutine", "Generator", "Hashable", "ItemsView", "Iterable", "Iterator", "KeysView", "Mapping"),
        *("MutableMapping", "MutableSequence", "MutableSet", "Reversible", "Sequence", "Sized", "ValuesView"),
    }
)
_ITERATED = frozenset(
    {
        *("list", "set", "frozenset", "enumerate", "zip", "reversed", "dict", "collections.deque"),
        *(f"typing.{name}" for name in ("Iterable", "Iterator", "Sequence", "Collection", "Generator", "KeysView")),
        *(f"typing.{name}" for name in ("MutableSequence", "MutableSet", "AbstractSet", "Mapping", "MutableMapping")),
        *("typing.AsyncIterable", "typing.AsyncIterator", "typing.Reversible", "collections.abc.Set", "typing.IO"),
        *("typing.Deque", "typing.DefaultDict", "typing.OrderedDict", "collections.defaultdict", "typing.ValuesView"),
        *("collections.OrderedDict", "collections.Counter", "collections.abc.KeysView"),
    }
)
_ELEMENTS = {"str": "str", "bytes": "int", "range": "int", "typing.TextIO": "str", "typing.BinaryIO": "bytes"}
MAPPINGS = frozenset(
    {
        *("dict", "collections.defaultdict", "collections.OrderedDict", "typing.Mapping", "typing.MutableMapping"),
        *("typing.DefaultDict", "typing.OrderedDict"),
    }
)
SEQUENCES = frozenset({"list", "typing.Sequence", "typing.MutableSequence", "collections.deque", "typing.Deque"})
# Without arguments, what they hold may be anything.
_BARE = frozenset({"list", "set", "frozenset", "dict", "tuple"})
# How many arguments a generic class takes; strict checkers ask for them.
ARITIES = {
    **dict.fromkeys(("list", "set", "frozenset", "type", "collections.deque", "collections.Counter"), 1),
    **dict.fromkeys(MAPPINGS, 2),
    **dict.fromkeys(("typing.ItemsView", "typing.AsyncGenerator", "collections.ChainMap", "typing.ChainMap"), 2),
    **dict.fromkeys(("typing.Generator", "typing.Coroutine"), 3),
    **dict.fromkeys(
        (f"typing.{name}" for name in ("Iterable", "Iterator", "Sequence", "Collection", "Container", "Reversible")), 1
    ),
    **dict.fromkeys(
        (f"typing.{name}" for name in ("MutableSequence", "MutableSet", "AbstractSet", "KeysView", "ValuesView")), 1
    ),
    **dict.fromkeys((f"typing.{name}" for name in ("Awaitable", "AsyncIterable", "AsyncIterator", "Deque")), 1),
    **dict.fromkeys(("collections.abc.Set", "typing.Counter"), 1),
}
# One may be passed where the other is asked for.
_WIDENED = {("bool", "int"), ("int", "float"), ("bool", "float")}


@dataclass(frozen=True, slots=True)
class Type:
    """Names a type, such as `list` or `package.module.Class`, with its arguments."""

    name: str
    arguments: tuple[Type, ...] = ()

    def walk(self) -> Iterator[Type]:
        yield self
        for argument in self.arguments:
            yield from argument.walk()


NONE = Type("None")
BOOL, INT, FLOAT, STR, BYTES = (Type(name) for name in ("bool", "int", "float", "str", "bytes"))
OPAQUE = frozenset({"typing.Any", "object"})


def named(name: str, *arguments: Type) -> Type:
    """Return a type by its full name; names that mean the same class become one."""
    name = BUILTIN_ALIASES.get(name, name)
    module, _, last = name.rpartition(".")
    if module == "collections.abc" and last in _NAMES_IN_ABC:
        name = f"typing.{last}"
    if name == "typing.Optional" and len(arguments) == 1:
        return union([*arguments, NONE])
    if name == "typing.Union":
        return union(arguments)
    return Type(name, arguments)


def spellings(name: str) -> list[str]:
    """Return the full names under which a class can be imported."""
    aliases = [alias for alias, builtin in BUILTIN_ALIASES.items() if builtin == name and alias != "typing.Text"]
    module, _, last = name.rpartition(".")
    if module == "typing" and last in _NAMES_IN_ABC:
        aliases.append(f"collections.abc.{last}")
    return [*aliases, name]


def union(members: Iterable[Type]) -> Type:
    """Return the union of some types, None as the last of them."""
    flat: list[Type] = []
    for member in members:
        flat += members_of(member)
    unique = [member for member in dict.fromkeys(flat) if STR not in flat or not _is_literal_text(member)]
    if NONE in unique:
        unique = [*(member for member in unique if member != NONE), NONE]
    return unique[0] if len(unique) == 1 else Type(UNION, tuple(unique))


def _is_literal_text(type_: Type) -> bool:
    """Return whether a type is a Literal of texts alone: beside `str` it says nothing."""
    is_literal = type_.name.rpartition(".")[2] == "Literal"
    return is_literal and all(argument.name[:2] in _TEXTS for argument in type_.arguments)


def members_of(type_: Type) -> tuple[Type, ...]:
    return type_.arguments if type_.name == UNION else (type_,)


def without_none(type_: Type) -> Type:
    left = [member for member in members_of(type_) if member != NONE]
    return union(left) if left else type_


def admits_none(type_: Type) -> bool:
    return any(member == NONE or member.name in OPAQUE for member in members_of(type_))


def is_compatible(given: Type, wanted: Type) -> bool:
    """Check that a value of one type may be passed for another, as far as their names tell."""
    if given == wanted or wanted.name in OPAQUE:
        return True
    accepted = members_of(wanted)
    return all(
        member in accepted or any((member.name, each.name) in _WIDENED for each in accepted)
        for member in members_of(given)
    )


def joined(types: Iterable[Type | None]) -> Type | None:
    """Return the one type that all values have; None where they differ or one is unknown."""
    found = list(types)
    if NONE in found and any(each != NONE for each in found):
        others = joined(each for each in found if each != NONE)
        return union([others, NONE]) if others is not None else None
    first = found[0] if found else None
    if first is None or any(each is None for each in found):
        return None
    widest = first
    for each in found[1:]:
        assert each is not None
        if is_compatible(widest, each):
            widest = each
        elif not is_compatible(each, widest):
            return None
    return widest


def dict_of(given: Type | None) -> Type | None:
    """Return the type of a `dict` that is made of a mapping or of pairs; None if what is in it is not known."""
    if given is None:
        return None
    pair = given if given.name in MAPPINGS else element_of(given)
    is_pair = pair is not None and (pair is given or pair.name == "tuple") and len(pair.arguments) == 2
    return Type("dict", pair.arguments) if pair is not None and is_pair and pair.arguments[1] != Type("...") else None


def element_of(type_: Type | None) -> Type | None:
    """Return what iteration over a type yields; None in a union was excluded before."""
    if type_ is None:
        return None
    type_ = without_none(type_)
    if type_.name == "typing.Any":
        return type_
    if type_.name in _ELEMENTS and not type_.arguments:
        return Type(_ELEMENTS[type_.name])
    if type_.name == "tuple" and type_.arguments:
        return joined(argument for argument in type_.arguments if argument.name != "...")
    if type_.name == "typing.ItemsView" and len(type_.arguments) == 2:
        return Type("tuple", type_.arguments)
    if type_.name in _BARE and not type_.arguments:
        return Type("typing.Any")
    if type_.name in _ITERATED and type_.arguments:
        return type_.arguments[0]
    return None
