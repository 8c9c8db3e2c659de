"""Draws the answer that the README shows, as a terminal has it: asked for real, about the project of the first tour.

    python -m tests.documentation.terminal_picture

The picture loads no font and nothing else from elsewhere.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text
from rich.theme import Theme

from serve.cli.output.markdown_view import MarkdownView
from serve.cli.output.terminal import MARKDOWN_STYLES
from tests.doors.test_guides import Guide, write_files

PICTURE = Path(__file__).resolve().parents[2] / "docs" / "static" / "ask.svg"
QUESTION = "How is the total of a cart computed?"
COLUMNS = 92

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
    command = [sys.executable, "-m", "serve.cli.main", "ask", QUESTION, "--repo", str(folder / "project"), "--json"]
    state = {"JEEVES_STATE_DIR": str(folder / "state"), "JEEVES_RAY__MODE": "in_process"}
    done = subprocess.run(command, env=os.environ | state, capture_output=True, text=True, timeout=240, check=True)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def drawn(answer: str) -> str:
    """Return an answer as the picture of a terminal, as SVG."""
    theme = Theme(dict(MARKDOWN_STYLES))
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, theme=theme)
    console.print(Text.assemble(("$ ", "bold green"), f'jeeves ask "{QUESTION}"'))
    console.print()
    console.print(MarkdownView(answer, {}))
    form = _FORM.replace("{{title}}", f"jeeves ask: {QUESTION}")
    return console.export_svg(title="jeeves ask", theme=MONOKAI, code_format=form, unique_id="ask")


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        PICTURE.write_text(drawn(asked(Path(folder))["answer"]), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
