"""Reads and renders prompts from files: front matter, then `# system` and `# user`.

A prompt is `<folder>/prompts/<capability>/<agent>.<version>.md`:

    ---
    inputs: [question, facts]
    system: shared
    ---
    # user
    {{question}} …

Rendering is strict (a variable that is missing or not declared is an error) and single-pass: the value of a variable is
never expanded again. `system: NAME` takes the system part of another prompt, so that agents share it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from runtime.errors import InputError, UnknownNameError
from runtime.primitives.text_files import read_text_file
from runtime.primitives.yaml_documents import Fault, parse_yaml, raise_faults

Version = tuple[int, ...]

MAX_PROMPT_BYTES = 200_000
_FILE = re.compile(r"(?P<agent>[a-z][a-z0-9_]*)\.(?P<version>\d{1,6}(?:\.\d{1,6}){0,3})\.md")
_VARIABLE = re.compile(r"\{\{\s*([a-z][a-z0-9_]*)\s*\}\}")
_SECTION = re.compile(r"^# (system|user)[ \t]*\n", re.MULTILINE)
_KEYS = frozenset({"inputs", "system", "description"})


class Prompt(msgspec.Struct, frozen=True):
    """Holds one version of one prompt. `shares` names the prompt whose system part replaces `system`."""

    name: str
    version: Version
    inputs: frozenset[str]
    system: str
    user: str
    shares: str | None = None

    @property
    def label(self) -> str:
        """`planner@1.2`, for records and messages."""
        return f"{self.name}@{'.'.join(map(str, self.version))}"


class RenderedPrompt(msgspec.Struct, frozen=True):
    """Holds the texts to send: the system text, which prompts may share, and the user text. `label`: `Prompt.label`."""

    system: str
    user: str
    label: str


class PromptRegistry:
    """Finds and renders the prompts of one capability."""

    def __init__(self, prompts: Iterable[Prompt]) -> None:
        self._prompts: dict[str, dict[Version, Prompt]] = {}
        for prompt in prompts:
            self._prompts.setdefault(prompt.name, {})[prompt.version] = prompt

    @classmethod
    def open(cls, folders: Iterable[Path], capability: str) -> PromptRegistry:
        """Read every prompt of a capability; the same version in an earlier folder wins. Raises DocumentFaults."""
        found: dict[str, Prompt] = {}
        for folder in folders:
            for path in sorted((folder / "prompts" / capability).glob("*.md")):
                prompt = read_prompt(path)
                found.setdefault(prompt.label, prompt)
        return cls(found.values())

    def get(self, key: str) -> Prompt:
        """Return the highest version for `planner`, or that version for `planner@1.2`. Raises UnknownNameError."""
        name, _, wanted = key.partition("@")
        versions = self._prompts.get(name)
        if not versions:
            known = sorted(self._prompts)
            raise UnknownNameError(f"no prompt is named '{name}'; known: {', '.join(known)}", name=name, known=known)
        if not wanted:
            return versions[max(versions)]
        version = _version(wanted) if re.fullmatch(r"\d+(\.\d+)*", wanted) else ()
        if version not in versions:
            known = [prompt.label for _, prompt in sorted(versions.items())]
            raise UnknownNameError(f"there is no prompt '{key}'; known: {', '.join(known)}", name=key, known=known)
        return versions[version]

    def render(self, key: str, variables: Mapping[str, str]) -> RenderedPrompt:
        """Fill in the variables of a prompt. Raises InputError unless they are exactly those that it declares."""
        prompt = self.get(key)
        missing, foreign = sorted(prompt.inputs - variables.keys()), sorted(variables.keys() - prompt.inputs)
        if missing or foreign:
            raise InputError(
                f"prompt {prompt.label} takes {_listed(prompt.inputs)}; missing: {_listed(missing)}, "
                f"not taken: {_listed(foreign)}",
                missing=missing,
                foreign=foreign,
            )
        system = self.get(prompt.shares).system if prompt.shares else _filled(prompt.system, variables)
        return RenderedPrompt(system.strip(), _filled(prompt.user, variables).strip(), prompt.label)


def read_prompt(path: Path) -> Prompt:
    """Read the prompt in a file. Raises DocumentFaults with all of its faults."""
    named = _FILE.fullmatch(path.name)
    try:
        text = read_text_file(path)
    except (OSError, ValueError) as error:
        raise_faults([Fault(str(path), None, "", f"cannot be read: {error}")])
        raise
    faults: list[Fault] = []
    if named is None:
        faults.append(Fault(str(path), None, "", "its name must be AGENT.VERSION.md, such as planner.1.2.md"))
    if len(text) > MAX_PROMPT_BYTES:
        faults.append(Fault(str(path), None, "", f"{len(text)} characters, at most {MAX_PROMPT_BYTES} allowed"))
    raise_faults(faults)
    assert named is not None
    return _parsed(path, text.replace("\r\n", "\n"), named["agent"], _version(named["version"]))


def _parsed(path: Path, text: str, name: str, version: Version) -> Prompt:
    head, separator, body = text.removeprefix("---\n").partition("\n---\n")
    if not text.startswith("---\n") or not separator:
        raise_faults([Fault(str(path), 1, "", "it must begin with front matter between lines of ---")])
    document = parse_yaml(head, str(path))
    matter = document.data if isinstance(document.data, dict) else {}
    faults = [document.fault((key,), "unknown key") for key in sorted(matter.keys() - _KEYS)]
    inputs, shares = matter.get("inputs", []), matter.get("system")
    if not isinstance(inputs, list) or not all(isinstance(item, str) for item in inputs):
        faults.append(document.fault(("inputs",), "must be a list of names"))
        inputs = []
    if shares is not None and not isinstance(shares, str):
        faults.append(document.fault(("system",), "must be the name of a prompt"))
        shares = None
    parts = _SECTION.split(body)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    if not sections:
        faults.append(Fault(str(path), None, "", "it has neither a line '# system' nor a line '# user'"))
    if shares and "system" in sections:
        faults.append(document.fault(("system",), "the prompt has a system part of its own, too"))
    used = {variable for section in sections.values() for variable in _VARIABLE.findall(section)}
    for variable in sorted(used - set(inputs)):
        faults.append(document.fault(("inputs",), f"'{variable}' is used, but not declared"))
    for variable in sorted(set(inputs) - used):
        faults.append(document.fault(("inputs",), f"'{variable}' is declared, but not used"))
    raise_faults(faults)
    return Prompt(name, version, frozenset(inputs), sections.get("system", ""), sections.get("user", ""), shares)


def _version(text: str) -> Version:
    """Parse a version, to compare number by number; 1.0 equals 1."""
    parts = [int(part) for part in text.split(".")]
    while len(parts) > 1 and parts[-1] == 0:
        parts.pop()
    return tuple(parts)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"


def _filled(text: str, variables: Mapping[str, str]) -> str:
    return _VARIABLE.sub(lambda found: variables[found[1]], text)
