"""Commands of several pages do what the pages say: of metrics, models, MCP, recovery, and one of chat programs."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from runtime.run.bearer_tokens import read_token
from runtime.settings import load_settings
from tests.doors.page_blocks import ROOT, PageShell, shell_blocks
from tests.doors.program import JEEVES, TREE, WITHOUT_VECTORS, Program
from tests.doors.sample_repo import FILES, write_files
from tests.doors.test_http import Service, until_stopped
from tests.doors.test_models import answers_well
from tests.free_ports import free_port
from tests.runtime.llm.endpoint import Endpoint

DOCS = ROOT / "docs"
IN_PROCESS = {"JEEVES_RAY__MODE": "in_process"}
PING = '{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
# Not a program of this machine: it prints what it is told.
CLAUDE = '#!/usr/bin/env bash\nprintf "%s\\n" "$@"\n'
LLM = "llm==0.36"


def shell_at(folder: Path, places: dict[str, str], **env: str) -> PageShell:
    """A shell in a small repository, with a state folder beside it."""
    repo = write_files(folder / "repo", FILES)
    state = {"JEEVES_STATE_DIR": str(folder / "state"), "HOME": str(folder)}
    return PageShell(repo, places, **state, **WITHOUT_VECTORS, **env)


@pytest.mark.long
def test_the_command_for_prometheus_writes_a_token_that_may_only_watch(jeeves: Program, tmp_path: Path) -> None:
    page = (DOCS / "metrics.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^\$ sudo -u jeeves (jeeves token .*)$", page, re.MULTILINE)
    (file,) = re.findall(r"credentials_file: ([^}]+)}", page)
    # Other users than the one who runs the tests are not here.
    command = command.replace(" | sudo tee ", " | tee ")
    assert command.endswith(f" | tee {file} > /dev/null")
    kept = tmp_path / "jeeves.token"
    path = f"{JEEVES.parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | TREE | {"PATH": path, "JEEVES_STATE_DIR": str(tmp_path / "state")}
    subprocess.run(["bash", "-ec", command.replace(file, str(kept))], env=environment, timeout=120, check=True)
    assert read_token(kept.read_text(encoding="utf-8").strip().encode()) is not None
    (row,) = jeeves.run("token", "list").out.splitlines()
    assert row.split()[1:4] == ["valid", "prometheus", "watch"]


def test_the_model_file_for_a_laptop_is_checked_by_validate(jeeves: Program, tmp_path: Path) -> None:
    page = (DOCS / "models.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```yaml laptop\.yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert "`jeeves validate laptop.yaml`" in page
    (tmp_path / "laptop.yaml").write_text(block, encoding="utf-8")
    told = jeeves.run("validate", str(tmp_path / "laptop.yaml")).answers().out
    assert "main: qwen2.5:7b-instruct at http://127.0.0.1:11434/v1" in told


@pytest.mark.long
async def test_a_question_is_answered_by_the_endpoint_that_the_page_of_models_names(tmp_path: Path) -> None:
    first, serve, validate = shell_blocks("models.md")[0].splitlines()
    shell = shell_at(tmp_path, {}, **IN_PROCESS)
    endpoint = Endpoint(answers_well)
    await endpoint.start()
    try:
        (tmp_path / "config" / "models").mkdir(parents=True)
        shipped = (ROOT / "configs" / "models" / "openai.yaml").read_text(encoding="utf-8")
        own = shipped.replace("http://127.0.0.1:8000/v1", endpoint.url)
        assert own != shipped
        (tmp_path / "config" / "models" / "openai.yaml").write_text(own, encoding="utf-8")
        told = await asyncio.to_thread(shell.run, first, JEEVES_CONFIG_DIR=str(tmp_path / "config"))
    finally:
        await endpoint.stop()
    assert "This is the place that was asked for. [" in told
    assert len(endpoint.bodies) == 3
    assert validate == "jeeves validate configs/models/vllm_h100.yaml"
    shutil.copytree(ROOT / "configs", shell.folder / "configs")
    assert "Qwen/Qwen3-32B-FP8" in await asyncio.to_thread(shell.run, validate)
    # Where neither vLLM nor a GPU is, the command says what it lacks.
    refused = await asyncio.to_thread(shell.run, f"{serve} || test $? -eq 2")
    assert re.search(r"^jeeves: .*(vLLM|GPU)", refused, re.MULTILINE), refused


@pytest.mark.long
def test_the_servers_of_the_page_on_mcp_answer_over_pipes_and_over_http(tmp_path: Path) -> None:
    pipes, claude, ping, over_http, chroma = shell_blocks("mcp.md")
    port = free_port()
    shell = shell_at(tmp_path, {"127.0.0.1:8701": f"127.0.0.1:{port}"}, **IN_PROCESS)
    assert ping == f"echo '{PING}' | {pipes}"
    assert json.loads(shell.run(ping)) == {"jsonrpc": "2.0", "id": 1, "result": {}}
    with shell.up(over_http, "listening on"):
        header = "-H 'content-type: application/json' -H 'accept: application/json, text/event-stream'"
        begin = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
        message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": begin})
        told = shell.run(f"curl -fsS http://127.0.0.1:8701/mcp {header} -d '{message}'")
        assert '"serverInfo":{"name":"jeeves"' in told
    # Claude Code is not here. What it is told to start is what answered above.
    (tmp_path / "claude").write_text(CLAUDE, encoding="utf-8")
    (tmp_path / "claude").chmod(0o755)
    words = shell.run(claude, PATH=f"{tmp_path}{os.pathsep}{shell.env['PATH']}").splitlines()
    assert words == ["mcp", "add", "jeeves", "--", *pipes.split()]
    install, with_chroma = chroma.splitlines()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert install == "pip install '.[chroma]'"
    assert "chroma" in project["optional-dependencies"]
    variables = dict(word.split("=") for word in with_chroma.split() if "=" in word)
    assert load_settings(env=variables).code_index.vector_store == "chroma"
    assert json.loads(shell.run(f"echo '{PING}' | {with_chroma}"))["result"] == {}


@pytest.mark.long
def test_a_server_behind_a_proxy_is_known_by_its_public_name(tmp_path: Path) -> None:
    (block,) = shell_blocks("guides/mcp-over-http.md")
    port, token = free_port(), "a-token-of-the-tests-own"
    (tmp_path / "mcp.token").write_text(token, encoding="utf-8")
    (tmp_path / "mcp.token").chmod(0o600)
    places = {"/srv/shop": ".", "/etc/jeeves/mcp.token": f"{tmp_path}/mcp.token", ":8701": f":{port}"}
    shell = shell_at(tmp_path, places, **IN_PROCESS)
    # The server's own protocol begins with more than a ping: what matters is whether the name and the token are taken.
    sent = f"-d '{PING}' -H 'content-type: application/json'"
    call = f"curl -sS -o /dev/null -w '%{{http_code}}' http://127.0.0.1:{port}/mcp {sent}"
    with shell.up(block, "listening on"):
        known = f"-H 'Authorization: Bearer {token}'"
        assert shell.run(f"{call} {known} -H 'Host: jeeves.example.org'") not in ("401", "421")
        assert shell.run(f"{call} -H 'Host: jeeves.example.org'") == "401"
        assert shell.run(f"{call} {known} -H 'Host: other.example.org'") == "421"


@pytest.mark.ray
@pytest.mark.long
def test_a_run_that_does_not_end_is_cancelled_and_forked_as_the_guide_says(tmp_path: Path) -> None:
    look, fork = shell_blocks("guides/recover.md")
    shell = shell_at(tmp_path, {}, JEEVES_WARM_PIPELINES="code_analysis_reviewed")
    shell.run("jeeves up")
    try:
        shell.run('jeeves ask "What is PostOffice?" --repo . --pipeline code_analysis_reviewed --wait || test $? -eq 4')
        (row,) = shell.run("jeeves runs list").splitlines()
        run_id = row.split()[0]
        told = shell.run(re.sub(r"\bID\b", run_id, look))
        assert "the run waits for an answer" in told
        assert told.endswith(f"{run_id} user_cancelled\n")
        # The fork asks for the same review, and nobody answers it here.
        forked = re.sub(r"\bID\b", run_id, fork).rstrip()
        assert " waiting" in shell.run(f"{forked} || test $? -eq 4")
    finally:
        shell.run("jeeves down || true")


@pytest.mark.ray
@pytest.mark.slow
def test_llm_asks_and_goes_on_with_a_conversation(tmp_path: Path) -> None:
    """The program is fetched into an environment of its own; without a package index the test is skipped."""
    block = shell_blocks("guides/chat-clients.md")[0]
    keys, first, second, chat = block.splitlines()
    page = (DOCS / "guides" / "chat-clients.md").read_text(encoding="utf-8")
    (models,) = [each for each in re.findall(r"^```yaml\n(.*?)^```$", page, re.M | re.S) if "model_id" in each]
    own = tmp_path / "llm"
    subprocess.run([sys.executable, "-m", "venv", str(own)], check=True, timeout=120)
    pip = [str(own / "bin" / "python"), "-m", "pip", "-qq", "--disable-pip-version-check", "install", LLM]
    if subprocess.run(pip, timeout=300, check=False).returncode:
        pytest.skip(f"pip does not give {LLM}")
    repo = write_files(tmp_path / "post_office", FILES)
    with until_stopped(Service(Program(tmp_path / "state"), [repo], free_port())) as service:
        shell = PageShell(tmp_path, {"8400": str(service.port)}, LLM_USER_PATH=str(tmp_path / "of-llm"))
        shell.env["PATH"] = f"{own}/bin{os.pathsep}{shell.env['PATH']}"
        (tmp_path / "of-llm").mkdir()
        assert shell.run('dirname "$(llm logs path)"').strip() == str(tmp_path / "of-llm")
        (tmp_path / "of-llm" / "extra-openai-models.yaml").write_text(shell.here(models), encoding="utf-8")
        shell.run(f"{keys.partition('#')[0]} --value any-word")
        assert "post/office.py:12" in shell.run(first)
        assert "deliver" in shell.run(second)
        assert "post/office.py:12" in shell.run(f"printf 'Where is PostOffice.deliver defined?\\nexit\\n' | {chat}")
