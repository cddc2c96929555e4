"""The documentation is tested: made pages are current, sessions and examples run, names and links exist."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import pytest

from earwitness.audit.measure import MEASURES
from earwitness.audit.pipeline import audit, read_request
from earwitness.audit.rulesets import DEFAULT
from earwitness.cli import cli
from earwitness.ingest import registry
from earwitness.ingest.loader import Loader
from earwitness.ingest.registry import find_adapters
from earwitness.reports.inspection import inspect
from earwitness.reports.summary import summary
from earwitness.schema import model
from earwitness.schema.case import Case
from earwitness.schema.policy import Member, Policy, PolicyRule, PolicyValue, parse_policy
from earwitness.schema.tables import TABLES
from earwitness.schema.vaultfile import load_vault

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([ROOT / "README.md", *DOCS.rglob("*.md"), *(ROOT / "changelog").glob("*.md")])
CUT = "[...]"


def read(path: Path | str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def named(page: str, name: str) -> str:
    """The block that stands below a comment which names it."""
    found = re.search(rf"<!-- \w+: {re.escape(name)} -->\n```\w+\n(.*?)^```$", read(page), re.DOTALL | re.MULTILINE)
    assert found, f"{page} has no block named {name}"
    return found[1]


# Made pages.


def test_made_pages_are_current() -> None:
    done = subprocess.run(
        [sys.executable, "tests/tools/docs.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "40"},
    )
    assert done.returncode == 0, done.stderr


def command_names(group: click.Group, path: str = "earwitness") -> Iterator[str]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None, name
        yield f"{path} {name}"
        if isinstance(command, click.Group):
            yield from command_names(command, f"{path} {name}")


@pytest.mark.parametrize("name", list(command_names(cli)))
def test_every_command_is_documented(name: str) -> None:
    assert f"\n## {name}\n" in read("docs/cli.md")


@pytest.mark.parametrize("name", [*TABLES, "flows"])
def test_every_table_is_documented(name: str) -> None:
    assert f"\n## {name}\n" in read("docs/tables.md")


@pytest.mark.parametrize("name", [a.NAME for a in find_adapters()])
def test_every_adapter_is_documented(name: str) -> None:
    assert f"| `{name}` |" in read("docs/formats.md")


@pytest.mark.parametrize("name", [m.name for m in MEASURES])
def test_every_measure_has_its_formula(name: str) -> None:
    _, heading, rest = read("docs/measures.md").partition(f"\n### {name}\n")
    assert heading
    assert rest.strip().split("\n#")[0].strip()


# Keys and fields.


@pytest.mark.parametrize("kind", [Policy, Member, PolicyValue, PolicyRule], ids=lambda k: k.__name__)
def test_every_key_of_the_policy_is_documented(kind: Any) -> None:
    text = read("docs/policy.md")
    assert [f for f in kind.__struct_fields__ if f"`{f}`" not in text] == []


@pytest.mark.parametrize("kind", model.ITEM_TYPES, ids=lambda k: k.__name__)
def test_every_field_of_canonical_lines_is_documented(kind: Any) -> None:
    _, heading, rest = read("docs/canonical.md").partition(f"\n## {kind.__struct_config__.tag}\n")
    assert heading
    text = rest.split("\n## ")[0] + read("docs/policy.md")
    assert [f for f in kind.__struct_fields__ if f"`{f}`" not in text] == []


def test_every_key_of_the_report_objects_is_documented(example: Case) -> None:
    text = read("docs/reports.md")
    keys = [*summary(example, labels=True, reveal=True), *next(inspect(example))]
    assert [k for k in keys if f"`{k}`" not in text] == []


def test_every_dependency_has_its_reason() -> None:
    project = tomllib.loads(read("pyproject.toml"))["project"]
    text = read("docs/decisions/0002-dependencies.md")
    names = [re.split(r"[><=\[]", d)[0] for d in project["dependencies"]]
    told = re.findall(r"^\| (\S+) \|", text, re.MULTILINE)
    assert sorted(names) == sorted(n for n in told if n not in ("package", "---"))


# Sessions.


def sessions(text: str) -> Iterator[tuple[str, list[str]]]:
    """Each command of the console blocks with the lines shown for it."""
    for block in blocks(text, "console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *lines = part.rstrip("\n").split("\n")
            yield command, [line.rstrip() for line in lines]


def run(command: str, folder: Path) -> list[str]:
    program, *arguments = shlex.split(command)
    assert program == "earwitness"
    done = subprocess.run(
        [sys.executable, "-m", "earwitness", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1), done.stderr
    return [line.rstrip() for line in done.stdout.rstrip("\n").split("\n")]


def assert_shown(shown: list[str], real: list[str]) -> None:
    """What is shown is what was printed; only at the marks lines may be missing."""
    at, free = 0, False
    for n, line in enumerate(shown):
        if line == CUT:
            free = True
            continue
        where = real.index(line, at) if free and line in real[at:] else at
        assert real[where : where + 1] == [line], f"line {n + 1} of the session is not what is printed"
        at, free = where + 1, False
    assert free or at == len(real), "lines are missing at the end without a mark"


@pytest.fixture
def workplace(tmp_path: Path) -> Path:
    """A folder as the pages suppose it: the bundled traces, and the files the pages write."""
    shutil.copytree(ROOT / "sample_traces", tmp_path / "sample_traces")
    (tmp_path / "vault.csv").write_text(named("docs/first-audit.md", "vault.csv"), encoding="utf-8")
    policy = read("sample_traces/topologies/policy.yaml")
    rule = named("docs/first-audit.md", "wider.yaml").rstrip("\n")
    wider, changed = re.subn(r"^  - \{id: team-knows-the-amount,.*$", rule, policy, flags=re.MULTILINE)
    assert changed == 1
    (tmp_path / "wider.yaml").write_text(wider, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("page", ["README.md", "docs/first-audit.md"])
def test_sessions_show_what_is_really_printed(page: str, workplace: Path) -> None:
    shown = list(sessions(read(page)))
    assert shown
    for command, lines in shown:
        assert_shown(lines, run(command, workplace))


@pytest.mark.real
def test_the_published_figures_are_recomputed_as_shown(shared: Callable[[str], list[Path]], tmp_path: Path) -> None:
    (archive,) = shared("data/agentleak_traces/traces_3214.tar.xz")
    (tmp_path / archive.name).symlink_to(archive)
    for command, lines in sessions(read("docs/agentleak.md")):
        assert_shown(lines, run(command, tmp_path))


def test_the_library_snippet_prints_what_is_shown() -> None:
    text = read("README.md")
    (code,) = blocks(text, "python")
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    shown = text.partition(code)[2]
    assert done.stdout == blocks(shown, "text")[0]


# Examples.


@pytest.fixture
def example(tmp_path: Path) -> Iterator[Case]:
    """The ten events of measures.md, audited."""
    for name in ("traces.jsonl", "policy.yaml"):
        (tmp_path / name).write_text(named("docs/measures.md", name), encoding="utf-8")
    with Case() as case:
        Loader(case).load([tmp_path / "traces.jsonl"])
        audit(case, read_request(tmp_path / "policy.yaml", None, DEFAULT))
        yield case


def test_the_worked_example_gives_the_figures_shown(example: Case) -> None:
    report = summary(example)
    rows = [
        f"| `{m['name']}` | {' '.join(m['group'].values()) or 'all'} | {m['k']} | {m['n']} | {100 * m['rate']:.2f} "
        f"| {100 * m['low']:.2f} to {100 * m['high']:.2f} |"
        for m in report["measures"]
    ]
    _, _, table = read("docs/measures.md").partition("<!-- example: figures -->\n")
    assert report["events"] == 10
    assert rows == table.strip().split("\n")[2:]


def test_the_canonical_example_imports(tmp_path: Path) -> None:
    (lines,) = blocks(read("docs/canonical.md"), "json")
    (tmp_path / "traces.jsonl").write_text(lines, encoding="utf-8")
    with Case() as case:
        (source,) = Loader(case).load([tmp_path / "traces.jsonl"])
        senders = case.rows("SELECT DISTINCT recipient FROM deliveries WHERE recipient = 'mailer'")
    assert source.outcomes == {"mapped": 11}
    assert senders == [("mailer",)]


def test_the_policies_and_the_vault_shown_are_good(tmp_path: Path) -> None:
    text = read("docs/policy.md")
    shown = blocks(text, "yaml")
    assert len(shown) == 2
    for one in shown:
        parse_policy(one.encode(), "docs/policy.md")
    (tmp_path / "vault.csv").write_text(blocks(text, "csv")[0], encoding="utf-8")
    assert [len(v.aliases) for v in load_vault(tmp_path / "vault.csv")] == [2, 0]


def test_the_adapter_shown_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = "docs/adding-an-adapter.md"
    module = ModuleType("acme_bus")
    exec(compile(named(page, "acme_bus.py"), page, "exec"), module.__dict__)
    monkeypatch.setattr(registry, "find_adapters", lambda: (module.ADAPTER,))
    (tmp_path / "acme.jsonl").write_text(named(page, "acme.jsonl"), encoding="utf-8")
    with Case() as case:
        (source,) = Loader(case).load([tmp_path / "acme.jsonl"])
        events = case.rows("SELECT channel, sender FROM events ORDER BY seq")
    assert source.outcomes == {"mapped": 2, "duplicate": 1, "ignored": 1, "unparseable": 1}
    assert events == [("C2", "planner"), ("C2", "mailer")]


# Links and form.


def anchors(path: Path) -> set[str]:
    """Anchors of the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_relative_links_resolve(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if link.startswith(("http:", "https:")):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_lines_are_short(page: Path) -> None:
    lines = page.read_text(encoding="utf-8").splitlines()
    assert [n for n, line in enumerate(lines, start=1) if len(line) > 140 and not line.startswith("|")] == []


def test_the_readme_is_short_and_the_index_whole() -> None:
    assert len(read("README.md").splitlines()) <= 120
    index = read("docs/index.md")
    pages = [p.relative_to(DOCS).as_posix() for p in DOCS.rglob("*.md") if p.name != "index.md"]
    assert [p for p in pages if f"({p})" not in index] == []
