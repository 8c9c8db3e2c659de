"""Builds the documentation site.

    python -m tests.documentation FOLDER

The pages are in FOLDER/html; the exit status is 1 if one would load something from elsewhere.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.documentation.site import build, loaded_from_elsewhere


def main() -> None:
    """Build the site into the folder of the command line."""
    folder = Path(sys.argv[1])
    pages = build(folder)
    found = loaded_from_elsewhere(pages)
    for line in found:
        sys.stderr.write(f"loaded from elsewhere: {line}\n")
    sys.stdout.write(f"{pages / 'index.html'}\n")
    raise SystemExit(1 if found else 0)


if __name__ == "__main__":
    main()
