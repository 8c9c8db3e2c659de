"""Draws the answer and the run that the README shows, as a terminal has them: asked for real, about the first tour.

    python -m tests.documentation.terminal_picture

The picture loads no font and nothing else from elsewhere.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console, RenderableType
from rich.terminal_theme import MONOKAI
from rich.text import Text
from rich.theme import Theme

from serve.cli.output.markdown_view import MarkdownView
from serve.cli.output.terminal import MARKDOWN_STYLES
from tests.doors.test_guides import Guide, write_files

STATIC = Path(__file__).resolve().parents[2] / "docs" / "static"
PICTURE, RUN_PICTURE = STATIC / "ask.svg", STATIC / "run.svg"
QUESTION = "How is the total of a cart computed?"
COLUMNS = 92
# Which run it was, and when, differs each time.
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}  ")

# The form of rich, without the fonts that it would load from a server.
_FORM = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">
<title>{{title}}</title>
<style>
.{unique_id}-matrix {{ font-family: Menlo, "DejaVu Sans Mono", Consolas, monospace; font-size: {char_height}px; \
line-height: {line_height}px; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def asked(folder: Path) -> dict[str, Any]:
    """Return the document of the question, asked about the project of the first tour in an empty folder."""
    write_files(folder / "project", Guide("../tutorial.md").files)
    told = _jeeves(folder, "ask", QUESTION, "--repo", str(folder / "project"), "--json")
    document: dict[str, Any] = json.loads(told)
    return document


def explained(folder: Path, run_id: str) -> str:
    """Return why a run that was asked in a folder went as it did, without the times."""
    return _TIME.sub("", _jeeves(folder, "runs", "why", run_id)).rstrip("\n")


def _jeeves(folder: Path, *arguments: str) -> str:
    state = {"JEEVES_STATE_DIR": str(folder / "state"), "JEEVES_RAY__MODE": "in_process"}
    # By words: how many vectors are there when a first question is answered depends on the machine.
    state["JEEVES_CODE_INDEX__EMBEDDINGS"] = "false"
    command = [sys.executable, "-m", "serve.cli.main", *arguments]
    done = subprocess.run(command, env=os.environ | state, capture_output=True, text=True, timeout=240, check=True)
    return done.stdout


def drawn(answer: str) -> str:
    """Return an answer as the picture of a terminal, as SVG."""
    return _terminal("ask", f'jeeves ask "{QUESTION}"', f"jeeves ask: {QUESTION}", MarkdownView(answer, {}))


def drawn_run(decisions: str) -> str:
    """Return the decisions of a run as the picture of a terminal, as SVG."""
    return _terminal("run", 'jeeves runs why "$RUN"', f"jeeves runs why: {QUESTION}", Text(decisions))


def _terminal(name: str, command: str, title: str, shown: RenderableType) -> str:
    theme = Theme(dict(MARKDOWN_STYLES))
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, theme=theme)
    console.print(Text.assemble(("$ ", "bold green"), command))
    console.print()
    console.print(shown)
    form = _FORM.replace("{{title}}", title)
    return console.export_svg(title="jeeves", theme=MONOKAI, code_format=form, unique_id=name)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        document = asked(Path(folder))
        PICTURE.write_text(drawn(document["answer"]), encoding="utf-8")
        RUN_PICTURE.write_text(drawn_run(explained(Path(folder), document["run_id"])), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
