"""The yardstick: plain decoding of every line, and one automaton of all values over all contents. Prints JSON."""

import json
import sys
import time

import orjson
from ahocorasick_rs import BytesAhoCorasick, Implementation, MatchKind


def main() -> None:
    """Measure the file named on the command line."""
    started = time.perf_counter()
    with open(sys.argv[1], "rb") as handle:
        for line in handle:
            orjson.loads(line)
    decoded = time.perf_counter()
    hits = search(sys.argv[1])
    json.dump({"decode": decoded - started, "both": time.perf_counter() - decoded, "hits": hits}, sys.stdout)


def search(path: str) -> int:
    """Decode and search; gives the number of hits."""
    values, contents = set(), []
    with open(path, "rb") as handle:
        for line in handle:
            record = orjson.loads(line)
            if record["type"] == "value":
                values.add(record["value"])
            elif "content" in record:
                contents.append(record["content"])
    patterns = [v.encode() for v in sorted(values)]
    automaton = BytesAhoCorasick(patterns, MatchKind.Standard, Implementation.ContiguousNFA)
    return sum(len(automaton.find_matches_as_indexes(c.encode(), overlapping=True)) for c in contents)


if __name__ == "__main__":
    main()
