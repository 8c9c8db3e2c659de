"""Reads the text of a value: a literal, names that lead to one, or a value with a fallback.

`read_value` understands literals, arithmetic of literals and names, collections, conversions and durations
(`int(5)`, `Duration::from_secs(3)`), and the fallbacks of the indexed languages: `x or 5`, `x ?? 5`, `x.unwrap_or(5)`,
`getenv("X", "5")`, `x is None ? 5 : x`. Anything else is unreadable, and no value is told of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from runtime.codebase.language_parts.value_syntax import Reading
from runtime.codebase.resolution.default_values.value_tokens import (
    Token,
    closing,
    split_at,
    text_between,
    tokens_of,
)
from runtime.codebase.resolution.default_values.word_sets import words

MAX_SHOWN_CHARS = 80
MAX_NESTING = 12
# A longer condition tests more than one name.
MAX_CONDITION_CHARS = 400

# Words that stand for a value of their own in one of the languages.
LITERAL_WORDS = words("true false True False TRUE FALSE nil null NULL None nullptr undefined Infinity NaN YES NO")
_ARITHMETIC = frozenset(("+", "-", "*", "/", "%", "|", "&", "^", "~", "<<", ">>", "**", "//"))
_GROUPING = frozenset(("(", ")", "[", "]", "{", "}", ",", ":", "=>", "="))
_BINARY = _ARITHMETIC - {"+", "-", "~"}
_KEYWORDS = words("lambda async await function fn func yield not class typeof delete if for in is")
# Functions that only convert, measure or collect what they are given, and types that do so when called.
_CONVERSIONS = words(
    """
    int float str bool bytes list tuple set dict frozenset Number String Boolean BigInt Set Map Array Object Symbol
    int8 int16 int32 int64 uint uint8 uint16 uint32 uint64 float32 float64 string byte rune int32_t int64_t uint32_t
    uint64_t size_t Duration timedelta Decimal Fraction Path Some Ok Box Rc Arc Cow Integer Long Double Float Short
    from_secs from_millis from_micros from_nanos from_secs_f64 from_secs_f32 from_mins from_hours seconds
    milliseconds microseconds nanoseconds minutes hours days ofSeconds ofMillis ofMinutes ofHours ofDays ofNanos
    valueOf parseInt parseFloat parseLong parseDouble parseBoolean asList listOf setOf mapOf emptyList of
    FromSeconds FromMilliseconds FromMinutes FromHours FromDays new freeze from into to_string to_owned to_vec
    as_str as_bytes vec to_i to_f to_s to_sym strip toMillis toSeconds atoi strtol array range Vec
    """
)
_TYPES = words(
    """
    int long short char float double void bool byte unsigned signed size_t ssize_t string str usize isize u8 u16 u32
    u64 i8 i16 i32 i64 f32 f64 uint ulong ushort const boolean
    """
)
_ENDINGS = words("freeze into to_string to_owned to_vec as_str as_bytes to_sym to_i to_f to_s unwrap")
_UNITS = words("second seconds minute minutes hour hours day days milliseconds megabytes kilobytes")
# Calls of these read a value under a name and return the second argument if there is none.
_LOOKUPS = words(
    """
    get getenv getattr fetch pop setdefault getOrDefault getProperty getInteger getLong getBoolean getString getInt
    environ_get GetString GetInt config dig getEnv env optional get_env
    """
)
_ELSES = words("unwrap_or unwrap_or_else orElse orElseGet getOrElse ValueOr value_or GetValueOrDefault")
_ABSENT = re.compile(
    r"""^(?:(?P<is>[\w$@.\->\[\]:'"?!]+?)(?:\s+is\s+None|\s*===?\s*(?:None|null|nil|NULL|nullptr|undefined|""|''|0)
    |\s*<=?\s*0|\s*<\s*1|\s*===?\s*-1|\.is_none\(\)|\.nil\?|\.isEmpty\(\)|\s+is\s+null|\.empty\(\))
    |(?:!\s*|not\s+)(?P<not>[\w$@.\->\[\]:'"?]+)
    |typeof\s+(?P<typeof>[\w$.]+)\s*===?\s*['"]undefined['"])$""",
    re.VERBOSE,
)
_PRESENT = re.compile(
    r"""^(?P<is>[\w$@.\->\[\]:'"?!]+?)(?:\s+is\s+not\s+None|\s*!==?\s*(?:None|null|nil|NULL|nullptr|undefined|""|''|0)
    |\.is_some\(\)|\s+is\s+not\s+null)?$""",
    re.VERBOSE,
)
# What has to hold for a name to be returned as it is: `w.size > 0`, `c.dial != nil`.
_GIVEN = re.compile(
    r"""^(?P<is>[\w$@.\->]+?)(?:\s*(?:>\s*0|>=\s*1|!=\s*(?:0|nil|null|None|"")))?$|^len\((?P<of>[\w.]+)\)\s*(?:>|!=)\s*0$""",
    re.VERBOSE,
)
_INDEX = re.compile(r"\[\s*(?::(\w+)|[\"']([\w.\-]+)[\"'])\s*\]")
_ALTERNATIVE = re.compile(r"\s*\|\|\s*|\s+or\s+")
_NAME_PART = re.compile(r"[\w$\-]{1,120}")
_STEPS = re.compile(r"\?\.|->|::|[.#]")


class Value(msgspec.Struct, frozen=True):
    """Describes what the text of a value says.

    `text`: the expression whose value it has, the fallback's for one with a fallback; `names`: the names in it that
    have to be followed; `primary`: the name that is read first, whose absence leads to the fallback.
    """

    text: str
    names: tuple[str, ...] = ()
    primary: str = ""
    has_fallback: bool = False

    @property
    def is_literal(self) -> bool:
        """True if no name has to be followed."""
        return not self.names


def path_of(name: str) -> tuple[str, ...]:
    """Return the parts of a dotted name as code writes it, empty for other text: `self.x`, `p->x`, `@x`, `opts[:x]`."""
    flat = _INDEX.sub(lambda found: f".{found.group(1) or found.group(2)}", name.strip())
    parts = [part.strip("$@*&?!:()\"' ") for part in _STEPS.split(flat)]
    return tuple(parts) if parts and all(map(_NAME_PART.fullmatch, parts)) else ()


def absent_name(condition: str) -> str | None:
    """Return the name whose absence a condition tests: `x is None`, `!x`, `x == 0`; None for other conditions.

    Of alternatives the first one counts: `x < 0 || x > most`.
    """
    found = _ABSENT.match(_unbracketed(_ALTERNATIVE.split(_unbracketed(condition))[0]))
    return next((name for name in found.groups() if name), None) if found is not None else None


def given_name(condition: str) -> str | None:
    """Return the name of which a condition tests that it has a value; None for other conditions."""
    found = _GIVEN.match(_unbracketed(condition))
    return next((name for name in found.groups() if name), None) if found is not None else None


def _unbracketed(condition: str) -> str:
    text = " ".join(condition.split())
    while len(text) <= MAX_CONDITION_CHARS and text.startswith("(") and _first_closing(text) == len(text) - 1:
        text = text[1:-1].strip()
    return text


def _first_closing(text: str) -> int:
    """Return the position of the bracket that closes the first one; -1 if none does."""
    depth = 0
    for at, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return at
    return -1


def read_value(text: str, reading: Reading) -> Value | None:
    """Return what a value says; None if it cannot be read as a literal, as names or as one with a fallback."""
    tokens = tokens_of(text, hash_comments=reading.hash_comments)
    return None if not tokens else _read(text, tokens, reading, 0)


def _read(text: str, tokens: list[Token], reading: Reading, nesting: int) -> Value | None:
    tokens = _unwrapped(tokens)
    if not tokens or nesting > MAX_NESTING:
        return None
    parts = split_at(tokens, reading.fallbacks) if reading.fallbacks else [tokens]
    if len(parts) > 1:
        return _with_fallback(text, text_between(text, parts[0]), _read(text, parts[-1], reading, nesting + 1))
    chosen = _conditional(text, tokens, reading, nesting)
    if chosen is not None:
        return chosen
    called = _call(text, tokens, reading, nesting)
    return called if called is not None else _plain(text, tokens)


def _unwrapped(tokens: list[Token]) -> list[Token]:
    """Drop brackets around the whole, casts to numbers, the marks of references, and conversions behind a literal."""
    while tokens:
        shorter = _without_ending(tokens)
        if shorter is not tokens:
            tokens = shorter
            continue
        first = tokens[0]
        if first.text == "(" and first.kind == "operator":
            end = closing(tokens, 0)
            if end == len(tokens) - 1 and end > 1 and not any(t.text == "," for t in tokens):
                tokens = tokens[1:end]
                continue
            if 1 < end < len(tokens) - 1 and all(_is_type(token) for token in tokens[1:end]):
                tokens = tokens[end + 1 :]
                continue
        if first.text == "&" or (first.kind == "name" and first.text == "new"):
            tokens = tokens[1:]
            continue
        return tokens
    return tokens


def _is_type(token: Token) -> bool:
    return token.text in _TYPES or (token.kind == "name" and token.text.endswith("_t"))


def _without_ending(tokens: list[Token]) -> list[Token]:
    rest = tokens[:-2] if [token.text for token in tokens[-2:]] == ["(", ")"] else tokens
    if len(rest) > 2 and rest[-2].text == "." and rest[-1].text in _ENDINGS:
        return rest[:-2]
    return tokens


def _with_fallback(text: str, primary: str, fallback: Value | None) -> Value | None:
    return None if fallback is None else msgspec.structs.replace(fallback, primary=primary, has_fallback=True)


def _conditional(text: str, tokens: list[Token], reading: Reading, nesting: int) -> Value | None:
    """Read `x === undefined ? 5 : x`, `x ? x : 5` and `5 if x is None else x` as values with a fallback."""
    asked = split_at(tokens, frozenset({"?"}))
    if len(asked) > 1:
        # In a chain of them the first one decides; what follows it is the other.
        first, *others = split_at(asked[1], frozenset({":"}))
        behind = [token for part in (*others, *asked[2:]) for token in part]
        condition, options = asked[0], [first, behind] if len(others) == 1 else []
    else:
        by_word = split_at(tokens, frozenset({"if"}))
        rest = split_at(by_word[1], frozenset({"else"})) if len(by_word) == 2 else []
        condition, options = (rest[0], [by_word[0], rest[1]]) if len(rest) == 2 else ([], [])
    if not condition or not options:
        return None
    said, (one, other) = text_between(text, condition), options
    absent, present = absent_name(said), _PRESENT.match(said)
    if absent is not None and text_between(text, other) == absent:
        return _with_fallback(text, absent, _read(text, one, reading, nesting + 1))
    if absent is not None and _is_missing(said):
        # What it is otherwise may depend on more: `x === undefined ? 5 : x === -1 ? null : x`.
        found = _with_fallback(text, absent, _read(text, one, reading, nesting + 1))
        return found if found is not None and found.is_literal else None
    if present is not None and text_between(text, one) == present["is"]:
        return _with_fallback(text, present["is"], _read(text, other, reading, nesting + 1))
    return None


def _is_missing(condition: str) -> bool:
    """Return whether a condition tests that nothing was given, and not that a number is too small."""
    return re.search(r"\b(?:undefined|null|nil|None|nullptr|NULL)\b", condition) is not None


def _call(text: str, tokens: list[Token], reading: Reading, nesting: int) -> Value | None:
    """Read a lookup with a fallback, a value or else another, or the conversion of one value."""
    if len(tokens) < 3 or tokens[-1].text not in ")}" or tokens[-1].kind != "operator":
        return None
    opening = next((at for at, t in enumerate(tokens) if closes_at_end(tokens, at)), None)
    if opening is None or opening == 0 or tokens[opening - 1].kind != "name":
        return None
    callee, inside = tokens[opening - 1].text, tokens[opening + 1 : -1]
    last = (path_of(callee) or ("",))[-1]
    before = tokens[: opening - 1]
    given = split_at(inside, frozenset({","}))
    if last in _ELSES and len(given) == 1:
        subject = text_between(text, before) or callee.rpartition(".")[0]
        return _with_fallback(text, subject, _read(text, _body(given[0]), reading, nesting + 1))
    if before:
        return None
    key = _looked_up(callee, last, given)
    if key:
        return _with_fallback(text, key, _read(text, given[-1], reading, nesting + 1))
    if last in _CONVERSIONS and len(given) == 1 and given[0]:
        inner = _read(text, given[0], reading, nesting + 1)
        if inner is not None and inner.has_fallback:
            return inner
    return None


def _looked_up(callee: str, last: str, given: Sequence[Sequence[Token]]) -> str:
    """Return the literal key of a lookup whose last argument is its fallback; empty for other calls."""
    is_of_environment = "env" in callee.lower()
    if len(given) not in {2, 3} or not (is_of_environment or last in _LOOKUPS):
        return ""
    key = given[0] if is_of_environment and given[0] and given[0][-1].kind == "string" else given[-2]
    return key[-1].text if key and key[-1].kind == "string" else ""


def closes_at_end(tokens: Sequence[Token], at: int) -> bool:
    """Return True for a bracket that the last token closes."""
    token = tokens[at]
    return token.text == "(" and token.kind == "operator" and closing(tokens, at) == len(tokens) - 1


def _body(tokens: list[Token]) -> list[Token]:
    """Return the body of a function without statements, or the tokens themselves: `|_| 5`, `() -> 5`."""
    if tokens and tokens[0].text in {"||", "|"}:
        end = next((at for at, token in enumerate(tokens) if at and token.text == "|"), 0)
        return tokens[end + 1 :]
    arrow = next((at for at, token in enumerate(tokens) if token.text in {"->", "=>"}), None)
    return tokens if arrow is None else tokens[arrow + 1 :]


def _plain(text: str, tokens: list[Token]) -> Value | None:
    """Read literals, names and what arithmetic, conversions and collections make of them."""
    names: list[str] = []
    is_value = False
    if tokens[0].text in _BINARY or any(token.text == "=>" and not token.depth for token in tokens):
        return None
    for at, token in enumerate(tokens):
        following = tokens[at + 1].text if at + 1 < len(tokens) else ""
        if token.kind == "operator":
            is_unit = token.text == "." and following in _UNITS and at and tokens[at - 1].kind == "number"
            if token.text not in _ARITHMETIC | _GROUPING and not is_unit:
                return None
            is_value = is_value or token.text in "[{"
        elif token.kind == "name" and _is_said(tokens, at, following):
            is_value = is_value or token.text in LITERAL_WORDS
        elif not _may_follow(tokens, at) or (token.kind == "name" and not _may_be_followed(token, following)):
            return None
        else:
            names += [token.text] if token.kind == "name" else []
            is_value = True
    shown = text_between(text, tokens)
    if not is_value or not shown or (len(shown) > MAX_SHOWN_CHARS and len(names) != 1):
        return None
    return Value(shown, tuple(dict.fromkeys(names)))


def _may_be_followed(token: Token, following: str) -> bool:
    """Return False for the name of a call, of a type before its fields, and for a keyword."""
    is_called = following in {"(", "!"} or (following == "{" and token.text[:1].isupper())
    return not is_called and token.text not in _KEYWORDS and bool(path_of(token.text))


def _is_made_of_literals(tokens: Sequence[Token], at: int, name: str) -> bool:
    """Return whether a class is called and given literals alone, at least one: `Timeout(timeout=5.0)`."""
    is_class = name[:1].isupper() and not name.isupper()
    given = [(tokens[one], tokens[one + 1]) for one in range(at + 2, closing(tokens, at + 1))] if is_class else []
    keys = {":", "=", "=>"}
    return bool(given) and all(
        token.kind != "name" or token.text in LITERAL_WORDS or following.text in keys for token, following in given
    )


def _is_said(tokens: Sequence[Token], at: int, following: str) -> bool:
    """Return True for a name that is no value of its own: a literal word, a key, a type or a conversion."""
    token = tokens[at]
    if token.text in LITERAL_WORDS or token.text in {"new", "vec!"}:
        return True
    if token.text in _UNITS and at > 1 and tokens[at - 1].text == ".":
        return True
    last = (path_of(token.text) or ("",))[-1]
    if following == "(" and (last in _CONVERSIONS or token.text.rstrip("!") in _CONVERSIONS):
        return True
    if following in {":", "=", "=>"} and token.depth > 0:
        return True
    if following == "(" and _is_made_of_literals(tokens, at, last):
        return True
    # The type of a collection: `[]string{"a"}`, `map[string]int{…}`; `5 as usize`.
    is_type = token.text in _TYPES or token.text in {"map", "as"}
    return is_type and (following in {"{", "[", "]", "", ","} or token.text in {"as", "map"} or following in _TYPES)


def _may_follow(tokens: Sequence[Token], at: int) -> bool:
    """Return False for a value right behind another one: that is no expression of the common ground."""
    if at == 0:
        return True
    before = tokens[at - 1]
    if before.kind in {"string", "number"}:
        return tokens[at].kind == "string" == before.kind or tokens[at].text.startswith(".")
    if before.kind == "name":
        return before.text in {"new", "as", "vec!"}
    return before.text not in {")"}
