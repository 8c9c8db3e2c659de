"""Configures the documentation site; `make docs` builds it from what tests/documentation/assemble.py writes."""

from pathlib import Path

project = "Jeeves"
author = "The authors of Jeeves"
root_doc = "index"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}

# Anchors of headings as code hosts make them, so that links to them work in both places.
myst_heading_anchors = 6
# Examples leave things out with an ellipsis, which no lexer of JSON or TOML takes.
suppress_warnings = ["misc.highlighting_failure"]
nitpicky = True
# Two hyphens begin an option.
smartquotes = False

html_theme = "furo"
html_title = "Jeeves"
html_static_path = [str(Path(__file__).parent / "static")]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
