"""What each agent of a trace was given to read, and who read a text: as it is, or inside a longer one."""

from collections.abc import Iterable

import ahocorasick_rs

from earwitness.ingest.spans.texts import fingerprint

# Shorter texts occur inside others by chance.
_CONTAINED = 24
# Texts of a trace beyond this size are not searched anew for every text that was said.
_SEARCHED = 1 << 20
# Of a text so much is looked for in one pass over all that was read; what begins alike is compared then.
_BEGINNING = 256


class Reads:
    """The texts that agents were given."""

    def __init__(self) -> None:
        self._exact: dict[str, set[bytes]] = {}
        self._texts: dict[str, list[str]] = {}
        self._joined: dict[str, str] = {}
        self._found: dict[str, set[str]] = {}
        self._size = 0

    def add(self, agent: str, text: str) -> None:
        """An agent was given a text."""
        key, known = fingerprint(text), self._exact.setdefault(agent, set())
        if key not in known:
            known.add(key)
            self._texts.setdefault(agent, []).append(_plain(text))
            self._size += len(text)

    @property
    def large(self) -> bool:
        """Whether so much was read that texts should be prepared."""
        return self._size > _SEARCHED

    def prepare(self, texts: Iterable[str]) -> None:
        """Look for all of these texts at once."""
        wanted: dict[str, list[str]] = {}
        for plain in dict.fromkeys(map(_plain, texts)):
            if len(plain) >= _CONTAINED:
                wanted.setdefault(plain[:_BEGINNING], []).append(plain)
                self._found[plain] = set()
        beginnings = list(wanted)
        find = ahocorasick_rs.AhoCorasick(beginnings).find_matches_as_indexes
        for agent, given in self._texts.items():
            for text in given:
                for pattern, at, _ in find(text, overlapping=True):
                    for plain in wanted[beginnings[pattern]]:
                        if text.startswith(plain, at):
                            self._found[plain].add(agent)

    def readers(self, text: str) -> list[str]:
        """The agents that were given a text."""
        key, plain = fingerprint(text), _plain(text)
        inside = self._inside(plain) if len(plain) >= _CONTAINED else ()
        return [agent for agent, exact in self._exact.items() if key in exact or agent in inside]

    def _inside(self, plain: str) -> set[str]:
        found = self._found.get(plain)
        if found is None:
            found = {agent for agent in self._texts if plain in self._all_of(agent)}
        return found

    def _all_of(self, agent: str) -> str:
        if agent not in self._joined:
            self._joined[agent] = "\n".join(self._texts[agent])
        return self._joined[agent]


def _plain(text: str) -> str:
    return " ".join(text.split())
