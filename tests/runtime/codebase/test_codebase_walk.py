from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from runtime.codebase.files.walk import WalkOptions, is_secret, walk
from runtime.errors import RepositoryError


def put(root: Path, *paths: str, text: str = "x\n") -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def names(root: Path, options: WalkOptions | None = None) -> list[str]:
    return [entry.path for entry in walk(root, options or WalkOptions()).entries]


def reasons(root: Path, options: WalkOptions | None = None) -> dict[str, str | None]:
    return {entry.path: entry.skip_reason for entry in walk(root, options or WalkOptions()).entries}


def test_files_come_in_the_order_of_their_paths_with_their_language(root: Path) -> None:
    put(root, "b/z.go", "a.py", "b/a.rs", "Makefile")
    found = walk(root).entries
    assert [(entry.path, entry.language) for entry in found] == [
        ("Makefile", "make"),
        ("a.py", "python"),
        ("b/a.rs", "rust"),
        ("b/z.go", "go"),
    ]


def test_ignore_files_at_and_below_the_root_count_and_those_above_do_not(root: Path) -> None:
    put(root.parent, ".gitignore", text="*.py\n")
    put(root, "a.py", "out/b.py", "deep/c.log", "deep/d.log", "deep/e.py")
    put(root, ".gitignore", text="/out/\n*.log\n")
    put(root, "deep/.gitignore", text="!d.log\n")
    assert names(root) == [".gitignore", "a.py", "deep/.gitignore", "deep/d.log", "deep/e.py"]


def test_folders_that_never_hold_source_are_left_out(root: Path) -> None:
    put(root, "node_modules/a.js", "x/__pycache__/b.py", ".git/config", "pkg.egg-info/c.txt", "build/d.py", "keep.py")
    put(root, "env/pyvenv.cfg", "env/lib/e.py", "src/build/__init__.py", "src/build/f.py")
    assert names(root) == ["keep.py", "src/build/__init__.py", "src/build/f.py"]


def test_the_git_file_of_a_linked_work_tree_is_left_out(root: Path) -> None:
    put(root, ".git", "a.py")
    assert names(root) == ["a.py"]


def test_a_package_inside_an_ignored_environment_is_a_fine_root(tmp_path: Path) -> None:
    package = tmp_path / "repo" / ".venv" / "lib" / "site-packages" / "shop"
    put(tmp_path / "repo", ".gitignore", text=".venv\n")
    put(tmp_path / "repo" / ".venv", "pyvenv.cfg")
    put(package, "__init__.py", "core.py")
    assert names(package) == ["__init__.py", "core.py"]


def test_further_excludes_have_the_form_of_ignore_patterns(root: Path) -> None:
    put(root, "a.py", "gen/b.py", "gen/c.py")
    assert names(root, WalkOptions(excludes=("gen/*", "!gen/c.py"))) == ["a.py", "gen/c.py"]


@pytest.mark.parametrize(("size", "reason"), [(99, None), (100, None), (101, "too_large")])
def test_a_file_beyond_the_size_limit_is_skipped(root: Path, size: int, reason: str | None) -> None:
    put(root, "a.py", text="x" * size)
    assert reasons(root, WalkOptions(max_file_bytes=100)) == {"a.py": reason}


@pytest.mark.parametrize(("count", "passes"), [(2, True), (3, True), (4, False)])
def test_more_files_than_the_limit_are_an_error_that_names_it(root: Path, count: int, passes: bool) -> None:
    put(root, *(f"{number}.py" for number in range(count)))
    if passes:
        assert len(names(root, WalkOptions(max_files=3))) == count
        return
    with pytest.raises(RepositoryError, match="more than 3 files"):
        names(root, WalkOptions(max_files=3))


def test_links_that_lead_out_are_noted_and_links_inside_are_duplicates(root: Path) -> None:
    put(root, "a.py", "folder/b.py")
    put(root.parent, "secret.py")
    (root / "out.py").symlink_to(root.parent / "secret.py")
    (root / "out_folder").symlink_to(root.parent)
    (root / "again.py").symlink_to(root / "a.py")
    (root / "gone.py").symlink_to(root / "nothing.py")
    assert reasons(root) == {
        "a.py": None,
        "again.py": "symlink_duplicate",
        "folder/b.py": None,
        "gone.py": "unreadable",
        "out.py": "symlink_outside",
        "out_folder": "symlink_outside",
    }


def test_a_loop_of_links_ends(root: Path) -> None:
    put(root, "a/b.py")
    (root / "a" / "up").symlink_to(root)
    (root / "x").symlink_to(root / "y")
    (root / "y").symlink_to(root / "x")
    assert reasons(root) == {"a/b.py": None, "a/up": "symlink_duplicate", "x": "unreadable", "y": "unreadable"}


def test_a_pipe_is_not_read(root: Path) -> None:
    put(root, "a.py")
    os.mkfifo(root / "pipe")
    assert reasons(root)["pipe"] == "not_a_file"


@pytest.mark.parametrize(
    "name", [".env", ".env.local", "prod.env", "server.pem", "tls.key", "id_rsa", "id_ed25519.pub", ".netrc", ".pypirc"]
)
def test_files_with_secrets_are_skipped_unless_allowed(root: Path, name: str) -> None:
    put(root, name, "keyboard.py")
    assert reasons(root) == {name: "secret", "keyboard.py": None}
    assert reasons(root, WalkOptions(allow_secrets=True)) == {name: None, "keyboard.py": None}


@pytest.mark.parametrize("name", [".env.example", "env.py", "credentials.py", "keys.py", "monkey.md", "secrets.py"])
def test_a_file_that_only_sounds_secret_is_read(name: str) -> None:
    assert not is_secret(f"src/{name}")


def test_a_missing_folder_and_a_file_as_root_are_errors_that_say_what_to_do(root: Path) -> None:
    put(root, "a.py")
    with pytest.raises(RepositoryError, match="no folder at"):
        walk(root / "nothing")
    with pytest.raises(RepositoryError, match="no folder at"):
        walk(root / "a.py" / "deeper")
    with pytest.raises(RepositoryError, match="cannot be reached"):
        walk(Path("nul\0"))
    with pytest.raises(RepositoryError, match="is a file, not a folder"):
        walk(root / "a.py")


def test_names_that_are_no_utf8_are_left_out_with_a_note(root: Path) -> None:
    put(root, "a.py")
    os.close(os.open(os.fsencode(root) + b"/bad\xff.py", os.O_CREAT))
    found = walk(root)
    assert [entry.path for entry in found.entries] == ["a.py"]
    assert "1 names that are no UTF-8 or hold a line break" in found.notes[0]


def test_a_bare_repository_is_refused_and_its_work_tree_is_not(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("x = 1\n")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path / "bare.git")], check=True)
    for folder in (tmp_path / "bare.git", tmp_path / ".git"):
        with pytest.raises(RepositoryError, match="no files of a work tree"):
            walk(folder)
    assert [entry.path for entry in walk(tmp_path).entries] == ["app.py"]
