"""No configuration of a repository is read: none of its programs runs, and no answer changes, whatever it says."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attacks.git_traps import ATTRIBUTES, DIFFS, FILTERS, HOOKS, INCLUDED, LOOKING, OTHERS, REMOTE, TRAPS, Trap
from tests.attacks.repositories import Site, git, grow, told
from tests.doors.program import snapshot

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def armed_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    site = Site(tmp_path_factory.mktemp("configured"))
    folder = site.canary.program.parent
    head = git(site.root, "rev-parse", "HEAD~2")
    for name, text in {
        "included": f'[filter "evil"]\n\tclean = {site.canary.program}\n[core]\n\tfsmonitor = {site.canary.program}\n',
        "attributes": "* binary\n",
        "everything": "*\n",
        "people": "Mallory <mallory@example.com> <ada@example.com>\n",
        "order": "pkg/*\nalpha.py\n",
        "revisions": head,
    }.items():
        (folder / name).write_text(text)
    for hook in HOOKS:
        (folder / "hooks").mkdir(exist_ok=True)
        (folder / "hooks" / hook).write_bytes(site.canary.program.read_bytes())
        (folder / "hooks" / hook).chmod(0o755)
    yield site
    site.codebase.close()


@pytest.fixture
def site(armed_site: Site) -> Iterator[Site]:
    yield armed_site
    armed_site.disarm()


def test_while_it_is_harmless_everything_is_told(site: Site) -> None:
    answers = {name: (status, data) for name, status, data, _ in site.harmless_tools}
    assert {status for status, _ in answers.values()} == {"ok"}
    subjects = ["Add a submodule", "Another gamma", "Add a gamma", "Open"]
    assert [row["subject"] for row in answers["git_log"][1]["commits"]] == subjects
    assert [row["author"] for row in answers["git_blame"][1]["lines"]][:2] == ["Ada", "Grace"]
    assert "+DELTA = 1" in answers["git_diff"][1]["diff"]


@pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: trap.name)
def test_a_key_of_the_configuration_runs_nothing_and_changes_no_answer(site: Site, trap: Trap) -> None:
    site.arm(trap.contents(site.canary))
    assert told(site.root) == site.harmless
    assert not site.canary.sang()
    if trap.fires:
        site.run_plain_git()
        assert site.canary.sang(), "the trap does not work, so that nothing was tried here"


@pytest.mark.parametrize("traps", [FILTERS, DIFFS, LOOKING, INCLUDED, REMOTE, OTHERS], ids=lambda traps: traps[0].name)
def test_no_tool_runs_what_many_keys_name_or_tells_something_else(site: Site, traps: list[Trap]) -> None:
    for trap in traps:
        site.arm({**trap.contents(site.canary), ".git/info/attributes": b""})
    site.arm({".git/info/attributes": ATTRIBUTES})
    assert site.ask() == site.harmless_tools
    assert not site.canary.sang()


def test_every_key_that_this_git_knows_may_name_a_program_at_once(site: Site) -> None:
    listed = subprocess.run(["git", "help", "--config"], capture_output=True, text=True, check=True).stdout.split("\n")
    keys = [key for key in listed if "." in key and " " not in key]
    refused_elsewhere = ("core.bare", "core.worktree", "core.repositoryformatversion", "extensions.objectformat")
    lines = []
    for key in keys:
        section, _, rest = key.replace("*", "evil").partition(".")
        name, _, last = rest.rpartition(".")
        name = name.translate({ord("<"): None, ord(">"): None})
        if key.lower() not in refused_elsewhere and not last.startswith("<"):
            lines += [
                f'[{section} "{name or "evil"}"]' if name else f"[{section}]",
                f"\t{last} = {site.canary.program}",
            ]
    assert len(lines) > 1000
    site.arm({".git/config": "\n".join(["", *lines, ""]).encode(), ".git/info/attributes": ATTRIBUTES})
    assert site.ask() == site.harmless_tools
    assert not site.canary.sang()


def test_hooks_do_not_run(site: Site) -> None:
    program = site.canary.program.read_bytes()
    site.arm({f".git/hooks/{hook}": program for hook in HOOKS})
    for hook in HOOKS:
        (site.root / ".git/hooks" / hook).chmod(0o755)
    assert site.ask() == site.harmless_tools
    assert not site.canary.sang()
    git(site.root, "status")
    assert site.canary.sang()


def test_attributes_in_the_work_tree_name_drivers_that_do_not_exist(site: Site) -> None:
    keys = ("clean", "smudge", "process")
    config = '[filter "evil"]\n' + "".join(f"\t{key} = {site.canary.program}\n" for key in keys)
    config += f'[diff "evil"]\n\ttextconv = {site.canary.program}\n\tcommand = {site.canary.program}\n'
    site.arm({".git/config": config.encode(), ".gitattributes": ATTRIBUTES})
    answers = {name: data for name, _, data, _ in site.ask()}
    assert not site.canary.sang()
    assert "+DELTA = 1" in answers["git_diff"]["diff"]
    assert {"path": ".gitattributes", "state": "untracked"} in answers["git_status"]["changes"]
    site.run_plain_git()
    assert site.canary.sang()


def test_programs_of_the_user_run_no_more_than_those_of_the_repository(
    site: Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = f'[filter "evil"]\n\tclean = {site.canary.program}\n[core]\n\tfsmonitor = {site.canary.program}\n'
    (tmp_path / ".gitconfig").write_text(config)
    (tmp_path / ".config/git").mkdir(parents=True)
    (tmp_path / ".config/git/config").write_text(config)
    (tmp_path / ".config/git/ignore").write_text("*\n")
    (tmp_path / ".config/git/attributes").write_text("* binary\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    site.arm({".git/info/attributes": ATTRIBUTES})
    assert site.ask() == site.harmless_tools
    assert not site.canary.sang()


def test_nothing_in_a_repository_is_written_while_it_is_read(site: Site) -> None:
    site.arm({})
    before = snapshot(site.root)
    site.ask()
    assert snapshot(site.root) == before


@pytest.mark.parametrize(
    "text", [b"[", b"[core", b"[core]\n\tbare", b"=\n", b"\0\0\0", b'[core]\n\tx = "\n', b"\\\n" * 9]
)
def test_a_broken_configuration_is_no_hindrance(tmp_path: Path, text: bytes) -> None:
    root = grow(tmp_path / "repo")
    wanted = told(root)
    with (root / ".git/config").open("ab") as file:
        file.write(b"\n" + text.replace(b"bare", b"evil"))
    assert told(root) == wanted
