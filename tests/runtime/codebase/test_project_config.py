"""What `.code-intel/config.json` says of an index, and what no repository can say with it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from runtime.codebase.codebase import Codebase
from runtime.codebase.files.project_config import (
    CONFIG_FILE,
    MAX_BYTES,
    MAX_EXCLUDES,
    MAX_FOLDERS,
    STARTING,
    ProjectConfig,
    read_project_config,
)
from runtime.codebase.index import tables
from runtime.codebase.index.reader import IndexReader
from runtime.codebase.index.service import IndexService
from runtime.codebase.index.writer import IndexOptions, Sync, refresh
from runtime.codebase.parsing.chunks import CHARS_PER_TOKEN
from runtime.errors import RepositoryError
from tests.runtime.codebase.sample_repository import write_files

LONG = "".join(f"    total = total + value_{number} * rate_{number}  # step\n" for number in range(50))
FILES = {
    "src/core/pay.py": f"def pay(total):\n{LONG}    return total\n\n\ndef refund():\n    return 0\n",
    "src/web/page.py": "def page():\n    return 1\n",
    "lib/tool.py": "def tool():\n    return 2\n",
    "docs/guide.md": "# Guide\n\nHow to pay.\n",
    "README.md": "# Shop\n",
}


@pytest.fixture
def project(root: Path) -> Path:
    write_files(root, FILES)
    return root


def configure(root: Path, **keys: Any) -> None:
    path = root / CONFIG_FILE
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(keys))


def files_of(root: Path, index_path: Path) -> list[str]:
    refresh(root, index_path)
    with closing(IndexReader(index_path)) as reader:
        return sorted(row[0] for row in reader.rows("SELECT path FROM files"))


def chunks_of(root: Path, index_path: Path, file: str) -> list[tuple[int, int]]:
    refresh(root, index_path)
    query = "SELECT start_line, end_line FROM chunks c JOIN files f ON f.id = c.file_id WHERE path = ? ORDER BY 1"
    with closing(IndexReader(index_path)) as reader:
        return [(int(first), int(last)) for first, last in reader.rows(query, (file,))]


def test_without_a_file_everything_is_as_it_was(project: Path, index_path: Path) -> None:
    assert read_project_config(project) == ProjectConfig()
    assert files_of(project, index_path) == sorted(FILES)
    configure(project)
    assert refresh(project, index_path).parsed_now == 0


def test_source_dirs_are_all_that_is_read(project: Path, index_path: Path) -> None:
    configure(project, source_dirs=["src/core", "docs/"])
    assert files_of(project, index_path) == ["docs/guide.md", "src/core/pay.py"]
    configure(project, source_dirs=["src"])
    assert files_of(project, index_path) == ["src/core/pay.py", "src/web/page.py"]
    configure(project, source_dirs=["src", "."])
    assert files_of(project, index_path) == sorted(FILES)


def test_a_source_dir_that_is_missing_is_told_and_others_are_read(project: Path, index_path: Path) -> None:
    configure(project, source_dirs=["src/core", "gone", "README.md"])
    notes = refresh(project, index_path).notes
    assert [note.split("/")[0] for note in notes] == ["gone", "README.md"]
    configure(project, source_dirs=["gone"])
    with pytest.raises(RepositoryError, match="holds no files"):
        refresh(project, index_path)


def test_a_folder_with_the_same_beginning_is_another_folder(project: Path, index_path: Path) -> None:
    write_files(project, {"src2/other.py": "def other(): pass\n", "src.py": "def alone(): pass\n"})
    configure(project, source_dirs=["src"])
    assert files_of(project, index_path) == ["src/core/pay.py", "src/web/page.py"]


def test_exclude_patterns_leave_out_as_gitignore_does_and_bring_nothing_back(project: Path, index_path: Path) -> None:
    write_files(project, {".gitignore": "lib/\n", ".env": "KEY=1\n"})
    configure(project, exclude_patterns=["docs/", "**/page.py", "!lib/", "!.env", "!.git"])
    (project / ".git").mkdir()
    (project / ".git" / "config").write_text("[core]\n")
    assert files_of(project, index_path) == [".env", ".gitignore", "README.md", "src/core/pay.py"]
    with closing(IndexReader(index_path)) as reader:
        assert reader.rows("SELECT note FROM files WHERE path = '.env'") == [("secret",)]


def test_nothing_outside_is_read_through_a_source_dir_that_is_a_link(
    project: Path, index_path: Path, tmp_path: Path
) -> None:
    write_files(tmp_path / "outside", {"key.py": "KEY = 'secret'\n"})
    (project / "linked").symlink_to(tmp_path / "outside")
    configure(project, source_dirs=["linked", "src/core"])
    assert files_of(project, index_path) == ["src/core/pay.py"]


OUTSIDE = ["..", "../other", "src/../..", "/etc", "//x", "src\\core", "", "/", "a\0b", "a\nb", "./src", "src//core"]


@pytest.mark.parametrize("folder", OUTSIDE)
def test_source_dirs_name_folders_below_the_repository(project: Path, folder: str) -> None:
    configure(project, source_dirs=["src", folder])
    with pytest.raises(RepositoryError, match=r"config\.json: source_dirs\[1\]"):
        read_project_config(project)


WRONG: list[Mapping[str, Any]] = [
    {"sources": ["src"]},
    {"version": "1.0"},
    {"source_dirs": "src"},
    {"source_dirs": [5]},
    {"source_dirs": ["src"] * (MAX_FOLDERS + 1)},
    {"exclude_patterns": ["x"] * (MAX_EXCLUDES + 1)},
    {"exclude_patterns": [" "]},
    {"exclude_patterns": ["x" * 100_000]},
    {"exclude_patterns": ["a\0"]},
    {"embedding_model": "multilingual-e5-small"},
    {"embedding_model": "../../model.onnx"},
    {"chunk_strategy": "magic"},
    {"chunk_max_tokens": 31},
    {"chunk_max_tokens": 513},
    {"chunk_max_tokens": "512"},
    {"sync_ttl_hours": -0.1},
    {"sync_ttl_hours": 8_761},
    {"sync_ttl_hours": "1"},
    {"sync_on_start": "yes"},
    {"sync_on_start": 1},
]


@pytest.mark.parametrize("keys", WRONG)
def test_what_cannot_be_meant_is_refused_with_the_file_and_the_keys(
    project: Path, index_path: Path, keys: Mapping[str, Any]
) -> None:
    configure(project, **keys)
    with pytest.raises(RepositoryError, match=r"config\.json: .*the keys are source_dirs, exclude_patterns"):
        refresh(project, index_path)


@pytest.mark.parametrize("keys", [{"chunk_max_tokens": 32}, {"chunk_max_tokens": 512}, {"sync_ttl_hours": 0}])
def test_values_at_the_bounds_are_taken(project: Path, keys: Mapping[str, Any]) -> None:
    configure(project, **keys)
    assert read_project_config(project) == ProjectConfig(**keys)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"\xff", b"[" * 50_000, b" " * (MAX_BYTES + 1)])
def test_content_of_any_kind_is_refused_in_words(project: Path, content: bytes) -> None:
    configure(project)
    (project / CONFIG_FILE).write_bytes(content)
    with pytest.raises(RepositoryError, match=r"config\.json"):
        read_project_config(project)


def test_a_link_a_pipe_and_a_folder_are_refused(project: Path, tmp_path: Path) -> None:
    configure(tmp_path)
    path = project / CONFIG_FILE
    path.parent.mkdir()
    path.symlink_to(tmp_path / CONFIG_FILE)
    with pytest.raises(RepositoryError, match="cannot be read"):
        read_project_config(project)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(RepositoryError, match="cannot be read"):
        read_project_config(project)
    path.unlink()
    path.mkdir()
    with pytest.raises(RepositoryError, match="cannot be read"):
        read_project_config(project)


def test_the_size_of_chunks_is_bounded_by_tokens(project: Path, index_path: Path) -> None:
    usual = chunks_of(project, index_path, "src/core/pay.py")
    configure(project, chunk_max_tokens=64)
    small = chunks_of(project, index_path, "src/core/pay.py")
    lines = FILES["src/core/pay.py"].split("\n")
    sizes = [sum(len(line) + 1 for line in lines[first - 1 : last]) for first, last in small]
    assert len(small) > 2 * len(usual)
    assert max(sizes) <= 64 * CHARS_PER_TOKEN
    assert [line for first, last in small for line in range(first, last + 1) if lines[line - 1].strip()] == [
        number for number, line in enumerate(lines, 1) if line.strip()
    ]
    (project / CONFIG_FILE).unlink()
    assert chunks_of(project, index_path, "src/core/pay.py") == usual


def test_a_line_that_is_longer_than_a_chunk_is_a_chunk(project: Path, index_path: Path) -> None:
    write_files(project, {"wide.py": f"first = 1\nwide = '{'x' * 500}'\nlast = 1\n"})
    configure(project, chunk_max_tokens=32)
    assert chunks_of(project, index_path, "wide.py") == [(1, 1), (2, 2), (3, 3)]


def test_files_can_be_cut_into_windows_of_lines(project: Path, index_path: Path) -> None:
    assert len(chunks_of(project, index_path, "src/core/pay.py")) == 2
    configure(project, chunk_strategy="lines")
    assert chunks_of(project, index_path, "src/core/pay.py") == [(1, 56)]
    assert refresh(project, index_path).parsed_now == 0


class Semantics:
    """Stands for vectors, which are not asked for here."""

    def close(self) -> None: ...


def test_a_project_can_do_without_vectors(project: Path, index_path: Path) -> None:
    refresh(project, index_path)
    for model, has_meaning in (("all-MiniLM-L6-v2", True), ("none", False)):
        configure(project, embedding_model=model)
        with closing(Codebase.open(project, index_path, semantics=Semantics())) as codebase:  # type: ignore[arg-type]
            assert (codebase.semantics is not None) == has_meaning


def edited_unseen(root: Path) -> None:
    """Change a file without changing its size and time, as an archive or a clock that was set back does."""
    path = root / "lib/tool.py"
    status = path.stat()
    path.write_text(FILES["lib/tool.py"].replace("2", "3"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def compared_hours_ago(index_path: Path, hours: float) -> None:
    """Have the files of an index been compared that long ago."""
    with closing(tables.connect_writer(index_path)) as connection:
        was_ns = int(tables.read_meta(connection, "compared_ns") or 0)
        tables.write_meta(connection, "compared_ns", str(was_ns - int(hours * 3_600e9)))


@pytest.mark.parametrize(
    ("sync", "hours", "keys", "is_seen"),
    [
        ("never", 100, {}, False),
        ("now", 0, {}, True),
        ("due", 0, {}, False),
        ("due", 0.9, {}, False),
        ("due", 1, {}, True),
        ("due", 3, {"sync_ttl_hours": 4}, False),
        ("due", 4, {"sync_ttl_hours": 4}, True),
        ("due", 0, {"sync_ttl_hours": 0}, True),
        ("start", 0, {}, True),
        ("start", 0, {"sync_on_start": False}, False),
        ("start", 1, {"sync_on_start": False}, True),
    ],
)
def test_all_files_are_compared_at_the_start_and_when_that_was_too_long_ago(
    project: Path, index_path: Path, sync: Sync, hours: float, keys: Mapping[str, Any], is_seen: bool
) -> None:
    for path in sorted(project.rglob("*.*")):
        os.utime(path, ns=(10**18, 10**18))
    configure(project, **keys)
    refresh(project, index_path)
    edited_unseen(project)
    if hours:
        compared_hours_ago(index_path, hours)
    assert refresh(project, index_path, sync=sync).files_changed == is_seen


def test_files_are_counted_exactly_by_what_became_of_them(project: Path, index_path: Path) -> None:
    def counts() -> tuple[int, int, int]:
        stats = refresh(project, index_path, sync="now")
        return stats.files_added, stats.files_changed, stats.files_removed

    (project / "logo.png").write_bytes(b"\x89PNG\0\0")
    assert counts() == (5, 0, 0)
    assert counts() == (0, 0, 0)
    write_files(project, {"new.py": "x = 1\n", "lib/tool.py": "def tool():\n    return 30\n"})
    (project / "README.md").unlink()
    (project / "logo.png").unlink()
    assert counts() == (1, 1, 1)
    (project / "lib/tool.py").touch()
    (project / "lib/tool.py").rename(project / "lib/moved.py")
    assert counts() == (1, 0, 1)
    (project / "new.py").write_bytes(b"\0\0")
    assert counts() == (0, 0, 1)
    (project / "new.py").write_text("x = 2\n")
    assert counts() == (1, 0, 0)


def test_what_init_writes_has_every_key_and_is_taken(project: Path) -> None:
    keys = {name: getattr(STARTING, name) for name in ProjectConfig.__struct_fields__}
    configure(project, **keys)
    assert read_project_config(project) == STARTING
    assert set(keys) == {
        *("source_dirs", "exclude_patterns", "embedding_model", "chunk_strategy", "chunk_max_tokens"),
        *("sync_ttl_hours", "sync_on_start"),
    }


class Follower:
    """Keeps what it was given to work on."""

    def __init__(self) -> None:
        self.taken: list[str] = []

    def start(self) -> None: ...

    def close(self) -> None: ...

    def take(self, root: str, index_path: Path) -> None:
        self.taken.append(root)


async def test_no_vectors_are_made_for_a_project_that_wants_none(project: Path, tmp_path: Path) -> None:
    follower = Follower()
    service = IndexService(tmp_path / "index", IndexOptions(), follower)
    try:
        configure(project, embedding_model="none")
        assert (await service.refresh(str(project)))["embeds"] is False
        assert follower.taken == []
        configure(project)
        assert (await service.refresh(str(project)))["embeds"] is True
        assert follower.taken == [str(project)]
    finally:
        service.close()
