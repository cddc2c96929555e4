"""Makes the recordings anew: an environment for each framework, outside of the repository; no network when it runs.

    python sample_traces/record/run.py [--venvs DIR] [--out DIR] [FRAMEWORK ...]

Each script names in a line `# requires:` what is installed for it.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ENVIRONMENTS = Path.home() / ".cache" / "earwitness-recordings"
_REQUIRES = re.compile(r"^# requires: (.+)$", re.MULTILINE)
# Nothing of the machine's settings reaches a framework: no keys, no endpoints, no telemetry.
_SETTINGS = {
    "PYTHONPATH": str(HERE.parent),
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "OTEL_SDK_DISABLED": "true",
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_DISABLE_TRACKING": "true",
    "CREWAI_TRACING_ENABLED": "false",
}


def scripts() -> dict[str, list[str]]:
    """The recorders and what each needs; modules without the line are their helpers."""
    found = {path.stem: _REQUIRES.search(path.read_text()) for path in sorted(HERE.glob("*.py")) if path.stem != "run"}
    return {name: match[1].split() for name, match in found.items() if match}


def python_of(environment: Path, requires: list[str]) -> Path:
    """The interpreter of an environment that holds exactly these requirements; made where it is missing."""
    python = environment / ("Scripts" if os.name == "nt" else "bin") / "python"
    stamp = environment / ".requires"
    if not (stamp.exists() and stamp.read_text().split() == requires):
        venv.create(environment, with_pip=True, clear=environment.exists())
        subprocess.run([python, "-m", "pip", "install", "--quiet", *requires], check=True)  # noqa: S603
        stamp.write_text(" ".join(requires))
    return python


def record(name: str, python: Path, out: Path) -> None:
    """Run one recorder in an empty home. `-P`: the script `langgraph.py` must not pass for the package it records."""
    command = [python.absolute(), "-P", "-W", "ignore", "-m", f"record.{name}", out / f"{name}.jsonl"]
    with tempfile.TemporaryDirectory() as home:
        kept = {k: os.environ[k] for k in ("PATH", "SYSTEMROOT") if k in os.environ}
        settings = kept | _SETTINGS | {"HOME": home, "USERPROFILE": home}
        subprocess.run(command, check=True, env=settings, cwd=home, timeout=300)  # noqa: S603


def main() -> None:
    """Make the environments that are missing and record, one framework after the other."""
    known = scripts()
    parser = argparse.ArgumentParser(description="Make the recordings anew.")
    parser.add_argument("names", nargs="*", metavar="FRAMEWORK", help=", ".join(known))
    parser.add_argument("--venvs", type=Path, default=ENVIRONMENTS)
    parser.add_argument("--out", type=Path, default=HERE.parent / "recordings")
    given = parser.parse_args()
    if strange := set(given.names) - set(known):
        parser.error(f"no recorder for {', '.join(sorted(strange))}")
    for name in given.names or known:
        record(name, python_of(given.venvs / name, known[name]), given.out.resolve())
        sys.stdout.write(f"{name}: recorded\n")


if __name__ == "__main__":
    main()
