"""Makes the laboratory's corpus: the same scenarios in six cells, in LangGraph and in AutoGen, with scripted models.

    python sample_traces/record/lab.py                                   the small corpus, into sample_traces/lab
    python sample_traces/record/lab.py --scenarios 485 --out /tmp/lab    a large one: every cell of every scenario

Run it with the interpreter of the project (it writes Parquet and Zstandard). The frameworks run in environments of
their own, as in `run.py`. A large corpus is made in parts; what is there already is not made again.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from record.laboratory.jobs import FRAMEWORKS
from record.laboratory.making import Plan, make
from record.run import ENVIRONMENTS


def main() -> None:
    """Read the options and make the corpus."""
    parser = argparse.ArgumentParser(description="Make the laboratory's corpus.")
    parser.add_argument("--scenarios", type=int, default=0, help="a large corpus of so many; else the small one")
    parser.add_argument("--seed", type=int, default=7, help="of all values and all chance (default 7)")
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent.parent / "lab")
    parser.add_argument("--frameworks", nargs="+", choices=FRAMEWORKS, default=FRAMEWORKS)
    parser.add_argument("--part", type=int, default=50, help="scenarios in a part of a large corpus (default 50)")
    parser.add_argument("--venvs", type=Path, default=ENVIRONMENTS)
    given = parser.parse_args()
    plan = Plan(given.out.resolve(), given.seed, given.scenarios, given.part, tuple(given.frameworks), given.venvs)
    for line in make(plan):
        sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
