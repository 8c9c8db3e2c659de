"""Questions as a person asks them, and the places that a reader who knows the code would name first.

    python -m tests.benchmarks.leads [--answers] [--words] [--repo gin=FOLDER] [--state FOLDER]

The places were written down before anything was asked. MENDED are questions whose first place was once judged wrong;
the search was changed with them in view. UNSEEN are about packages that nobody looked at while the search was changed:
theirs is the share that counts. An expectation is a file, or `file:symbol` for the lines of a definition; any one of
them will do. Packages are those of this environment; others are given with `--repo`, and left out otherwise.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from runtime.codebase.codebase import Codebase
from runtime.codebase.index.service import IndexService
from runtime.codebase.index.writer import IndexOptions, refresh
from runtime.codebase.semantics.similarity import Semantics, open_semantics
from runtime.codebase.tools.locate import locate
from runtime.pipeline.loading import load_pipeline
from runtime.settings import load_settings, shipped_config_dir
from serve.answer_document import Ask
from serve.runtimes.local import LocalRuntime


class Lead(NamedTuple):
    """One question; `expected` are places any of which may come first."""

    package: str
    question: str
    expected: tuple[str, ...]


class Place(NamedTuple):
    """Lines of a file, both ends included."""

    file: str
    start_line: int
    end_line: int


MENDED = (
    Lead(
        "jinja2",
        "How does template inheritance work?",
        (
            "compiler.py:visit_Extends",
            "compiler.py:visit_Block",
            "runtime.py:BlockReference",
            "runtime.py:Context",
            "nodes.py:Extends",
            "parser.py:parse_extends",
        ),
    ),
    Lead("jinja2", "Where are compiled templates cached?", ("bccache.py", "environment.py:_load_template")),
    Lead("pluggy", "How is the order of hook calls decided?", ("_caller.py:_add_hookimpl", "_caller.py:HookCaller")),
    Lead("gin", "How does the router match a route?", ("tree.go", "gin.go:handleHTTPRequest")),
    Lead("gin", "What is the default port?", ("utils.go:resolveAddress",)),
)

UNSEEN = (
    Lead("click", "How are command line options parsed?", ("parser.py", "core.py:parse_args", "core.py:Option")),
    Lead(
        "click", "Where is the input of a password hidden?", ("termui.py", "_termui_impl.py:getchar", "core.py:Option")
    ),
    Lead("click", "How are choices validated?", ("types.py:Choice",)),
    Lead("requests", "How are redirects followed?", ("sessions.py:SessionRedirectMixin", "sessions.py:Session.send")),
    Lead("requests", "Where is basic auth encoded?", ("auth.py:_basic_auth_str", "auth.py:HTTPBasicAuth")),
    Lead(
        "requests",
        "What is the default limit of redirects?",
        ("models.py:DEFAULT_REDIRECT_LIMIT", "sessions.py:Session.__init__"),
    ),
    Lead("urllib3", "How long does a retry back off?", ("util/retry.py",)),
    Lead(
        "urllib3",
        "How are connections given back to the pool?",
        ("connectionpool.py:_put_conn", "response.py:release_conn"),
    ),
    Lead("tenacity", "How long does it wait between attempts?", ("wait.py",)),
    Lead(
        "tenacity",
        "How is a failed call tried again?",
        ("__init__.py:BaseRetrying", "__init__.py:Retrying", "retry.py"),
    ),
    Lead(
        "filelock",
        "What happens when a lock cannot be acquired in time?",
        ("_api.py:acquire", "_error.py:Timeout", "_api.py:BaseFileLock"),
    ),
    Lead("websockets", "How are messages compressed?", ("extensions/permessage_deflate.py",)),
    Lead("websockets", "Which port is used when the address names none?", ("uri.py",)),
    Lead(
        "websockets",
        "How is an idle connection kept alive?",
        ("asyncio/connection.py:keepalive", "sync/connection.py:keepalive", "trio/connection.py:keepalive"),
    ),
    Lead("prometheus_client", "How are metrics written as text?", ("exposition.py", "openmetrics/exposition.py")),
    Lead("prometheus_client", "What are the default buckets of a histogram?", ("metrics.py:Histogram",)),
    Lead(
        "uvicorn",
        "How does reloading notice changed files?",
        ("supervisors/basereload.py", "supervisors/statreload.py", "supervisors/watchfilesreload.py"),
    ),
    Lead("uvicorn", "What is the default port?", ("config.py:Config", "main.py:main", "main.py:run")),
    Lead("uvicorn", "How does the server shut down?", ("server.py:shutdown", "server.py:Server")),
    Lead("fastapi", "How are dependencies resolved?", ("dependencies/utils.py",)),
    Lead("fastapi", "Where is the OpenAPI schema generated?", ("openapi/utils.py", "applications.py:openapi")),
    Lead(
        "httpx",
        "How is the proxy of a request chosen?",
        ("_client.py:_transport_for_url", "_client.py:_get_proxy_map", "_utils.py:get_environment_proxies"),
    ),
    Lead("httpx", "How are cookies kept between requests?", ("_models.py:Cookies", "_client.py")),
    Lead("h11", "How are chunked bodies read?", ("_readers.py:ChunkedReader",)),
    Lead("h11", "Which transitions between states are allowed?", ("_state.py",)),
    Lead("anyio", "How is work cancelled after a timeout?", ("_core/_tasks.py", "_backends/_asyncio.py:CancelScope")),
    Lead("packaging", "How are versions compared?", ("version.py",)),
    Lead("packaging", "How are environment markers evaluated?", ("markers.py",)),
    Lead("rich", "How wide do the columns of a table get?", ("table.py",)),
    Lead("rich", "How is markup parsed?", ("markup.py",)),
    Lead(
        "pathspec",
        "How are gitignore patterns turned into regular expressions?",
        (
            "patterns/gitignore/base.py",
            "patterns/gitignore/basic.py",
            "patterns/gitignore/spec.py",
            "patterns/gitwildmatch.py",
        ),
    ),
    Lead("tqdm", "How is the remaining time estimated?", ("std.py:format_meter", "std.py:EMA", "std.py:format_dict")),
    Lead("aiohttp", "How are paths resolved to handlers?", ("web_urldispatcher.py",)),
    Lead(
        "jsonschema",
        "How are references followed?",
        (
            "_keywords.py:ref",
            "validators.py:_RefResolver",
            "validators.py:_validate_reference",
            "_keywords.py:dynamicRef",
        ),
    ),
    Lead("dotenv", "How are variables within values expanded?", ("variables.py", "main.py:resolve_variables")),
    Lead("sortedcontainers", "How does a list grow beyond its load?", ("sortedlist.py:_expand",)),
    Lead("express", "How is a view engine looked up?", ("lib/view.js", "lib/application.js")),
    Lead(
        "gson",
        "How are names of fields translated?",
        (
            "gson/src/main/java/com/google/gson/FieldNamingPolicy.java",
            "gson/src/main/java/com/google/gson/FieldNamingStrategy.java",
        ),
    ),
    Lead(
        "cobra",
        "How are similar commands suggested?",
        ("command.go:SuggestionsFor", "command.go:findSuggestions", "cobra.go:ld"),
    ),
    Lead(
        "ripgrep",
        "How are binary files detected?",
        (
            "crates/searcher/src/searcher/mod.rs",
            "crates/searcher/src/line_buffer.rs",
            "crates/searcher/src/searcher/core.rs",
        ),
    ),
)


def spans_of(codebase: Codebase, expected: Sequence[str]) -> list[Place]:
    """The lines that each expectation means; several for a name with several definitions, none when it has gone."""
    spans: list[Place] = []
    for place in expected:
        file, _, name = place.partition(":")
        if not name:
            spans.append(Place(file, 1, sys.maxsize))
            continue
        named = codebase.symbols_named(name)
        spans += [Place(file, symbol.start_line, symbol.end_line) for symbol in named if symbol.file == file]
    return spans


def rank_of(spans: Iterable[Place], places: Iterable[Place]) -> int | None:
    """The position from 1 of the first place that overlaps an expected one, None when none does."""
    wanted = list(spans)
    for rank, place in enumerate(places, 1):
        if any(
            place.file == span.file and place.start_line <= span.end_line and span.start_line <= place.end_line
            for span in wanted
        ):
            return rank
    return None


def root_of(package: str, given: Mapping[str, Path]) -> Path | None:
    """Where a package lies; None when it is not installed and was not given."""
    if package in given:
        return given[package]
    spec = importlib.util.find_spec(package)
    return Path(spec.origin).parent if spec is not None and spec.origin is not None else None


class Asked:
    """Ranks of the expected places, in the places that `locate` finds and in what an answer cites."""

    def __init__(self, state: Path, given: Mapping[str, Path], *, answers: bool, words: bool) -> None:
        self._given = given
        self._indexes = IndexService(state / "index", IndexOptions())
        self._semantics: Semantics | None = None if words else open_semantics(state / "vectors.sqlite", here=True)
        self._runner = asyncio.Runner()
        self._runtime: LocalRuntime | None = None
        if answers:
            config = load_pipeline(shipped_config_dir() / "pipelines" / "code_analysis.yaml")
            self._runtime = LocalRuntime(load_settings(env={"JEEVES_STATE_DIR": str(state)}), config)

    def ranks(self, lead: Lead) -> tuple[int | None, int | None, Place | None] | None:
        """(rank in `locate`, rank in the answer, the place that came first); None when the package is not there."""
        root = root_of(lead.package, self._given)
        if root is None:
            return None
        path = self._indexes.index_path(root.resolve())
        refresh(root, path)
        codebase = Codebase.open(root, path, semantics=self._semantics)
        spans = spans_of(codebase, lead.expected)
        found = [Place(c.file, c.start_line, c.end_line) for c in locate(codebase, lead.question, wait=True).citations]
        codebase.close()
        answered: int | None = None
        if self._runtime is not None:
            document = self._runner.run(self._runtime.ask(Ask(lead.question, str(root), "code_analysis")))
            cited = [Place(c["file"], c["start_line"], c["end_line"]) for c in document["citations"]]
            answered = rank_of(spans, cited)
        return rank_of(spans, found), answered, found[0] if found else None

    def close(self) -> None:
        """Give back what it holds."""
        if self._runtime is not None:
            self._runner.run(self._runtime.close())
        self._runner.close()
        if self._semantics is not None:
            self._semantics.close()


def report(name: str, leads: Sequence[Lead], asked: Asked, *, answers: bool) -> str:
    """One line for each question, and the shares."""
    lines: list[str] = []
    located: list[int | None] = []
    answered: list[int | None] = []
    for lead in leads:
        ranks = asked.ranks(lead)
        if ranks is None:
            continue
        located.append(ranks[0])
        answered.append(ranks[1])
        first = f"{ranks[2].file}:{ranks[2].start_line}" if ranks[2] else "nothing"
        told = f" answer {ranks[1] or '-':>2}" if answers else ""
        lines.append(f"  {ranks[0] or '-':>2}{told}  {lead.package}: {lead.question}  ({first})")
    lines.append(f"{name}: locate {_shares(located)}" + (f"; answers {_shares(answered)}" if answers else ""))
    return "\n".join(lines) + "\n"


def _shares(ranks: Sequence[int | None]) -> str:
    first, front = (sum(rank is not None and rank <= most for rank in ranks) for most in (1, 3))
    return f"first {first} of {len(ranks)}, among three {front}"


def main(given: Mapping[str, Path], state: Path, *, answers: bool, words: bool) -> None:
    """Print both sets."""
    asked = Asked(state, given, answers=answers, words=words)
    try:
        for name, leads in (("mended", MENDED), ("unseen", UNSEEN)):
            sys.stdout.write(report(name, leads, asked, answers=answers))
            sys.stdout.flush()
    finally:
        asked.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", action="store_true")
    parser.add_argument("--words", action="store_true", help="leave meaning out")
    parser.add_argument("--repo", action="append", default=[], metavar="NAME=FOLDER")
    parser.add_argument("--state")
    chosen = parser.parse_args()
    folders = {name: Path(folder) for name, _, folder in (pair.partition("=") for pair in chosen.repo)}
    with tempfile.TemporaryDirectory() as scratch:
        main(folders, Path(chosen.state or scratch), answers=chosen.answers, words=chosen.words)
