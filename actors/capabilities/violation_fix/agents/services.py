"""Opens what the agents of one process share: the folder of fixes, and the phases."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from runtime.codebase.git.tree_places import FIX_TREES, FIXES_FOLDER
from runtime.context.phase_definition import load_phases
from runtime.context.phase_machine import PhaseMachine
from runtime.settings import shipped_config_dir

PHASES_FILE = "phases/fix_violation.yaml"


class Services:
    """Holds the folder of fixes (`trees/NAME`: work trees; `edits/NAME`: what was edited) and the phase machine."""

    def __init__(self, folder: Path, phases: PhaseMachine) -> None:
        self.folder = folder
        self.phases = phases

    def tree_of(self, name: str) -> Path:
        """Return the folder of a fix's work tree."""
        return self.folder.parent / FIX_TREES / name

    def edits_of(self, name: str) -> Path:
        """Return the folder that the edits of a fix are recorded in."""
        return self.folder / "edits" / name


def open_services(settings: Mapping[str, Any]) -> Services:
    """Open the services of one process; `settings` has `state_dir`, and `config_folders` where settings name some."""
    folders = [*map(Path, settings.get("config_folders", ())), shipped_config_dir()]
    file = next(path for folder in folders if (path := folder / PHASES_FILE).is_file())
    return Services(Path(settings["state_dir"]) / FIXES_FOLDER, PhaseMachine(load_phases(file)))
