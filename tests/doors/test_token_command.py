"""`jeeves token`: what it prints, keeps and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runtime.run.bearer_tokens import read_token
from tests.doors.program import Program


@pytest.mark.long
def test_a_token_is_printed_once_and_then_only_what_it_is_for(jeeves: Program, tmp_path: Path) -> None:
    made = jeeves.run("token", "create", "ann", "--scopes", "watch, ask", "--expires-days", "30")
    token = made.out.strip()
    shown = read_token(token.encode())
    assert made.status == 0
    assert shown is not None
    assert f"token {shown.token_id} of 'ann' may ask, watch, until 20" in made.err
    assert token not in made.err
    jeeves.run("token", "create", "ann").complains(2, "'ann' has a valid token already", "--rotate")
    ops = jeeves.run("token", "create", "ops", "--scopes", "operate").out.strip()
    revoked = jeeves.run("token", "revoke", "ann").out
    assert revoked == f"revoked 1 token: {shown.token_id} of 'ann'\n"
    lines = jeeves.run("token", "list").out.splitlines()
    assert [line.split()[1:4] for line in lines] == [["revoked", "ann", "ask,watch"], ["valid", "ops", "operate"]]
    rows = json.loads(jeeves.run("token", "list", "--json").out)
    assert [(row["name"], row["scopes"], row["state"]) for row in rows] == [
        ("ann", ["ask", "watch"], "revoked"),
        ("ops", ["operate"], "valid"),
    ]
    kept = b"".join(path.read_bytes() for path in (tmp_path / "state").rglob("*") if path.is_file())
    for secret in (token, ops):
        assert secret.encode() not in kept
        assert secret.rpartition("_")[2].encode() not in kept


def test_the_recipe_to_replace_a_token_neither_widens_it_nor_drops_its_end(jeeves: Program) -> None:
    jeeves.run("token", "create", "ann", "--scopes", "ask", "--expires-days", "1")
    made = jeeves.run("token", "create", "ann", "--rotate")
    old, new = json.loads(jeeves.run("token", "list", "--json").out)
    assert (new["scopes"], new["expires_ms"], new["state"]) == (["ask"], old["expires_ms"], "valid")
    assert "'ann' may ask, until 20" in made.err
    assert f"it replaces {old['token_id']}, which is accepted until `jeeves token revoke {old['token_id']}`" in made.err
    jeeves.run("token", "revoke", old["token_id"])
    jeeves.run("token", "create", "ann", "--rotate", "--scopes", "watch", "--expires-days", "30")
    newest = json.loads(jeeves.run("token", "list", "--json").out)[-1]
    assert newest["scopes"] == ["watch"]
    assert newest["expires_ms"] > old["expires_ms"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("create", "a b"), ("1 to 64",)),
        (("create", "ann", "--scopes", "ask,root"), ("'root'", "ask, watch, operate")),
        (("create", "ann", "--scopes", ","), ("no scope",)),
        (("create", "ann", "--expires-days", "0"), ("--expires-days", "more than 0")),
        (("create", "ann", "--expires-days", "nan"), ("--expires-days", "more than 0")),
        (("create", "ann", "--rotate"), ("'ann' has no valid token to replace", "without --rotate")),
        (("revoke", "nobody"), ("nobody", "jeeves token list")),
    ],
)
def test_what_makes_no_token_is_refused_in_words(
    jeeves: Program, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    jeeves.run("token", *arguments).complains(2, *words)


def test_the_list_of_no_tokens_is_empty_and_makes_no_file(jeeves: Program, tmp_path: Path) -> None:
    assert jeeves.run("token", "list").out == ""
    assert json.loads(jeeves.run("token", "list", "--json").out) == []
    assert not (tmp_path / "state" / "tokens.sqlite").exists()
