"""Knows by their text statements that say nothing: empty ones, and promises to write something later."""

from __future__ import annotations

import re
from collections.abc import Collection

from runtime.codebase.language_parts.idle_statements import PRINTS_BY_NAME

NOTHING = (
    r"None|Unit|default(?:\([\w.<>]*\))?|Default::default\(\)|Ok\(\(\)\)|Promise\.resolve\(\)|null"
    r"|nil|undefined|void\s+0|NULL|nullptr|\(\)|\{\}|\[\]|0|false|False|\"\"|''"
    r"|(?:dict|list|set|frozenset|tuple|str|bytes|int|float|bool|object)\(0?\)"
    r"|(?:Vec|VecDeque|String|HashMap|HashSet|BTreeMap|BTreeSet)::new\(\)|vec!\[\]"
    r"|new\s+(?:(?:Array|Linked)?List|(?:Linked)?Hash(?:Map|Set)|Tree(?:Map|Set)|Map|Set|Array|Object|Dictionary)"
    r"(?:<[^()]*>)?\(\)|Optional\.empty\(\)|(?:List|Set|Map)\.of\(\)|Collections\.empty\w+\(\)"
)
_NEVER_WRITTEN = r"throw\s+(?:new\s+)?[\w\\.]*(?:NotImplemented|Unimplemented|UnsupportedOperation|NotSupported)\w*\b.*"
# The head of a definition in a language that is not parsed here, with a body of one word.
_HEAD = re.compile(
    r"(?:(?:\w+\s+)*|[\w.]+\s*(?:<-|=)\s*)(?:func|fun|def|fn|function|sub|proc)\b[^=]*"
    rf"(?:=\s*(?:\?\?\?|null|nil|None|\(\)|{_NEVER_WRITTEN})?)?(?:\bend)?"
    r"|fatalerror\(.*\)",
    re.IGNORECASE,
)
_UNWRITTEN = r"(?i:not\s+(?:yet\s+)?implemented|todo)"
# Texts that say so, with whatever is inserted. Atomic, as a text may say it thousands of times.
_DOUBLE = rf'"(?>[^"]*?{_UNWRITTEN})[^"]*+"'
_QUOTED = rf"(?:{_DOUBLE}|'(?>[^']*?{_UNWRITTEN})[^']*+'|`(?>[^`]*?{_UNWRITTEN})[^`]*+`)"
_GO_ERROR = rf"(?:errors\.New|fmt\.Errorf)\(\s*{_QUOTED}.*\)"
# What stands below such a head and does nothing: a variable that gets a constant, a value dropped.
_IDLE_BELOW_HEAD = re.compile(
    rf"""(?:let|var|val|local|my|const)\s+[\w$@%(), ]+(?::\s*\w+\s*)?=\s*
        (?:{NOTHING}|@_|-?\d[\w.]*|"[^"{{$#\\]*"|'[^']*')
    | error\(\s*{_QUOTED}.*\) | _\s*=\s*[\w.$]+ | (?:return\s+)?(?:nothing|missing|undefined|NULL)""",
    re.VERBOSE,
)
# What names a type whose functions have bodies and gives it nothing, and what names what is used from elsewhere.
_TYPE_HEAD = re.compile(r"(?:(?!abstract\b)\w+\s+){0,6}(?:class|object|struct|enum|extension|module|package)\s+[\w.:]+")
_IMPORT = re.compile(
    r"(?:local|my)\s+[\w$]+\s*=\s*require\s*\(?\s*(?:\"[^\"]*\"|'[^']*')\s*\)?|(?:use|require|import)\s+[\w.:]+"
)
_PRINTS = re.compile(r"""(?:print(?:ln)?|puts|IO\.puts|NSLog|echo|say)\b\s*\(?\s*(?:@?"[^"{$#%\\]*"|'[^'$]*')?\s*\)?""")
_NAMED = re.compile(r"\b(?:func|fun|def|fn|function|sub|proc)\s+([\w.:]+)", re.IGNORECASE)
# What a body may say without doing anything, without blanks and closing marks.
_BARE = r"None|Unit|default(?:\([\w.<>]*\))?|Default::default\(\)|Ok\(\(\)\)|Promise\.resolve\(\)|null"
_SAYS_NOTHING = rf"""(?: pass | \.\.\. | return | return\s*\(?(?:{NOTHING})\)?(?:\s+as\s+\w+)? | {_BARE}
        | return\s+(?:{NOTHING})(?:\s*,\s*(?:{NOTHING}))+
        | return\s+{_GO_ERROR}
        | raise\s+{_QUOTED} | _\s*=\s*(?:{NOTHING}) | \(void\)\s*0
        | <\?php | package\s+[\w.]+ | global\s+\w+ | assert\s+(?:True|true|1)
        | try | finally | except\b[^:]* | catch\b[^:]* | (?:if|while)\s+\(?(?:True|False|true|false|0|1)\)?
        | (?:raise|fail)\s+NotImplemented(?:Error)?\b.*
        | raise\s+(?:Exception|RuntimeError)\(\s*(?:[bfruBFRU]{{0,2}}{_QUOTED}.*)?\)
        | (?:return\s+)?NotImplemented
        | {_NEVER_WRITTEN}
        | throw\s+new\s+[\w\\]*(?:Error|Exception)\(\s*{_QUOTED}.*\)
        | (?:(?:core|std)::)?(?:unimplemented|todo|unreachable)!\(.*\) | panic!?\(\s*(?:fmt\.Sprintf\(\s*)?{_QUOTED}.*\)
        | (?i:todo)\(.*\) | abort\(\) | fatal[Ee]rror\(.*\) | console\.log\(\s*{_QUOTED}\s*\)
        | None | null | nil | undefined | \(\) | \?\?\? | else | end | do | begin | then | default: | else:
        | (?:\#|//|--|/\*|<!--|;|%)?\s*(?i:todo|fixme|xxx|tbd|not\s+(?:yet\s+)?implemented)\b.*
    )"""
_EMPTY = re.compile(_SAYS_NOTHING, re.VERBOSE)
# Where keywords are written in any case, or it is not known how the language writes them.
_EMPTY_IN_ANY_CASE = re.compile(_SAYS_NOTHING, re.IGNORECASE | re.VERBOSE)
_REFUSES = re.compile(r"throw\s+(?:new\s+)?[\w\\.]*(?:UnsupportedOperation|NotSupported)")
_RETURNED = re.compile(r"(?:return\s+)?(\w+)")
# What follows the head of a definition on its line.
_BESIDE_HEAD = re.compile(r"\)\s*,?\s*(?:do:|(?=(?:return|local|error)\b))")
_END = re.compile(r"(?<=\S)\s+end$")
_MARKS = re.compile(r"[\s{}()\[\];,:]*")
_SPLIT = re.compile(r"[;\n{}]")
# Texts, in which none of those ends a part; what is escaped outside of one begins none.
_TEXT = re.compile(r"""\\.|"(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+'|`[^`]*+`""", re.DOTALL)
# An error that says that nothing is written yet, under a name, and what raises it.
_KEPT = re.compile(
    rf"(?:new\s+)?(?>[\w.:\\]*?(?:NotImplemented|Unimplemented))\w*+(?:\(.*\))?|(?:new\s+)?\w*(?:Error|Exception)\(\s*{_QUOTED}.*\)"
    rf"|{_GO_ERROR}",
    re.DOTALL,
)
_RAISED = re.compile(r"(?:raise|throw)\s+(\w+)(?:\(.*\))?(?:\s+from\s+None)?", re.DOTALL)
# Each value up to its comma in one way alone, as values may be long.
_GIVEN = re.compile(rf"(?:[^,;(){{}}\"'`]*+(?:\(\)|\{{\}})?,){{0,8}}\s*+{_GO_ERROR}", re.DOTALL)


def says_nothing(
    text: str, *, names: Collection[str] = (), any_case: bool = True, has_heads: bool = False, refuses: bool = False
) -> bool:
    """Return whether no part of a text does anything.

    Args:
        text: Statements, without what is known to be no work.
        names: Words that mean nothing in other languages, and are names in that of the text.
        any_case: Whether keywords may be written in any case.
        has_heads: Whether heads of definitions were not taken out of the text.
        refuses: Whether to say that an operation is not supported is what the text is for.
    """
    empty = _EMPTY_IN_ANY_CASE if any_case else _EMPTY
    text = _TEXT.sub(_in_one_part, text)
    parts = _SPLIT.split(_BESIDE_HEAD.sub(")\n", text) if has_heads else text)
    is_body = has_heads and any(_HEAD.fullmatch(part.strip().rstrip(",:").strip()) for part in parts)
    may_print = not is_body or any(map(PRINTS_BY_NAME.search, _NAMED.findall(text)))
    imports = said_nothing = 0
    for part in parts:
        said = part.strip().removeprefix("=>").removeprefix("=").rstrip(",:").strip()
        if not said or _MARKS.fullmatch(said):
            continue
        if (returned := _RETURNED.fullmatch(said)) is not None and returned[1] in names:
            return False
        if refuses and _REFUSES.match(said):
            return False
        if has_heads and _HEAD.fullmatch(said):
            continue
        said = _END.sub("", said) if has_heads else said
        if is_body and _TYPE_HEAD.fullmatch(said):
            continue
        if is_body and _IMPORT.fullmatch(said):
            imports += 1
            continue
        said_nothing += 1
        if is_body and (_IDLE_BELOW_HEAD.fullmatch(said) or (_PRINTS.fullmatch(said) and not may_print)):
            continue
        if not empty.fullmatch(said):
            return False
    return not imports or said_nothing > 0


def is_unwritten_error(value: str) -> bool:
    """Return whether a value is an error that says that nothing is written yet."""
    return _KEPT.fullmatch(value.strip()) is not None


def raised_name(statement: str) -> str | None:
    """Return the name that a statement raises; None of anything else."""
    found = _RAISED.fullmatch(statement)
    return None if found is None else found[1]


def gives_unwritten_error(values: str) -> bool:
    """Return whether the last of some values that are returned, in Go, is an error that nothing is written yet."""
    return _GIVEN.fullmatch(values) is not None


def _in_one_part(text: re.Match[str]) -> str:
    return _SPLIT.sub(" ", text[0]) if len(text[0]) > len("{}") else text[0]
