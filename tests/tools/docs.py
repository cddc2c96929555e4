"""Writes the pages that are made from the program itself: those of `PAGES`, whole or in part.

Run without arguments to write them, with `--check` to name those that are stale (exit code 1).
"""

import json
import re
import runpy
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

import click

from earwitness.audit.measure import MEASURES
from earwitness.cli import cli
from earwitness.ingest import containers, files
from earwitness.ingest.fingerprints import FOREIGN
from earwitness.ingest.registry import find_adapters
from earwitness.ingest.spans.registry import find_dialects
from earwitness.schema.case import Case
from earwitness.schema.tables import TABLES
from earwitness.schema.words import CHANNELS, GRADES

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
WIDTH = 100
BEGIN, END = "<!-- measures:begin -->", "<!-- measures:end -->"
MADE = "<!-- Made by tests/tools/docs.py; `make docs` writes it anew. -->"

SHOWN = """## What each format shows

Counted over the samples in `tests/golden/ingest`. A channel that is missing was not in the samples; what a format
cannot show at all stands under `never`: an audit calls it unverifiable, not clean."""
WHENCE = """## Where a file comes from

How users get such a file, the versions whose files were read, and what the order of events is taken from."""
NOTES = ("Obtained by", "Versions tried", "Order")
MATRIX = ("format", "channels", "never", "recipients known by", "time", "losses told")
CONTAINERS = {
    "jsonl": "one JSON value a line; blank lines do not count, a line that is no JSON is `unparseable`",
    "json": "one JSON value, over any number of lines",
    "json-array": "a JSON array; each element is a record",
    "json-concatenated": "JSON values one after another, with or without white space or commas between them",
    "empty": "nothing but white space",
    "parquet": "rows of a Parquet file; `line` counts rows",
    "sqlite": "rows of every table of a SQLite database, the table's name under `_table`",
    "event-stream": "server-sent events, each as `id`, `event` and `data`",
    "log": 'text lines that end in a JSON object; lines without one are `{"_line": text}`',
    "text": "plain lines, where a format of plain text is known by its beginning; else the file is refused",
}
ENCODINGS = "UTF-8 with or without a byte order mark; UTF-16 and UTF-32 with one."
FLOWS = {
    "event": "the event",
    "trace": "its trace",
    "seq": "its order in the trace",
    "channel": "its channel",
    "sender": "who produced it, by the name of the roster",
    "recipient": "who received it, by the name of the roster; NULL where nobody is known to have",
    "grade": "evidence for the recipient",
    "content": "the text",
    "flags": "flags of the event",
}


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """A Markdown table."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def page(title: str, *parts: str) -> str:
    """A made page."""
    return "\n\n".join([f"# {title}", MADE, *map(_wrapped, parts)]) + "\n"


def _wrapped(part: str) -> str:
    """Prose at a readable width; code, tables, lists and headings as they are."""
    lines = part.split("\n")
    return "\n".join(fill(line, 120, break_on_hyphens=False) if _prose(line) else line for line in lines)


def _prose(line: str) -> bool:
    return len(line) > 120 and not line.startswith(("|", " ", "-", "#", "`"))


def commands() -> Iterator[tuple[str, click.Command, click.Context]]:
    """Every command and sub-command with its full name."""
    names = list(cli.context_settings["help_option_names"])
    root = click.Context(cli, info_name="earwitness", terminal_width=WIDTH, help_option_names=names)
    yield "earwitness", cli, root
    yield from _below(cli, root, "earwitness")


def _below(group: click.Group, above: click.Context, path: str) -> Iterator[tuple[str, click.Command, click.Context]]:
    for name in group.list_commands(above):
        command = group.get_command(above, name)
        if command is None:
            continue
        # Width and `-h` are inherited from the context above, never taken from the terminal.
        context = click.Context(command, info_name=name, parent=above)
        yield f"{path} {name}", command, context
        if isinstance(command, click.Group):
            yield from _below(command, context, f"{path} {name}")


def cli_page() -> str:
    """docs/cli.md."""
    parts = []
    for name, command, context in commands():
        text = "\n".join(line.rstrip(" \b") for line in command.get_help(context).splitlines())
        parts.append(f"## {name}\n\n```text\n{text}\n```")
    return page("Commands", "What `--help` prints. Exit codes: [reports.md](reports.md#exit-codes).", *parts)


def tables_page() -> str:
    """docs/tables.md."""
    intro = (
        "A case is one DuckDB file; these are its tables. `earwitness schema` prints the same. "
        "A stage empties the tables it writes and fills them again; `all` means that every stage adds to them."
    )
    parts = [
        table(
            ("table", "what it holds", "stage"), [(f"[{t.name}](#{t.name})", t.doc, t.stage) for t in TABLES.values()]
        )
    ]
    for one in TABLES.values():
        rows = [(f"`{c.name}`", c.type, c.doc) for c in one.columns]
        parts.append(f"## {one.name}\n\n{one.doc}\n\nWritten by stage: {one.stage}.")
        parts.append(table(("column", "type", "meaning"), rows))
    return page("Tables", intro, *parts, _flows_part())


def _flows_part() -> str:
    with Case() as case:
        described = case.rows("SELECT column_name, column_type FROM (DESCRIBE flows)")
    rows = [(f"`{name}`", kind, FLOWS[name]) for name, kind in described]
    text = (
        "A view: one row an event and recipient, names resolved through the roster's aliases. Undelivered events and "
        "what an actor sends to itself are left out; an event without any recipient stands with NULL."
    )
    return f"## flows\n\n{text}\n\n" + table(("column", "type", "meaning"), rows)


def formats_page() -> str:
    """docs/formats.md."""
    adapters = [(a.TITLE, f"`{a.NAME}`", summary(type(a).__module__)) for a in find_adapters()]
    dialects = [(f"`{d.NAME}`", summary(getattr(d, "__name__", type(d).__module__))) for d in find_dialects()]
    packed = [name for _, name, _ in files._MAGICS] + ["tar", "zip"]
    rows = [(f"`{name}`", text) for name, text in CONTAINERS.items()]
    refused = ", ".join(name for _, name in containers._UNSUPPORTED)
    return page(
        "Formats",
        "Formats are told by their content, never by a file's name. `earwitness inspect FILE` says what a file is.",
        "## Formats read\n\n" + table(("format", "name in `inspect`", "what it is"), adapters),
        SHOWN,
        table(MATRIX, [_shown(a.NAME) for a in find_adapters()]),
        WHENCE,
        table(
            ("format", *map(str.lower, NOTES)), [(f"`{a.NAME}`", *notes(type(a).__module__)) for a in find_adapters()]
        ),
        "## Dialects of spans\n\nEach span is read by the first of these vocabularies that knows it.",
        table(("name in `inspect`", "what it is"), dialects),
        "## Containers\n\n" + table(("container", "layout"), rows),
        f"Packed in {', '.join(packed)}, up to three layers deep. {ENCODINGS}",
        f"Recognised but not opened: {refused}.",
        "## Recognised, not supported\n\n"
        "Records of these formats count as `unknown`, with the format's name as reason. Nothing in them is audited.",
        "\n".join(f"- {name}" for name, _ in FOREIGN),
    )


def _whence(name: str, module: str) -> tuple[str, ...]:
    return (f"`{name}`", *notes(module))


def _shown(name: str) -> tuple[str, ...]:
    """A row of the matrix: what the expected files of an adapter hold."""
    lines = [
        json.loads(line)
        for path in sorted((ROOT / "tests" / "golden" / "ingest" / name).glob("*.expected.jsonl"))
        for line in path.read_text("utf-8").splitlines()
        if line.startswith("{")
    ]
    events = [line for line in lines if line["type"] == "event"]
    traces = [line for line in lines if line["type"] == "trace"]
    grades = {_grade(d) for e in events for d in e.get("to", ())} | {"none" for e in events if not e.get("to")}
    never = set(CHANNELS).difference(*({*t.get("observable", CHANNELS)} for t in traces)) if traces else set()
    times = sum("time" in e for e in events)
    losses = sorted({line["kind"] for line in lines if line["type"] == "loss"})
    return (
        f"`{name}`",
        " ".join(sorted({e["channel"] for e in events})),
        " ".join(sorted(never)),
        " ".join(g for g in (*GRADES, "none") if g in grades),
        "all" if events and times == len(events) else "some" if times else "no",
        ", ".join(losses),
    )


def _grade(delivery: str | dict[str, str]) -> str:
    return "declared" if isinstance(delivery, str) else delivery.get("grade", "declared")


def summary(module: str) -> str:
    """The first paragraph of a module's docstring, on one line."""
    text = sys.modules[module].__doc__ or ""
    return " ".join(text.strip().split("\n\n", 1)[0].split())


def notes(module: str) -> tuple[str, ...]:
    """What the lines of a module's docstring say that begin with a label and a colon; empty where one is missing."""
    text = sys.modules[module].__doc__ or ""
    found = re.findall(rf"^({'|'.join(NOTES)}): (.+?)\.?$(?=\n\S+ ?\w*: |\s*\Z)", text, re.MULTILINE | re.DOTALL)
    said = {label: " ".join(words.split()) for label, words in found}
    return tuple(said.get(label, "") for label in NOTES)


def measures_page() -> str:
    """docs/measures.md with its list of measures made anew; the rest of it is written by hand."""
    text = (DOCS / "measures.md").read_text("utf-8")
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    rows = [(f"[`{m.name}`](#{m.name})", m.title) for m in MEASURES]
    return f"{head}{BEGIN}\n{MADE}\n\n{table(('measure', 'k of n'), rows)}\n\n{END}{tail}"


def produced_page() -> str:
    """docs/produced-once.md."""
    tool = runpy.run_path(str(ROOT / "tests" / "tools" / "produced.py"))
    head: tuple[str, ...] = tool["HEAD"]
    own = [tuple(row.values()) for row in tool["recordings"]()]
    files = len({row["file"] for row in tool["stored"]()})
    parts = []
    for run in tool["truth"]():
        rows = [row for row in tool["stored"]() if tool["run_of"](row) == run]
        parts.append(f"### {run['run']}\n\n{run['says'].capitalize()}: {_counts(run['produced'])}.")
        parts.append(table((*head[:1], *head[2:5], "by channel", "why"), [_produced(tool, row, run) for row in rows]))
    return page(
        "Produced once",
        "A recording says the same thing many times: each model call repeats its history, each parent its children. "
        "Every value is counted where it was produced, as an event; copies are sightings of who was shown it. "
        "`raw` counts the value in the bytes of the file.",
        "## Recordings in the repository",
        table(head, own),
        "What happened in the run, and what each recording can show: "
        "[sample_traces/recordings](../sample_traces/recordings/README.md).",
        "## Recordings beside the repository",
        f"The same for {files} files of frameworks and exporters, in every form their users write them. Nothing of "
        "them is in the repository; `pytest -m real tests/ingest/test_produced_once.py` counts them anew, `--update` "
        "writes the counts, and `tests/golden/produced/truth.yaml` says what happened and why a file says less.",
        *parts,
    )


def _produced(tool: dict[str, Any], row: dict[str, str], run: dict[str, Any]) -> tuple[str, ...]:
    other = tool["deviation"](row, run)
    counts = (row["raw"], row["events"], row["sightings"], _counts(tool["channels"](row)))
    return (f"`{row['file'].partition('/')[2]}`", *counts, other["why"] if other else "")


def _counts(by_channel: dict[str, int]) -> str:
    return ", ".join(f"{channel} {n}" for channel, n in by_channel.items()) or "nothing"


def real_page() -> str:
    """docs/real-files.md."""
    tool = runpy.run_path(str(ROOT / "tests" / "tools" / "real.py"))
    sources = {row["folder"]: row for row in tool["read"]("corpora.csv")}
    totals = tool["read"]("totals.csv")
    head = tuple(key for key in tool["HEAD"] if any(row[key] != "0" for row in totals))
    sums = ("all", *(str(sum(int(row[key]) for row in totals)) for key in head[1:]))
    where = [(f"`{name}`", row["licence"], row["source"]) for name, row in sources.items()]
    return page(
        "Real files",
        "Every format is tried on files that others wrote: public corpora, fixtures of the tools themselves, and "
        "recordings of the frameworks. They lie beside the repository; nothing of them is copied into it.",
        "## Totals",
        "Each folder in one import. Records are `mapped` or have another outcome, and all of them add up. Many files "
        "of a folder record one run in several forms, which are `duplicate` from the second on; `ignored` are records "
        "without any content of an agent, such as plain spans and bookkeeping.",
        table(head, [tuple(row[key] for key in head) for row in totals] + [sums]),
        "To count anew: `python tests/tools/real.py`. `pytest -m real tests/ingest/test_real_totals.py` checks the "
        "figures, and that no record of any file is left without an outcome; `--update` writes them.",
        "## Where they are from",
        table(("folder", "licence", "source"), where),
    )


PAGES: dict[str, Callable[[], str]] = {
    "cli.md": cli_page,
    "tables.md": tables_page,
    "formats.md": formats_page,
    "measures.md": measures_page,
    "produced-once.md": produced_page,
    "real-files.md": real_page,
}


def main(arguments: list[str]) -> int:
    """Write or check; gives the exit code."""
    made = {DOCS / name: make() for name, make in PAGES.items()}
    stale = [path for path, text in made.items() if not path.is_file() or path.read_text("utf-8") != text]
    if "--check" in arguments:
        for path in stale:
            print(f"{path.relative_to(ROOT)}: stale; run `make docs`", file=sys.stderr)
        return 1 if stale else 0
    for path in stale:
        path.write_text(made[path], "utf-8")
        print(f"{path.relative_to(ROOT)}: written")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
