"""Plain-text logs of agent systems as scripts: ChatDev, AppWorld, HyperAgent, and loguru logs of MetaGPT and OpenManus.

A log is cut into blocks, each a line that announces something and the lines that follow it. A `Teller` knows the
announcements of one system.
"""

import re
import textwrap
from typing import ClassVar

from earwitness.ingest.record import Place
from earwitness.ingest.script import Script
from earwitness.schema.model import Delivery
from earwitness.schema.words import Channel

Found = re.Match[str]


class Teller:
    """Tells the blocks of a log of one system.

    Attributes:
        framework: the system.
        sign: what shows in the beginning of a log that it is one of this system.
        header: the lines that begin a block.
    """

    framework: ClassVar[str]
    observable: ClassVar[tuple[Channel, ...]] = ("C2", "C3", "C4", "C6")
    sign: ClassVar[re.Pattern[str]]
    header: ClassVar[re.Pattern[str]]

    def __init__(self, script: Script, pointer: str = "") -> None:
        self.script, self.pointer = script, pointer
        self.block: Found | None = None
        self.place = script.place
        self.lines: list[str] = []
        self.begun = False

    def begin(self, **known: object) -> None:
        """The trace itself."""
        self.begun = True
        self.script.head(self.framework, observable=self.observable, **known)

    def line(self, line: str, place: Place) -> str | None:
        """Takes one line; gives why it says nothing."""
        found = self.header.match(line)
        if found:
            self.end()
            self.block, self.place = found, place
        else:
            self.lines.append(line)
        if not line.strip():
            return "blank line"
        return self.noise(self.block) if self.block else "line before the first block"

    def end(self) -> None:
        """Tells the block that is complete."""
        if self.block and not self.noise(self.block):
            self.script.place = self.place
            self.tell(self.block, textwrap.dedent("\n".join(self.lines)).strip())
        self.block, self.lines = None, []

    def whole(self, said: str) -> str:
        """What stands in the line of a block, and below it, with the blank lines between."""
        return f"{said}\n{textwrap.dedent(chr(10).join(self.lines))}".strip()

    def noise(self, block: Found) -> str | None:
        """Why a block says nothing."""
        raise NotImplementedError

    def tell(self, block: Found, body: str) -> None:
        """What a block says."""
        raise NotImplementedError


class ChatDev(Teller):
    """`[2025-17-01 11:36:43 INFO] Coder: **Coder<->Code Reviewer on : CodeReview, turn 0**` and the message."""

    framework = "chatdev"
    observable = ("C2", "C4", "C7")
    sign = re.compile(r"^\[\d{4}-\d\d-\d\d [\d:]+ \w+\] (?:\*\*\[Preprocessing\]|.*\*\*.+<->.+ on : )", re.MULTILINE)
    header = re.compile(r"\[(?P<y>\d{4})-(?P<d>\d\d)-(?P<m>\d\d) (?P<t>[\d:]+) \w+\] (?P<said>.*)")
    _turn = re.compile(r"(?P<who>[^:*]+): \*\*(?P<a>.+?)<->(?P<b>.+?) on : (?P<phase>\w+), turn (?P<n>\d+)\*\*")
    _told = ("**[Seminar Conclusion]**", "**[Update Codes]**", "**[Test Reports]**", "**[Preprocessing]**")
    _start = "**[Start Chat]**"
    speaker: str | None = None

    def noise(self, block: Found) -> str | None:
        """Settings, costs and HTTP lines."""
        said = block["said"]
        known = self._turn.match(said) or said.startswith(self._told) or said.endswith(self._start)
        return None if known else "settings or costs of the system"

    def tell(self, block: Found, body: str) -> None:
        """A turn, what a phase begins with, a conclusion, changed code or a test report."""
        time = f"{block['y']}-{block['m']}-{block['d']}T{block['t']}"  # the day comes before the month
        turn, said, script = self._turn.match(block["said"]), block["said"], self.script
        if turn:
            self._say(turn, body, time)
        elif said.endswith(self._start):
            self._given(body)
        elif said.startswith("**[Update"):
            script.actor("software", "artifact_store", evidence="channel")
            script.event(
                "C7", body, self.pointer, sender=self.speaker, to=("software",), kind="update_codes", time=time
            )
        elif said.startswith("**[Test"):
            script.event("C4", body, self.pointer, kind="test_report", time=time)
        else:
            script.sighting(body, self.pointer, actor=None, kind="state")

    def _say(self, turn: Found, body: str, time: str) -> None:
        speaker = turn["who"].strip()
        other = turn["b"] if speaker == turn["a"] else turn["a"]
        prompt, content = _apart(body)
        self.speaker = speaker
        self.script.actor(speaker)
        self.script.actor(other)
        # The log prints the prompt of the one spoken to in front of the message.
        self.script.sighting(prompt, self.pointer, actor=other)
        self.script.event(
            "C2", content, self.pointer, sender=speaker, to=(other,), kind=turn["phase"], time=time, turn=int(turn["n"])
        )

    def _given(self, body: str) -> None:
        prompt, content = _apart(body)
        role = re.search(r"^You are (?:a |an |the )?([A-Z][\w ]+?)[.,]", prompt, re.MULTILINE)
        actor = role[1] if role else None
        self.script.sighting(f"{prompt}\n\n{content}".strip(), self.pointer, actor=actor)


def _apart(body: str) -> tuple[str, str]:
    """The system prompt in brackets, and what follows."""
    if body.startswith("[") and "]\n" in body:
        prompt, _, content = body.partition("]\n")
        return prompt[1:].strip(), content.strip()
    return "", body


class AppWorld(Teller):
    """`Entering X Agent message loop`, `Message to X Agent`, `Response from X Agent`, and the text of each."""

    framework = "appworld"
    observable = ("C2", "C3", "C4")
    sign = re.compile(r"^(?:Entering .+ Agent message loop|Response from Supervisor Agent)$", re.MULTILINE)
    header = re.compile(
        r" *(?:(?P<act>Response from|Message to|Reply from|Entering|Exiting) (?P<who>[\w ]+ Agent)"
        r"(?: to (?P<to>\w+)| message loop)?|(?P<out>Code Execution Output|Response from send_message API)"
        r"|\*{5,} (?P<task>Task .+?) +\*{5,}|(?P<score>Evaluation))\s*$"
    )
    _lead, _shell = "Supervisor Agent", "environment"

    def __init__(self, script: Script, pointer: str = "") -> None:
        super().__init__(script, pointer)
        self.asked = False
        self.actor = self._lead
        self.said = ""

    def noise(self, block: Found) -> str | None:
        """The test results behind the run; entering and leaving a loop is the effect of a delegation."""
        return "evaluation of the run" if block["score"] else None

    def tell(self, block: Found, body: str) -> None:
        """The task, a response (code that is run), what came out of it, or a message between agents."""
        act = block["act"]
        if act in ("Entering", "Exiting"):
            self.asked = act == "Entering"
            self.actor = block["who"] if self.asked else self._lead
        elif block["task"]:
            self.script.sighting(body, self.pointer, actor=self._lead)
        elif body:
            self._say(block, act, body)

    def _say(self, block: Found, act: str | None, body: str) -> None:
        who = block["who"] or self.actor
        self.script.actor(who)
        if act == "Response from":
            self.script.actor(self._shell, "tool", evidence="channel")
            self._event("C3", body, who, (self._shell,), "code")
        elif act == "Reply from":
            target = f"{block['to']} Agent" if block["to"] else self._lead
            self._event("C2", body, who, (target,), "answer")
        elif act == "Message to" and self.asked:
            self.asked = False
            self._event("C2", body, self._lead, (Delivery(who, "structural"),), "delegation")
        elif body == self.said:
            self.script.sighting(body, self.pointer, actor=who, kind="history")
        else:
            self._event("C4", body, self._shell, (who,), "output")

    def _event(self, channel: Channel, body: str, sender: str, to: tuple[str | Delivery, ...], kind: str) -> None:
        self.said = body
        self.script.event(channel, body, self.pointer, sender=sender, to=to, kind=kind)


class HyperAgent(Teller):
    """`HyperAgent_<task> - INFO - Planner's Response: ...` and the lines that follow."""

    framework = "hyperagent"
    observable = ("C2", "C6")
    sign = re.compile(r"^HyperAgent_\S+ - \w+ - (?:Initialized|Planner's)", re.MULTILINE)
    header = re.compile(
        r"HyperAgent_\S+ - \w+ - (?P<who>[\w-]+?)(?:'s Response|->(?P<to>\w+)|(?P<setup> ).*?)(?::\s*(?P<said>.*))?$"
    )
    _intern = re.compile(r"^Intern Name: .*?(Navigator|Editor|Executor)", re.MULTILINE)

    def noise(self, block: Found) -> str | None:
        """Start-up lines."""
        return "start-up of the system" if block["setup"] else None

    def tell(self, block: Found, body: str) -> None:
        """A thought, an order of the planner to an intern, or an intern's answer."""
        said, who = self.whole(block["said"] or ""), block["who"]
        intern = self._intern.search(said) if who == "Planner" else None
        target = block["to"] or (intern[1] if intern else None)
        if not said:
            return
        self.script.actor(who)
        self.script.actor(target)
        channel: Channel = "C2" if target else "C6"
        kind = "answer" if block["to"] else "delegation" if target else "thought"
        self.script.event(channel, said, self.pointer, sender=who, to=(target,) if target else (), kind=kind)


class Loguru(Teller):
    """`<time> | INFO | metagpt.roles.role:_act:391 - Alice(Coder): to do WriteCode(WriteCode)`; OpenManus likewise."""

    header = re.compile(
        r"(?:Enter your prompt: )?(?P<time>\d{4}-\d\d-\d\d [\d:.]+) \| (?P<level>\w+) +\| (?P<at>\S+) - (?P<said>.*)"
    )
    _act = re.compile(r"(?P<who>\w+)\((?P<role>\w+)\): to do (?P<action>\w+)")
    _thought = re.compile(r"✨ (?P<who>\w+)'s thoughts: ?(?P<said>.*)", re.DOTALL)
    _result = re.compile(r"🎯 Tool '(?P<tool>\w+)' completed its mission! Result: ?(?P<said>.*)", re.DOTALL)
    _arguments, _prepared = "🔧 Tool arguments: ", re.compile(r"🧰 Tools being prepared: \['(\w+)'")
    _loud = frozenset(("WARNING", "ERROR", "CRITICAL"))

    def __init__(self, script: Script, pointer: str = "") -> None:
        super().__init__(script, pointer)
        self.agent: str | None = None
        self.tool: str | None = None

    def noise(self, block: Found) -> str | None:
        """Token counts and steps."""
        said, known = block["said"], (self._act, self._thought, self._result, self._prepared)
        told = any(p.match(said) for p in known) or said.startswith((self._arguments, "Plan creation result"))
        return None if told or block["level"] in self._loud else "progress or token counts"

    def tell(self, block: Found, body: str) -> None:
        """What a role did, thought, called or got back; warnings."""
        said, time = self.whole(block["said"]), block["time"].replace(" ", "T")
        act, prepared = self._act.match(said), self._prepared.match(said)
        if prepared:
            self.tool = prepared[1]
        elif act and body:
            self.script.actor(act["who"], roles=(act["role"],))
            # Who of the team subscribes to the action is not in the log.
            self.script.event("C2", body, self.pointer, sender=act["who"], kind=act["action"], time=time)
        elif act:
            self.script.loss("content_missing", "action without its text", "C2")
        else:
            self._work(said, time)

    def _work(self, said: str, time: str) -> None:
        thought, result = self._thought.match(said), self._result.match(said)
        channel: Channel = "C6"
        content, sender, kind, to = said, self.agent, "log", None
        if thought:
            self.agent = sender = thought["who"]
            content, kind = thought["said"], "thought"
        elif result:
            channel, content, sender, kind, to = "C4", result["said"], result["tool"], "tool_result", self.agent
        elif said.startswith(self._arguments):
            channel, content, kind, to = "C3", said.removeprefix(self._arguments), "tool_arguments", self.tool
        self.script.actor(self.agent)
        self.script.actor(result["tool"] if result else self.tool, "tool")
        if content.strip():
            at = self.pointer
            self.script.event(channel, content, at, sender=sender, to=(to,) if to else (), kind=kind, time=time)


class OpenManus(Loguru):
    """The lines of an OpenManus run."""

    framework = "openmanus"
    observable = ("C3", "C4", "C6")
    sign = re.compile(r"\| \w+ +\| app\.(?:agent|flow)\S+ - ")


class MetaGpt(Loguru):
    """The lines of a MetaGPT run."""

    framework = "metagpt"
    observable = ("C2", "C6")
    sign = re.compile(r"\| \w+ +\| (?:metagpt\.\S+ - |\S+ - \w+\(\w+\): to do )")


TELLERS: tuple[type[Teller], ...] = (ChatDev, AppWorld, HyperAgent, OpenManus, MetaGpt)


def teller_for(head: str) -> type[Teller] | None:
    """The system that a log is of, told from its beginning."""
    return next((t for t in TELLERS if t.sign.search(head)), None)
