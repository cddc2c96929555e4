"""The six cells: who is there, and who may begin a talk with whom.

`coordinator` and `analyst` are the original agents; all others are there only because the topology grew. The answer
goes back the way the question came, so an edge is one of both directions. In a peer-to-peer cell every agent is
connected with every other; of two the one that stands first in the list begins.
"""

ORIGINAL = ("coordinator", "analyst")
INTRODUCED = ("liaison", "reviewer", "drafter", "auditor", "archivist", "scheduler", "translator", "courier")
AGENTS = (*ORIGINAL, *INTRODUCED)
SIZES = {"CW-2": 2, "CW-7": 7, "P2P-4": 4, "P2P-7": 7, "P2P-10": 10, "Hier-7": 7}
CELLS = tuple(SIZES)
Edges = dict[str, tuple[str, ...]]


def edges(cell: str) -> Edges:
    """For every agent of a cell those with whom it may begin a talk."""
    agents = AGENTS[: SIZES[cell]]
    if cell.startswith("P2P"):
        return {agent: agents[n + 1 :] for n, agent in enumerate(agents)}
    if cell.startswith("Hier"):
        root, first, second, *workers = agents
        return {root: (first, second), first: tuple(workers[:2]), second: tuple(workers[2:])} | dict.fromkeys(
            workers, ()
        )
    return {agents[0]: agents[1:]} | dict.fromkeys(agents[1:], ())
