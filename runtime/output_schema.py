"""A stage's declared output, as JSON schema: checked where the stage runs, before its result is reported."""

from __future__ import annotations

from typing import Any

from runtime.errors import SettingsError


class OutputSchema:
    """The schema of one agent's output. Making one raises SettingsError when it is no JSON schema (2020-12)."""

    def __init__(self, agent: str, schema: dict[str, Any]) -> None:
        # Imported here: most agents declare none, and each runs in a process that should start fast.
        from jsonschema import Draft202012Validator
        from jsonschema.exceptions import SchemaError

        try:
            Draft202012Validator.check_schema(schema)
        except SchemaError as error:
            raise SettingsError(f"output_schema of agent '{agent}' is no JSON schema: {error.message}") from error
        self._agent = agent
        self._validator = Draft202012Validator(schema)

    def fault(self, output: dict[str, Any]) -> str | None:
        """The gravest fault of an output, with its place, or None."""
        from jsonschema.exceptions import best_match

        worst = best_match(self._validator.iter_errors(output))
        if worst is None:
            return None
        place = ".".join(str(part) for part in worst.absolute_path) or "the output"
        return f"output of stage '{self._agent}' does not fit its schema: {place}: {worst.message}"
