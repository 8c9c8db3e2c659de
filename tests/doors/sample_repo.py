"""A small repository to ask about."""

from __future__ import annotations

from pathlib import Path

FILES = {
    "README.md": "# Post office\n\nCarries letters between boxes.\n",
    "post/__init__.py": '"""A small post office."""\n',
    "post/office.py": '''"""Sorting and delivering letters."""

from post.boxes import Box, BoxFullError


class PostOffice:
    """Sorts letters into boxes."""

    def __init__(self) -> None:
        self.boxes: dict[str, Box] = {}

    def deliver(self, letter: str, name: str) -> bool:
        """Put a letter into the box of a name; False when there is no room."""
        box = self.boxes.setdefault(name, Box(name))
        try:
            box.put(letter)
        except BoxFullError:
            return self.return_to_sender(letter)
        return True

    def return_to_sender(self, letter: str) -> bool:
        """Letters that found no room go back."""
        return False
''',
    "post/boxes.py": '''"""Boxes that hold letters."""

MAX_LETTERS = 3


class BoxFullError(Exception):
    """A box has no room left."""


class Box:
    """Holds at most MAX_LETTERS letters."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.letters: list[str] = []

    def put(self, letter: str) -> None:
        """Add a letter. Raises BoxFullError when the box is full."""
        if len(self.letters) >= MAX_LETTERS:
            raise BoxFullError(self.name)
        self.letters.append(letter)
''',
    "tests/test_office.py": """from post.office import PostOffice


def test_a_letter_is_delivered() -> None:
    assert PostOffice().deliver("hello", "ada")
""",
}
QUESTION = "How does PostOffice.deliver handle a full box?"


def write_files(folder: Path, files: dict[str, str]) -> Path:
    """A folder with those files."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder
