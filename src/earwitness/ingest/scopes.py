"""What of a conversation an agent that takes over is not shown: turns that were undone, branches beside its own."""

from bisect import bisect_right


class Scopes:
    """The steps of a history by their numbers: which branch each belongs to, and which were undone."""

    def __init__(self) -> None:
        self._starts: list[int] = [0]
        self._branches: list[str | None] = [None]
        self._began: dict[str, int] = {}
        self._undone: list[tuple[int, int]] = []

    def enter(self, step: int, turn: str, branch: str | None) -> None:
        """What follows from a step on belongs to a turn and a branch; a branch's name begins with those above it."""
        self._began.setdefault(turn, step)
        if branch != self._branches[-1]:
            self._starts.append(step)
            self._branches.append(branch)

    def undo(self, turn: str, step: int) -> None:
        """Everything from a turn on, up to a step, is as if it had not been said."""
        if turn in self._began:
            self._undone.append((self._began[turn], step))

    def hides(self, step: int, *, shared: bool) -> bool:
        """Whether an agent of the present branch is not shown a step; one is `shared` that all branches begin with."""
        if any(start <= step < end for start, end in self._undone):
            return True
        mine, its = self._branches[-1], self._branches[bisect_right(self._starts, step) - 1]
        return bool(mine and its and not shared and mine != its and not mine.startswith(f"{its}."))
