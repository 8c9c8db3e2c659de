"""Reads declarations of options: calls and attributes that give an option a name and a default value.

`add_argument("--port", default=80)`, `field(default=80)`, `Option(80, type=int)`, `flag.Int("port", 80, "…")`,
`.option("-p, --port <n>", "…", 80)`, `Arg::new("port").default_value("80")` and `#[arg(default_value_t = 80)]`.
"""

from __future__ import annotations

import re

from runtime.codebase.language_parts.value_syntax import Reading
from runtime.codebase.resolution.default_values.value_expressions import (
    Value,
    closes_at_end,
    path_of,
    read_value,
)
from runtime.codebase.resolution.default_values.value_tokens import Token, split_at, text_between, tokens_of

_KEYWORDS = frozenset({"default", "default_value", "defaultValue", "Default", "default_factory", "dflt"})
_FIRST = frozenset({"Option", "Setting"})
_FLAG = re.compile(
    r"(?:Bool|U?[Ii]nt(?:8|16|32|64)?|Float(?:32|64)|String|Duration|Uint(?:64)?|Count)(?:Slice)?(Var)?(P)?"
)
_NAME = re.compile(r"[A-Za-z_][\w.\-]*")
_LONG = re.compile(r"--(?:\[?no-?\]?)?([A-Za-z][\w\-]*)")
_MARKED = re.compile(r"\bdefault(?:_value(?:_t|s_t)?)?\s*=\s*(.+)", re.DOTALL)
_CLAP = re.compile(r"\.long\(\s*\"([\w\-]+)\"|\bArg::new\(\s*\"([\w\-]+)\"")
_CLAP_DEFAULT = re.compile(r"\.default_(?:missing_)?value(?:_t)?\s*\((.*)\)$", re.DOTALL)
# A longer attribute is not looked through for a function.
MAX_MARK_CHARS = 2_000
# `#[serde(default = "retries")]` calls the function `retries`.
_BY_FUNCTION = re.compile(r"\bserde\s*\(.*?\bdefault\s*=\s*\"([A-Za-z_]\w*)\"", re.DOTALL)
_TAGGED = re.compile(r"\b(?:default|envDefault|env-default)(?::(\"[^\"`]{1,60}\")|=([^\",`\s]{1,60}))")
_FACTORIES = {"list": "[]", "dict": "{}", "set": "set()", "tuple": "()"}


def default_in(text: str, reading: Reading, *, takes_first: bool = True) -> Value | None:
    """Return the default that a call declares for what it is assigned to; None for other expressions.

    `takes_first`: the first argument of `Option(80, type=int)` is the default.
    """
    called = _called(text, reading)
    if called is None:
        return None
    callee, given = called
    for argument in given:
        key = argument[0].text if len(argument) > 2 and argument[1].text in {"=", ":"} else ""
        if key in _KEYWORDS:
            said = text_between(text, argument[2:])
            return Value(_FACTORIES[said]) if said in _FACTORIES else read_value(said, reading)
    last = (path_of(callee) or ("",))[-1]
    if takes_first and last in _FIRST and given and given[0] and not (len(given[0]) > 1 and given[0][1].text == "="):
        found = read_value(text_between(text, given[0]), reading)
        return found if found is not None and found.is_literal else None
    return None


def declared_option(text: str, reading: Reading) -> tuple[tuple[str, ...], Value] | None:
    """Return the names and the default of the option that a call declares; None for other calls."""
    clap = _CLAP_DEFAULT.search(text)
    if clap is not None:
        names = [one or other for one, other in _CLAP.findall(text[: clap.start()])]
        value = read_value(clap.group(1), reading)
        return ((names[-1],), value) if names and value is not None else None
    called = _called(text, reading)
    if called is None:
        return None
    callee, given = called
    strings = [(at, _plain(one[0].text)) for at, one in enumerate(given) if len(one) == 1 and one[0].kind == "string"]
    names = [name for _, said in strings for name in _LONG.findall(said)]
    value = default_in(text, reading, takes_first=False)
    if not names and value is not None and strings[:1] and _NAME.fullmatch(strings[0][1]):
        names = [strings[0][1]]
    if names and value is not None:
        return tuple(dict.fromkeys(names)), value
    last = (path_of(callee) or ("",))[-1]
    flag = _FLAG.fullmatch(last)
    place = None
    if flag is not None and "flag" in callee.lower() and strings:
        place = strings[0][0] + (2 if flag.group(2) else 1)
        names = [strings[0][1]]
    elif last in {"option", "addOption"} and len(given) == 3 and names:
        place = 2
    if place is None or place >= len(given):
        return None
    value = read_value(text_between(text, given[place]), reading)
    return None if value is None else (tuple(names), value)


def marked_default(text: str, reading: Reading) -> Value | None:
    """Return the default that an attribute of a field declares."""
    inside = text[text.find("(") + 1 : text.rfind(")")]
    by_function = _BY_FUNCTION.search(text[:MAX_MARK_CHARS])
    if by_function is not None:
        return Value(by_function.group(1), (by_function.group(1),))
    tokens = tokens_of(inside, hash_comments=False)
    for part in split_at(tokens, frozenset({","})) if tokens else ():
        found = _MARKED.match(text_between(inside, part))
        if found is not None:
            return read_value(found.group(1), reading)
    return None


def tagged_default(tag: str) -> Value | None:
    """Return the default in the tag of a field: `default:"80"`, `env:"PORT,default=80"`; None without one."""
    found = _TAGGED.search(tag[:MAX_MARK_CHARS])
    return None if found is None else Value(found.group(1) or found.group(2))


def _called(text: str, reading: Reading) -> tuple[str, list[list[Token]]] | None:
    """Return the function and the arguments of a text that is one call."""
    tokens = tokens_of(text, hash_comments=reading.hash_comments)
    if not tokens or tokens[-1].text != ")":
        return None
    opening = next((at for at in range(len(tokens)) if closes_at_end(tokens, at)), 0)
    if opening == 0 or tokens[opening - 1].kind != "name":
        return None
    return tokens[opening - 1].text, split_at(tokens[opening + 1 : -1], frozenset({","}))


def _plain(quoted: str) -> str:
    return quoted.strip("\"'`:")
