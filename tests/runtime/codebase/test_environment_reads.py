"""The environment variables that source code reads, in the ways of each language."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.codebase.index.records import TextHit
from runtime.codebase.search.values.environment_reads import environment_reads, names_read


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ('port = os.environ["PORT"]', ["PORT"]),
        ("port = os.environ.get('PORT', 80)", ["PORT"]),
        ('port = os.getenv("PORT") or os.getenv("SHOP_PORT")', ["PORT", "SHOP_PORT"]),
        ('if c := os.Getenv("SHOP_HOME"); c != "" {', ["SHOP_HOME"]),
        ('value, ok := os.LookupEnv("SHOP_HOME")', ["SHOP_HOME"]),
        ('    Port int `env:"PORT" envDefault:"80"`', ["PORT"]),
        ('    Port int `env:"PORT,required"`', ["PORT"]),
        ("const port = process.env.PORT || 80", ["PORT"]),
        ("const port = process.env['PORT']", ["PORT"]),
        ("if (import.meta.env.VITE_MODE) {", ["VITE_MODE"]),
        ('let port = env::var("PORT").unwrap();', ["PORT"]),
        ('let port = std::env::var_os("PORT");', ["PORT"]),
        ('let version = env!("CARGO_PKG_VERSION");', ["CARGO_PKG_VERSION"]),
        ('#[arg(long, env = "SHOP_PORT")]', ["SHOP_PORT"]),
        ("port = ENV['PORT']", ["PORT"]),
        ("port = ENV.fetch('PORT', 80)", ["PORT"]),
        ('const char *home = getenv("HOME");', ["HOME"]),
        ('String home = System.getenv("HOME");', ["HOME"]),
        ('var home = Environment.GetEnvironmentVariable("HOME");', ["HOME"]),
        ("$home = $_ENV['HOME'];", ["HOME"]),
        ('@click.option("--port", envvar="SHOP_PORT")', ["SHOP_PORT"]),
        ('os.environ["PORT"] = "80"', []),
        ("process.env.PORT = 80", []),
        ("process.env.PORT === '80'", ["PORT"]),
        ("os.getenv(name)", []),
        ('environment["PORT"]', []),
        ('my_env = "name of a place"', []),
    ],
)
def test_a_variable_is_read_by_its_name(line: str, names: list[str]) -> None:
    assert list(names_read(line)) == names


def test_each_variable_is_told_once_at_its_first_line_of_the_source() -> None:
    hits = [
        TextHit("src/b.py", 3, 'os.getenv("PORT")'),
        TextHit("src/a.py", 9, '    os.getenv("PORT")'),
        TextHit("src/a.py", 2, '# os.getenv("OLD")'),
        TextHit("tests/test_a.py", 1, 'os.getenv("OF_TESTS")'),
        TextHit("src/c.rs", 1, '#[arg(env = "HOST")]'),
    ]
    found = [(one.name, one.file, one.line, one.text) for one in environment_reads(hits)]
    assert found == [("PORT", "src/a.py", 9, 'os.getenv("PORT")'), ("HOST", "src/c.rs", 1, '#[arg(env = "HOST")]')]


@given(st.text(max_size=400))
def test_any_line_ends_and_gives_names_alone(line: str) -> None:
    assert all(name.isidentifier() or name.replace("_", "").isalnum() for name in names_read(line))


@pytest.mark.parametrize(
    "line", ["getenv(" * 50, "environ[" * 50, "env = " * 60, 'env:"' * 80, "process.env." * 30, " " * 400]
)
def test_the_time_for_a_hostile_line_is_short(line: str) -> None:
    started_s = time.process_time()
    for _ in range(100):
        list(names_read(line))
    assert time.process_time() - started_s < 1
