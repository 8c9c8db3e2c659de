"""Makes folders that try to hang, exhaust or mislead whoever reads them; each besides a file that is worth reading."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

GOOD = 'def alpha_thing():\n    """Do the alpha thing."""\n    return 1\n'


def device_as_ignore_file(root: Path) -> None:
    (root / ".gitignore").symlink_to("/dev/zero")


def pipe_as_ignore_file(root: Path) -> None:
    os.mkfifo(root / ".gitignore")


def link_out_as_ignore_file(root: Path) -> None:
    (root.parent / "outside.txt").write_text("*\n")
    (root / ".gitignore").symlink_to(root.parent / "outside.txt")


def sparse_ignore_file(root: Path) -> None:
    with (root / ".gitignore").open("wb") as file:
        file.truncate(6 << 30)


def many_patterns(root: Path) -> None:
    lines = [f"name{number}*x{number}" for number in range(60_000)]
    (root / ".gitignore").write_text("\n".join(lines)[:990_000])
    _many_files(root, 300)


def stars_in_a_name(root: Path) -> None:
    (root / ".gitignore").write_text("a*" * 12 + "b\n")
    _long_names(root)


def stars_in_many_folders(root: Path) -> None:
    (root / ".gitignore").write_text("**/a/" * 10 + "b\n" + "a/**/" * 10 + "b\n")
    folder = root
    for _ in range(60):
        folder = folder / "a"
        folder.mkdir()
    (folder / "deep.py").write_text(GOOD)


def stars_in_every_folder(root: Path) -> None:
    folder = root
    for _ in range(40):
        (folder / ".gitignore").write_text("".join(f"*a*a*a*a*a*a*a*{number}\n" for number in range(50)))
        folder = folder / ("a" * 200 if len(str(folder)) < 2500 else "a")
        folder.mkdir()
    (folder / "deep.py").write_text(GOOD)


def brackets_and_stars(root: Path) -> None:
    (root / ".gitignore").write_text("*[a-z]*[a-z]*[a-z]*[a-z]*[a-z]*[a-z]*[a-z]*[a-z]*1\n")
    _long_names(root)


def pipes_devices_sockets(root: Path) -> None:
    os.mkfifo(root / "pipe.py")
    (root / "zero.py").symlink_to("/dev/zero")
    (root / "random.md").symlink_to("/dev/random")
    with socket.socket(socket.AF_UNIX) as listening:
        here = Path.cwd()
        os.chdir(root)  # the path of a socket is short
        try:
            listening.bind("socket.py")
        finally:
            os.chdir(here)


def loops_of_links(root: Path) -> None:
    (root / "one").mkdir()
    (root / "one" / "two").symlink_to(root)
    (root / "self").symlink_to("self")
    (root / "up").symlink_to("..")
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("a")


def strange_names(root: Path) -> None:
    for name in (b"new\nline.py", b"\xff\xfe.py", b"x" * 252 + b".py", b"\x1b[31mred.py", "\u202egnp.py".encode()):
        Path(os.fsdecode(os.path.join(os.fsencode(root), name))).write_text(GOOD)  # noqa: PTH118 - bytes


def many_empty_files(root: Path, count: int = 20_000) -> None:
    _many_files(root, count)


def deep_folders(root: Path) -> None:
    held = os.open(root, os.O_RDONLY)
    for _ in range(2000):
        os.mkdir("abc", dir_fd=held)
        inner = os.open("abc", os.O_RDONLY, dir_fd=held)
        os.close(held)
        held = inner
    os.close(held)


def sparse_source(root: Path) -> None:
    with (root / "big.py").open("wb") as file:
        file.truncate(8 << 40)


def one_long_line(root: Path, size: int = 900_000) -> None:
    (root / "line.py").write_text("x = [" + "1," * (size // 2) + "]\n")


def deep_nesting(root: Path) -> None:
    lines = ["(" * 1000 for _ in range(300)]
    (root / "nested.py").write_text("x = \\\n" + "\\\n".join(lines) + "\n")
    (root / "nested.js").write_text("f(\n" * 100_000)
    (root / "nested.c").write_text("{\n" * 100_000)


def strange_encodings(root: Path) -> None:
    (root / "nul.py").write_bytes(b"x = 1\n" + b"\0" * 100)
    (root / "late_nul.py").write_bytes(b"#" * 9000 + b"\n\0\0 = 1\n")
    (root / "bom.py").write_bytes(b"\xef\xbb\xbfdef bom(): pass\n")
    (root / "wide.py").write_bytes(b"\xff\xfed\0e\0f\0 \0w\0(\0)\0:\0 \0p\0\n\0\xd8")
    (root / "surrogate.py").write_bytes(b"def lone():\n    return '\xed\xa0\x80'\n")
    (root / "latin.py").write_bytes(b"# \xe4\xf6\xfc\ndef latin(): pass\n")
    (root / "separators.py").write_text("a = 1\u2028b = 2\x0bc = 3\x85d = 4\n")


def hard_links(root: Path) -> None:
    (root / "first.py").write_text(GOOD)
    for number in range(200):
        os.link(root / "first.py", root / f"link{number}.py")


def archives(root: Path) -> None:
    (root / "bomb.zip").write_bytes(b"PK\x03\x04" + b"\0" * 500_000)
    (root / "bomb.tar.gz").write_bytes(b"\x1f\x8b\x08" + b"\0" * 500_000)
    (root / "bomb.py").write_bytes(b"PK\x03\x04" + b"\0" * 500_000)


def planted_state(root: Path) -> None:
    (root / ".jeeves").mkdir()
    (root / ".jeeves" / "index.sqlite").write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    (root / "jeeves.yaml").write_text("state_dir: /\ncapabilities: [evil]\n")
    (root / "configs").mkdir()
    (root / "configs" / "jeeves.yaml").write_text("state_dir: /\n")
    (root / "json.py").write_text("raise SystemExit('the repository ran')\n")


def devices_as_git_files(root: Path) -> None:
    (root / ".git").mkdir()
    for name in ("objects", "refs"):
        (root / ".git" / name).mkdir()
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    os.mkfifo(root / ".git" / "packed-refs")
    os.mkfifo(root / ".git" / "config")
    (root / ".git" / "commondir").symlink_to("/dev/zero")


def unreadable_things(root: Path) -> None:
    (root / "closed").mkdir(mode=0o000)
    (root / "closed.py").write_text(GOOD)
    (root / "closed.py").chmod(0o000)


def module_files_of_other_kinds(root: Path) -> None:
    os.mkfifo(root / "go.mod")
    (root / "sub").mkdir()
    (root / "sub" / "go.mod").symlink_to("/dev/zero")
    (root / "sub" / "a.go").write_text("package a\n")


def _many_files(root: Path, count: int) -> None:
    for number in range(count):
        os.close(os.open(root / f"f{number}.py", os.O_CREAT | os.O_WRONLY, 0o644))


def _long_names(root: Path) -> None:
    for number in range(20):
        (root / ("a" * 240 + f"{number}.py")).write_text(GOOD)


HOSTILE: tuple[Callable[[Path], None], ...] = (
    device_as_ignore_file,
    pipe_as_ignore_file,
    link_out_as_ignore_file,
    sparse_ignore_file,
    many_patterns,
    stars_in_a_name,
    stars_in_many_folders,
    stars_in_every_folder,
    brackets_and_stars,
    pipes_devices_sockets,
    loops_of_links,
    strange_names,
    many_empty_files,
    deep_folders,
    sparse_source,
    one_long_line,
    deep_nesting,
    strange_encodings,
    hard_links,
    archives,
    planted_state,
    devices_as_git_files,
    unreadable_things,
    module_files_of_other_kinds,
)


def made(make: Callable[[Path], None], folder: Path) -> Path:
    """Make a hostile repository in a folder that has nothing else."""
    root = folder / "repository"
    root.mkdir()
    (root / "alpha.py").write_text(GOOD)
    make(root)
    return root
