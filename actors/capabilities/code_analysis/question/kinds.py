"""Which words make a question one of a kind: a table, of which the first line that matches decides."""

from __future__ import annotations

import re
from typing import Literal

QuestionKind = Literal[
    "where",
    "what",
    "how",
    "who_calls",
    "what_happens",
    "why",
    "changed",
    "changes_with",
    "tested",
    "configured",
    "extend",
    "compare",
    "list_all",
    "overview",
]

THIS_PROJECT = r"(?:this|the) (?:repo(?:sitory)?|project|code ?base|package|library|program|folder|code)"

_WROTE = (
    r"(?:(?:chang|add|edit|touch|introduc|creat|remov|delet|updat|fix|committ|implement|renam|mov)ed|modified"
    r"|(?:re)?wr(?:ote|itten)|made)"
)

# First match wins, so the narrow patterns stand before the wide ones.
_WORDINGS: tuple[tuple[QuestionKind, str], ...] = (
    (
        "overview",
        rf"\b(?:what (?:is|does)|explain|describe|summari[sz]e|overview of) {THIS_PROJECT}\b|^\W*overview",
    ),
    (
        "overview",
        rf"\b(?:structure|architecture|layout) of {THIS_PROJECT}\b|how is {THIS_PROJECT} (?:organi|struct)",
    ),
    (
        "changes_with",
        r"\b(?:what|which)\b.{0,40}\bchang(?:e|es|ed)\b(?: \w+){0,2} with\b|\bco-?chang"
        r"|\bchang(?:e|es|ed) (?:together|along|in step)\b",
    ),
    ("changed", rf"^\W*when (?:was|were|did|has|have)\b.{{1,60}}\b{_WROTE}\b"),
    ("changed", r"^\W*(?:since|in) (?:when|which commit)\b"),
    ("changed", rf"^\W*(?:who|which (?:commit|author|person))(?: has| had)?(?: \w+ly)?(?: last| first)? {_WROTE}\b"),
    ("changed", r"\b(?:by whom|last commit|(?:recent|last|latest) changes?)\b|\bwho (?:is|was) .{0,20}author\b"),
    (
        "changed",
        rf"\bhow (?:has|did) .{{1,60}} (?:chang|evolv|come)\w*"
        rf"|\bwhat (?:was |has been )?{_WROTE} (?:last|recently|lately)\b",
    ),
    ("changed", r"\b(?:change |commit |git )?(?:history|log|blame) (?:of|for|behind)\b|\bhow old\b"),
    (
        "tested",
        r"\bhow (?:is|are|do|does) .{1,60} tested\b|\b(?:what|which|where are|are there|is there|list|show|find)\b"
        r".{0,24}\btests?\b.{0,12} (?:of|for|cover|covers|check|checks|exercise|exercises)\b|\btests? (?:of|for)\b"
        r"|\b(?:what|which) tests \S+|\bis \S+ (?:tested|covered)\b|\b(?:its|their) tests?\b",
    ),
    (
        "who_calls",
        r"\bwho (?:calls|uses|invokes)\b|\b(?:callers?|usages?|users?) of\b|\bwhere is \S+ (?:called|used)\b",
    ),
    ("who_calls", r"\bwhat (?:calls|uses|depends on)\b|\bwhere (?:do|does|are) .{1,60} (?:called|used|invoked)\b"),
    ("compare", r"\b(?:compare|difference between|differ(?:s|ent)? from|versus|vs\.?)\b"),
    (
        "extend",
        r"\bhow (?:do|can|would|could|should|to) .{0,20}(?:add|extend|register|write|create|plug|implement)\b",
    ),
    ("extend", r"^\W*(?:add|extend|register) (?:a|an|my|new)\b|\bhow to (?:add|extend|register)\b"),
    (
        "configured",
        r"\b(?:configur\w*|settings?|environment variables?|env vars?|defaults? (?:value )?(?:of|for))\b",
    ),
    ("what_happens", r"\b(?:flow of|call (?:chain|graph|tree)|control flow|step by step)\b|^\W*(?:trace|draw)\b"),
    (
        "list_all",
        r"\b(?:list|name|enumerate|show(?: me)?) (?:all|every|each|the)\b|^\W*(?:list|enumerate) (?:\w+ ){0,3}\w+s\W*$"
        r"|\bwhich (?:\w+ )?\w+s (?:are|exist|does|do)\b",
    ),
    ("list_all", r"\bwhat (?:are all|\w+s (?:are there|exist))\b"),
    ("why", r"^\W*why\b|\breason for\b"),
    ("what_happens", r"\bwhat happens\b|\bwhat (?:is done|goes on) when\b"),
    ("where", r"^\W*where\b|\b(?:find|locate)\b|\bin which file\b|\bwhich (?:file|module|class|function)\b"),
    ("how", r"\bhow\b|\bexplain\b|\bdescribe\b|\bmechanism\b"),
    ("what", r"^\W*what\b|^\W*who\b|^\W*which\b"),
)
PATTERNS = tuple((kind, re.compile(wording, re.IGNORECASE)) for kind, wording in _WORDINGS)
