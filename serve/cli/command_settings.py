"""Loads the settings of a command, and sets up its logs accordingly."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from runtime.primitives.structured_logs import LogOptions, configure_logs

if TYPE_CHECKING:
    from runtime.settings import Settings

LOG_FILE = Path("logs", "cli.log")


def load_command_settings(config: Path | None) -> Settings:
    """Load settings and log to logs/cli.log in the state folder, or with JEEVES_DEBUG to standard error."""
    # Imported here: a question to a warm system may need no settings, whose import takes longer than all else of it.
    from runtime.settings import load_settings

    settings = load_settings(config)
    log_as_told(LogOptions(settings.logging.level, settings.logging.format), settings.state_dir)
    return settings


def log_as_told(options: LogOptions, state_dir: Path) -> None:
    """Set up the logs of a command."""
    configure_logs(options, "cli", log_file(state_dir))


def log_file(state_dir: Path) -> Path | None:
    """Return the file that commands log to; None: standard error."""
    return None if os.environ.get("JEEVES_DEBUG") else state_dir / LOG_FILE
