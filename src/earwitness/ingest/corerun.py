"""One run of an AutoGen core log while it is read: its teams, who is in them, and what was shown to whom."""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from earwitness.ingest.actorlog import Party
from earwitness.ingest.agentchat import Chat
from earwitness.ingest.agentmessages import Message, parts_of
from earwitness.ingest.digests import Counts, Digests
from earwitness.ingest.record import Place
from earwitness.ingest.shelf import Row
from earwitness.ingest.spans.texts import as_text, fingerprint, loads
from earwitness.ingest.tale import said

_TOPICS = {"group_topic", "output_topic"}


@dataclass
class CoreRun:
    """What a core log says of one run.

    Attributes:
        chat: its messages.
        members: names in each team.
        managers: the manager of each team.
        groups: the teams, and within them the publishers, of each message.
        thinkers: who spoke or called a model.
        systems: the first system message under each runtime id.
        shown: what was told already of model inputs, as digests.
        arrived: messages that were delivered, as digests.
        repeats: records of tool calls that messages tell, too.
        results: tools and results that messages tell, as digests.
        asides: what else there is to tell, in order, with the number of the message it stands before.
        counts: how often a message of the user's own type came.
        starts: how often each team was started, and how many members in all were told so.
        team: the outermost team.
        ended: whether that team said it stopped.
        talks: whether messages were sent at all.
    """

    chat: Chat
    asides: Row
    counts: Counts
    members: dict[str, dict[str, None]] = field(default_factory=dict)
    managers: dict[str, str] = field(default_factory=dict)
    groups: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    thinkers: set[str] = field(default_factory=set)
    systems: dict[str, str | None] = field(default_factory=dict)
    shown: Digests = field(default_factory=Digests)
    arrived: Digests = field(default_factory=Digests)
    repeats: list[Place] = field(default_factory=list)
    results: Digests = field(default_factory=Digests)
    starts: dict[str, list[int]] = field(default_factory=dict)
    team: str | None = None
    ended: bool = False
    talks: bool = False
    _busy: dict[str, set[str]] = field(default_factory=dict)
    _told: int = 0
    _turns: "array[int]" = field(default_factory=lambda: array("q"))

    def aside(self, kind: str, what: tuple[Any, ...], place: Place) -> None:
        """Keep something beside the messages that can only be told at the end."""
        self._turns.append(len(self.chat.messages))
        self.asides.append(((kind, *what), place))

    def due(self, message: int) -> Iterator[tuple[Any, Place]]:
        """What stands before the message of a number, and was not told yet."""
        while self._told < len(self._turns) and self._turns[self._told] <= message:
            self._told += 1
            yield self.asides[self._told - 1]

    def note(self, message: Message) -> tuple[set[str], set[str]]:
        """Note who waits for results of tools; gives the tasks that tools are given, and those that are done."""
        source = message["source"]
        if message["type"] == "ToolCallRequestEvent":
            given = (loads(str(part.get("arguments"))) for part in parts_of(message))
            self._busy[source] = {str(g["task"]) for g in given if isinstance(g, dict) and "task" in g}
            return self._busy[source], set()
        return set(), self._busy.pop(source, set()) if message["type"] == "ToolCallExecutionEvent" else set()

    def is_busy(self, agent: str) -> bool:
        """Whether an agent waits for results of tools."""
        return agent in self._busy

    def seat(self, who: Party | None) -> None:
        """A member of a team, known by its id."""
        if who and who.team and who.name not in _TOPICS:
            self.members.setdefault(who.team, {})[who.name] = None

    def audience(self, message: Message) -> tuple[str, ...]:
        """Members of the teams a message was published to; a manager that is no model reads nothing."""
        heard: dict[str, None] = {}
        for team, sender in self.groups.get(str(message.get("id")), ()):
            heard |= dict.fromkeys(self.listeners(team, sender))
        return tuple(name for name in heard if name != message.get("source"))

    def listeners(self, team: str, sender: str) -> list[str]:
        """Members of a team that hear what one of them publishes."""
        manager = self.managers.get(team)
        return [m for m in self.members.get(team, {}) if m != sender and (m != manager or m in self.thinkers)]

    def count_start(self, team: str, *, told: bool) -> None:
        """A team was started, or one of its members was told so."""
        self.starts.setdefault(team, [0, 0])[told] += 1

    def has_strangers(self) -> bool:
        """Whether a team has members that the log does not name: those that are never asked to speak."""
        return any(
            started and told // started > len([m for m in self.members.get(team, {}) if m != self.managers.get(team)])
            for team, (started, told) in self.starts.items()
        )

    def tells(self, tool: str, result: str) -> bool:
        """Whether a message tells of this result of a tool."""
        return digest(tool, result) in self.results

    def let_go(self) -> None:
        """Break the circles in which the run holds itself: memory is given back without looking for any."""
        self.chat.beside = lambda _: None
        self.chat.audience = lambda _: ()

    def places(self) -> Iterator[Place]:
        """Where all that it holds stands."""
        yield from self.chat.places()
        yield from self.asides.places

    def tell(self) -> None:
        """Tell the messages, and the answer to the user where the outermost team gave one."""
        for message, _ in self.chat.messages:
            self.results.fresh(results_in(message))
        if not self.chat.messages and not self.members and not self.talks:
            # Model and tool calls outside of any runtime: what agents said to each other was never sent through it.
            self.chat.tale.observe("C3", "C4", "C6")
        if self.has_strangers():
            why = "messages to members of a team that the log does not name"
            self.chat.tale.lose("content_missing", "C2", why, self.chat.tale.place)
        self.chat.tell()
        if self.chat.last is None or self.team is None:
            return
        if not self.ended:
            self.chat.tale.lose("content_missing", "C1", "the log ends before the team does", self.chat.last.place)
        if self.ended or (self.team, self.chat.last.sender) in self.groups.get(self.chat.last.id, ()):
            self.chat.close()


def results_in(message: Message) -> list[bytes]:
    """Tool and result of each result in a message, as digests."""
    parts = parts_of(message) if message["type"] == "ToolCallExecutionEvent" else []
    return [digest(str(part.get("name")), str(part.get("content"))) for part in parts]


def digest(*parts: str | bytes) -> bytes:
    """Words in short, for a set of many."""
    raw = [p if isinstance(p, bytes) else p.encode("utf-8", "surrogatepass") for p in parts]
    return blake2b(b"".join(b"%d:%b" % (len(r), r) for r in raw), digest_size=16).digest()


def text_of(body: Any) -> str:
    """The text of a message that is nothing but a text; JSON for all others."""
    if isinstance(body, dict) and len(body) == 1:
        only = next(iter(body.values()))
        return only if isinstance(only, str) else as_text(body)
    return as_text(body)


def words(message: dict[str, Any]) -> str | None:
    """The text of a message in the shape of a model client."""
    content = message.get("content")
    if isinstance(content, list):
        content = "\n".join(str(p["text"]) for p in content if isinstance(p, dict) and isinstance(p.get("text"), str))
    return said(content)


def answer_of(response: Any) -> str | None:
    """The text of a model's answer, of whatever client."""
    if not isinstance(response, dict):
        return None
    choices = response.get("choices")
    found = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else response
    message = found.get("message")
    message = message if isinstance(message, dict) else found
    return words(message) if isinstance(message.get("content"), str | list) else None


def plain_key(counts: Counts, sender: str | None, to: str | None, text: str) -> str:
    """The id of a message of the user's own type: the same in the event log and in the text log of a run."""
    key = f"{sender}>{to or '*'}:{fingerprint(text).hex()[:12]}"
    return f"{key}:{counts.nth(key)}"
