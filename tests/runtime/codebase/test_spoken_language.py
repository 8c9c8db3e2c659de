"""What is written in another language than English is known by how few of its words are English."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tests.ranking
from runtime.codebase.search.presence.spoken_language import is_english

OTHERS = [
    "Lass den Download es erneut versuchen, wenn die Verbindung abbricht",
    "Füge eine Option für die Zeitgrenze hinzu",
    "Behebe den Fehler in parse_colour",
    "El método de descarga debe reintentar cuando se corta la conexión",
    "Añade una opción para el tiempo límite",
    "Ajouter une option pour le délai d'attente",
    "Le téléchargement doit recommencer quand la connexion est coupée",
    "Il download deve riprovare quando la connessione si interrompe",
    "O download deve tentar novamente quando a conexão cair",
    "De download moet opnieuw proberen als de verbinding wegvalt",
    "Pobieranie ma być ponawiane po zerwaniu połączenia",
    "Bağlantı kesilince indirme yeniden denensin",
    "Скачивание должно повторяться при обрыве соединения",
    "接続が切れたときにダウンロードを再試行する",
    "다운로드를 다시 시도",
    "让 retry_download 在连接断开时重试",
    "让retry_download在连接断开时重试",
]
ENGLISH = [
    "Refactor retry_download",
    "Fix put in Box",
    "Rename `parse_colour` to `parse_color`",
    "Let _make_default_short_help show 60 characters by default",
    "Support JWT auth in FooBar API via OAuth2 PKCE",
    "Box.put",
    "",
]


@pytest.mark.parametrize("text", OTHERS)
def test_another_language_is_known(text: str) -> None:
    assert not is_english(text)


@pytest.mark.parametrize("text", ENGLISH)
def test_requests_with_names_of_code_are_english(text: str) -> None:
    assert is_english(text)


def test_every_question_about_code_is_english() -> None:
    lines = (Path(str(tests.ranking.__path__[0])) / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    assert [case["question"] for case in map(json.loads, lines) if not is_english(case["question"])] == []
