"""The commands of the `jeeves` program."""

from __future__ import annotations

import typer

from serve.cli import ask, batch, bench, doctor, envelope, gc, http, index, runs, simulate, system, tool, validate

app = typer.Typer(
    name="jeeves",
    help="Ask about code and get answers with checked citations; run agents on Ray, bounded and durable.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("ask")(ask.ask)
app.command("batch")(batch.batch)
app.command("gc")(gc.gc)
app.command("index")(index.index)
app.command("tool")(tool.tool)
app.command("validate")(validate.validate)
app.command("doctor")(doctor.doctor)
app.command("up")(system.up)
app.command("down")(system.down)
app.command("status")(system.status)
app.command("serve")(http.serve)
app.command("simulate")(simulate.simulate)
app.add_typer(bench.app, name="bench")
app.add_typer(runs.app, name="runs")
app.add_typer(envelope.app, name="envelope")
