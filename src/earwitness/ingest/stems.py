"""Names of files without folders and endings: what stands for the id of a run where the records hold none."""


class Stems:
    """The stems of an import. Files of one folder share a stem, those of another folder get one of their own."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], str] = {}
        self._taken: set[str] = set()

    def of(self, name: str) -> str:
        """The stem of a source; the first folder has it bare, others with as much of their path as tells them apart."""
        folder, _, base = _plain(name).rpartition("/")
        stem = file_stem(base)
        if (folder, stem) not in self._known:
            found = next(
                (s for s in _longer(folder, stem) if s not in self._taken), f"./{folder}/{stem}".replace("//", "/")
            )
            self._known[folder, stem] = found
            self._taken.add(found)
        return self._known[folder, stem]


def file_stem(name: str) -> str:
    """A file's name without folders, ending and kind: recordings of one run commonly share the rest.

    `swarm.run_stream.jsonl` and `swarm.save_state.json` are of `swarm`; the version in `run_0.2.jsonl` stays.
    """
    base = _plain(name).rsplit("/", 1)[-1]
    stem = base.rsplit(".", 1)[0] or base
    rest, dot, kind = stem.rpartition(".")
    return rest if dot and rest and kind[:1].isalpha() else stem


def _longer(folder: str, stem: str) -> list[str]:
    steps = [step for step in folder.split("/") if step]
    return ["/".join([*steps[len(steps) - n :], stem]) for n in range(len(steps) + 1)]


def _plain(name: str) -> str:
    return name.replace("\\", "/").replace("!", "/")
