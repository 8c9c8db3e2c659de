"""Recognises files about rights, people and style checks, which never tell what the code does."""

from __future__ import annotations

import re
from collections.abc import Iterable

# Rights and people; a hidden file of settings for a tool; settings of what checks or formats code, hidden or not.
_BOILERPLATE = re.compile(
    r"(^|/)(licen[sc]es?|copying|copyright|notices?|patents|authors|contributors|maintainers|credits|thanks|citation"
    r"|code[_-]of[_-]conduct|codeowners|funding|owners|dco|cla)([-_.][^/]*)?$"
    r"|(^|/)licen[sc]es/"
    r"|(^|/)\.[\w.-]*(rc|ignore|attributes|config|keep|mailmap|format|tidy)(\.(json5?|jsonc|ya?ml|toml|c?js|mjs|ts))?$"
    r"|(^|/)\.?[\w.-]*(lint|prettier|rubocop|checkstyle|phpcs|php-cs-fixer|rustfmt|clippy|biome|flake8|clang-format"
    r"|clang-tidy|scalafmt|spotbugs|pre-commit|editorconfig|commitlint|codespell|typos)[\w.-]*"
    r"(?<!\.py)\.(json5?|jsonc|ya?ml|toml|xml|ini|cfg|neon|dist)$",
    re.IGNORECASE,
)
_CODE_NAMED_ALIKE = re.compile(r"\.(py|pyi|go|rs|java|kt|rb|php|cs|c|cc|cpp|h|hpp|tsx?|jsx?|mjs|cjs|swift|scala)$")
_ASKED_FOR = re.compile(
    r"\b(licen[sc]\w*|copyright\w*|copying|patents?|legal\w*|rights|authors?|authorship|contribut\w*|maintain\w*|owns"
    r"|owners?|citation|cite[sd]?|conduct|sponsor\w*|funding|lint\w*|eslint|formatter|formatting|prettier|code style"
    r"|style (?:check|guide|rules?)\w*|pre-?commit|editor ?config|git ?ignored?|ignore files?|dot ?files?|npm ?ignore"
    r"|docker ?ignore)\b",
    re.IGNORECASE,
)


def is_boilerplate(path: str) -> bool:
    """Return whether a file holds rights, people or settings of style checks; code that is named alike does not."""
    if _CODE_NAMED_ALIKE.search(path) and not re.search(r"(^|/)\.[^/]*$", path):
        return False
    return _BOILERPLATE.search(path) is not None


def asks_for_boilerplate(question: str, paths: Iterable[str] = ()) -> bool:
    """Return whether a question asks for such files: by what they are about, or by the path of one."""
    return _ASKED_FOR.search(question) is not None or any(map(is_boilerplate, paths))
