"""Files of rights, people and style checks are told from those that speak of what a project does."""

from __future__ import annotations

import pytest

from runtime.codebase.files.boilerplate import asks_for_boilerplate, is_boilerplate


@pytest.mark.parametrize(
    "path",
    [
        *("LICENSE", "LICENSE.txt", "licence.md", "COPYING.LESSER", "NOTICE", "CONTRIBUTORS.txt", "AUTHORS.rst"),
        *("CITATION.cff", "docs/CODE_OF_CONDUCT.md", ".github/CODEOWNERS", ".github/FUNDING.yml", "LICENSES/MIT.txt"),
        *(".oxlintrc.json", ".eslintrc.cjs", "web/.prettierrc", ".editorconfig", ".gitignore", ".gitattributes"),
        *(".rubocop.yml", ".golangci-lint.yml", "tslint.json", "checkstyle.xml", "rustfmt.toml", ".clang-format"),
        *(".pre-commit-config.yaml", "phpcs.xml.dist"),
    ],
)
def test_rights_people_and_settings_of_style_checks_are_boilerplate(path: str) -> None:
    assert is_boilerplate(path)


@pytest.mark.parametrize(
    "path",
    [
        *("README.md", "docs/guide.md", "CHANGELOG.md", "src/license.py", "lib/authors.rb", "src/lint/rules.ts"),
        *("pyproject.toml", "config/settings.json", "src/owners/model.go", "eslint/lib/rules/indent.js", "notice.php"),
        *("docs/maintaining.md", "Makefile", "src/credits.c", "package.json", "tox.ini", ".env.example"),
    ],
)
def test_code_guides_and_other_settings_are_none(path: str) -> None:
    assert not is_boilerplate(path)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Under which license is it published?", True),
        ("Who are the authors?", True),
        ("How do I contribute?", True),
        ("Which rules of the linter are off?", True),
        ("Which lint rules are off?", True),
        ("What does LICENSE.txt say?", True),
        ("How does the server restart by itself when the code changes?", False),
        ("How does it send an email when it has finished?", False),
    ],
)
def test_only_a_question_for_such_files_asks_for_them(question: str, expected: bool) -> None:
    assert asks_for_boilerplate(question) is expected


def test_a_path_of_such_a_file_asks_for_it() -> None:
    assert asks_for_boilerplate("What is in it?", [".oxlintrc.json"])
    assert not asks_for_boilerplate("What is in it?", ["src/app.py"])
