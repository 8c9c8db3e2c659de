"""Each block of commands on a page is run by a test that names the page, or stands below with the reason why not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

# Page → the tests that run its commands.
RUN_BY = {
    "README.md": ("doors/test_readme.py",),
    "docs/answers.md": ("doors/test_readme.py",),
    "docs/code-index.md": ("doors/test_readme.py",),
    "docs/dashboard.md": ("doors/test_readme.py",),
    "docs/fixes.md": ("doors/test_fix_in_ci.py",),
    "docs/http.md": ("doors/test_readme.py",),
    "docs/mcp.md": ("doors/test_page_commands.py",),
    "docs/metrics.md": ("doors/test_page_commands.py",),
    "docs/models.md": ("doors/test_page_commands.py",),
    "docs/tutorial.md": ("doors/test_tutorial.py",),
    "docs/guides/add-a-language.md": ("doors/test_guides.py",),
    "docs/guides/add-a-metric.md": ("doors/test_kernel_guides.py",),
    "docs/guides/add-a-pipeline.md": ("doors/test_readme.py",),
    "docs/guides/add-a-provider.md": ("doors/test_kernel_guides.py",),
    "docs/guides/add-a-question-kind.md": ("doors/test_kernel_guides.py",),
    "docs/guides/add-a-store.md": ("doors/test_kernel_guides.py",),
    "docs/guides/add-a-tool.md": ("doors/test_guides.py",),
    "docs/guides/batch.md": ("doors/test_batch_guide.py", "doors/test_jobs_guide.py"),
    "docs/guides/chat-clients.md": ("doors/test_chat_guide.py", "doors/test_page_commands.py"),
    "docs/guides/deploy.md": ("doors/test_deploy_guide.py", "doors/test_serve_deploy.py"),
    "docs/guides/follow-a-run.md": ("doors/test_chat_guide.py",),
    "docs/guides/grpc.md": ("doors/test_grpc_deployed.py", "doors/test_grpc_messages.py"),
    "docs/guides/jobs.md": ("doors/test_jobs_guide.py",),
    "docs/guides/mcp-over-http.md": ("doors/test_mcp_guide.py", "doors/test_page_commands.py"),
    "docs/guides/recover.md": ("doors/test_recovery_guide.py", "doors/test_page_commands.py"),
    "docs/guides/write-a-capability.md": ("doors/test_capability_guide.py",),
}
# Beginning of a command → why no test runs it as it stands.
NOT_RUN = {
    "README.md": {"make test": "it would run itself"},
    "docs/CONTRIBUTING.md": {
        "make test": "it would run itself",
        ".venv/bin/pip install pre-commit": "it changes the checkout; test_contributing.py reads what it installs",
    },
    "docs/code-index.md": {
        "python -m tests.benchmarks.retrieval": "it needs cases and a scorer of other people",
        "python -m tests.benchmarks.index_speed": "it measures for minutes; test_index_speed.py runs its parts",
        "python -m tests.benchmarks.leads": "it measures for minutes; test_lead_questions.py runs its parts",
    },
    "docs/faults.md": {"make faults": "it takes 40 minutes; the README's takes two of the faults"},
    "docs/guides/deploy.md": {
        "pip install": "it would change the environment of the tests; its extra is looked up",
        "docker build": "Docker is not here: a stand-in sees to it that the file is",
        "kubectl apply": "Kubernetes is not here: a stand-in sees to it that the files are",
        "kubectl get": "likewise",
        "kubectl delete": "likewise; the name is held against the file that gives it",
        "kubectl wait": "likewise",
    },
    "docs/mcp.md": {
        "claude mcp add": "Claude Code is not here: what it is told to start is started",
        "npx @modelcontextprotocol/inspector": "it fetches; MCP_INSPECTOR has test_mcp_inspector.py run the program",
        "pip install": "it would change the environment of the tests; its extra is looked up",
    },
}
_FENCE = re.compile(r"^(`{3,})([^\n]*)\n(.*?)^\1[ \t]*$", re.MULTILINE | re.DOTALL)
_PROGRAM = re.compile(
    r"(?:\$ )?(?:[A-Z_]+=\S+ )*(?:jeeves|make|python3?|pip|ray|serve|curl|git|npx|docker|kubectl|claude) \S"
)
_SHELLS = ("sh", "console")


def blocks(page: Path) -> list[tuple[str, str]]:
    """The blocks of a page, each with its language."""
    return [(info.split(" ")[0], body) for _, info, body in _FENCE.findall(page.read_text(encoding="utf-8"))]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def begins(line: str, page: str) -> bool:
    """Whether a line begins with a command of that page that no test runs."""
    return any(line.startswith(command) for command in NOT_RUN.get(page, ()))


def test_each_page_with_commands_has_a_test_that_runs_them() -> None:
    lines = {
        name_of(page): [line for kind, body in blocks(page) if kind in _SHELLS for line in body.splitlines()]
        for page in PAGES
    }
    left = [page for page, shown in lines.items() if any(not begins(line, page) for line in shown)]
    assert sorted(left) == sorted(RUN_BY)


@pytest.mark.parametrize(("page", "test"), [(page, test) for page, tests in RUN_BY.items() for test in tests])
def test_the_test_that_runs_a_page_names_it(page: str, test: str) -> None:
    assert f"{Path(page).stem.split('/')[-1]}." in (ROOT / "tests" / test).read_text(encoding="utf-8")


@pytest.mark.parametrize(("page", "command"), [(page, each) for page, told in NOT_RUN.items() for each in told])
def test_what_no_test_runs_is_still_shown(page: str, command: str) -> None:
    assert any(line.startswith(command) for _, body in blocks(ROOT / page) for line in body.splitlines())


def test_commands_stand_in_blocks_of_the_shell_alone() -> None:
    others = [
        (name_of(page), line)
        for page in PAGES
        for kind, body in blocks(page)
        if kind in ("", "text")
        for line in body.splitlines()
    ]
    assert [(page, line) for page, line in others if _PROGRAM.match(line) and not begins(line, page)] == []
