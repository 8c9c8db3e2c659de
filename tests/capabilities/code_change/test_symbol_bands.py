"""Which symbols a query is taken to mean, by the model that is shipped: related ones pass, unrelated ones do not."""

from __future__ import annotations

import pytest

from runtime.codebase.semantics.embedding import shared_embedder
from runtime.codebase.semantics.similarity import is_installed
from runtime.contracts.exploring_duties import band_of
from runtime.tools.result import ToolResult
from serve.mcp.changes.symbol_meaning import symbol_text
from tests.runtime.contracts.session_player import CONTRACT

pytestmark = pytest.mark.skipif(not is_installed(), reason="the model of meaning is not installed")

QUERY = "Make the download retry when the connection breaks off"
PAIRS = [
    ("retry_download", "def retry_download(url, attempts)", "Download again after a broken connection.", "accepted"),
    ("ConnectionError", "class ConnectionError(OSError)", "The connection was lost.", "accepted"),
    ("render_table", "def render_table(rows, widths)", "Draw rows as a table in the terminal.", "rejected"),
    ("parse_colour", "def parse_colour(text)", "Read a colour name.", "rejected"),
    ("leap_year", "def leap_year(year)", "Tell whether a year has 366 days.", "rejected"),
]


@pytest.mark.parametrize(("name", "signature", "doc", "band"), PAIRS)
def test_a_symbol_falls_into_the_band_of_its_likeness(name: str, signature: str, doc: str, band: str) -> None:
    found = ToolResult("ok", {"symbols": [{"signature": signature, "docstring": doc}]})
    vectors = shared_embedder().embed([QUERY, symbol_text(name, found)])
    assert band_of(CONTRACT, float(vectors[1] @ vectors[0])) == band
