"""Ignore files mean to us what they mean to git, whatever is written in them."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from runtime.codebase.files.ignore_rules import IgnoreRules, parse_ignore_file

_PIECES = (
    *("a", "b", "ab", "foo", "bar.c", ".o", "ä", "x y", "*", "*", "**", "**/", "/**", "/", "/", "?", "!", "#"),
    *("[ab]", "[!a]", "[^b]", "[a-c]", "[]a]", "[a", "[[:alpha:]]", "[[:nope:]]", "[\\]]", "[a/b]", "[z-a]", "[!z-a]"),
    *("\\", "\\*", "\\!", "\\#", "\\ ", " ", "  ", "\t", "\\\\", "\\/", "[a-", "[-a]", "[a-]", "[[:digit:]x]", "\x01"),
)
_NAMES = ("a", "b", "ab", "foo", "bar.c", "c.o", "ä", "x y", "!a", "#b", "*", "[a", "foob", "a]", "\\a", "a ", "1", "-")


def random_paths(chance: random.Random) -> list[str]:
    return sorted({"/".join(chance.choice(_NAMES) for _ in range(chance.randint(1, 4))) for _ in range(60)})


def random_lines(chance: random.Random) -> bytes:
    lines = ["".join(chance.choice(_PIECES) for _ in range(chance.randint(1, 6))) for _ in range(chance.randint(1, 3))]
    return chance.choice(["", "\ufeff"]).encode() + chance.choice(["\n", "\r\n"]).join(lines).encode()


def ignored_by_git(folder: Path, content: bytes, paths: list[str]) -> set[str]:
    """The paths that git itself excludes, each on its own: the last pattern that matches it."""
    (folder / ".gitignore").write_bytes(content)
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", "check-ignore", "--no-index", "-v", "-n", "-z", "--stdin"],
        cwd=folder,
        env=environment,
        input="\0".join(paths).encode(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    fields = done.stdout.split(b"\0")
    rows = [fields[start : start + 4] for start in range(0, len(fields) - 1, 4)]
    return {path.decode() for _, _, pattern, path in rows if pattern and not pattern.startswith(b"!")}


def ignored_by_us(content: bytes, paths: list[str]) -> set[str]:
    """The same, as a walk decides: what lies in an ignored folder is ignored with it."""
    patterns, _ = parse_ignore_file(content)
    rules = IgnoreRules(patterns)

    def is_ignored(path: str) -> bool:
        parts = path.split("/")
        folders = ["/".join(parts[:count]) for count in range(1, len(parts))]
        if any(rules.verdict(each.encode(), True) for each in folders):
            return True
        return bool(rules.verdict(path.encode(), False))

    return {path for path in paths if is_ignored(path)}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    folder = tmp_path_factory.mktemp("ignoring")
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    return folder


@pytest.mark.parametrize("seed", range(150))
def test_random_patterns_ignore_what_git_ignores(repository: Path, seed: int) -> None:
    chance = random.Random(seed)
    paths = random_paths(chance)
    content = random_lines(chance)
    assert ignored_by_us(content, paths) == ignored_by_git(repository, content, paths), content


@pytest.mark.parametrize(
    ("content", "paths"),
    [
        (b"foo**/bar", ["foo/bar", "foobar", "foox/y/bar", "foox/bar", "foo/x/bar"]),
        (b"a/**/b", ["a/b", "a/x/b", "a/x/y/b", "ab", "x/a/b"]),
        (b"**/x\n!a/x", ["x", "a/x", "b/c/x"]),
        (b"a/**", ["a", "a/b", "a/b/c"]),
        (b"/*.c\n", ["b.c", "d/b.c"]),
        (b"doc/*.txt", ["doc/a.txt", "doc/b/a.txt"]),
        (b"trailing\\ \nspaces   \ntab\t", ["trailing ", "spaces", "tab", "tab\t", "trailing"]),
        (b"\\!x\n\\#y\n#z\n!\n/\n//\n", ["!x", "#y", "z", "#z"]),
        ("?.c\n[ä].d".encode(), ["ä.c", "a.c", "ä.d"]),
        (b"a\0b\nc", ["a", "a\x01", "c"]),
        (b"*a*b*c*\n!*abc*", ["xaxbxcx", "abc", "acb"]),
        (b"build/\n", ["build", "x/build", "build/a"]),
        (b"a*/b*/c", ["ax/bx/c", "a/b/c", "ax/y/bx/c"]),
        (b"[[:upper:][:digit:]-]x", ["Ax", "1x", "-x", "ax"]),
        (b"x[a-c/]y\nx/[!y]z", ["xay", "x/y", "x/yz", "x/zz"]),
        (b"***/a\nb***c", ["a", "x/a", "bxc", "b/c"]),
        (b"**\\/a", ["a", "x/a"]),
    ],
)
def test_subtle_patterns_ignore_what_git_ignores(repository: Path, content: bytes, paths: list[str]) -> None:
    assert ignored_by_us(content, paths) == ignored_by_git(repository, content, paths)
