"""PrivacyLens: contextual-integrity cases with a simulated tool trajectory up to the final action.

Written by SALT-NLP (`data/main_data.json`): an array of cases. `executable_trajectory` is text, "Action: .. / Action
Input: {json} / Observation: {json}" repeated. `sensitive_info_items` must not reach the recipient the case names: they
become contextual values with a rule. The case gives no other policy.

Cannot show: the final message (only the name of the final tool is recorded: a loss), reasoning, times. The agent has no
name; it is called `agent`.

Obtained by: the repository of PrivacyLens (`data/main_data.json`).
Versions tried: SALT-NLP/PrivacyLens at commit 9c2ee07.
Order: position in the trajectory; no times.
"""

import re
from typing import Any

from earwitness.ingest.record import Context, Place
from earwitness.ingest.script import Script, WholeRuns, is_name
from earwitness.schema.model import Rule, Value

_AGENT = "agent"
_FIELD = re.compile(r"^(Action Input|Action|Observation): ?", re.MULTILINE)
_TRAJECTORY = "/trajectory/executable_trajectory"


class _PrivacyLens:
    NAME = "privacylens"
    TITLE = "PrivacyLens case"
    PRIORITY = 30

    def sniff(self, value: Any) -> bool:
        return (
            isinstance(value, dict)
            and isinstance(value.get("trajectory"), dict)
            and "executable_trajectory" in value["trajectory"]
        )

    def open(self, context: Context) -> WholeRuns:
        return WholeRuns(context, "a PrivacyLens case", _tell)


def _tell(case: dict[str, Any], place: Place, name: str) -> Script:
    script, run = Script(case["name"], place), case["trajectory"]
    instruction = run.get("user_instruction")
    script.head("privacylens", scenario=case["name"], request=instruction, observable=("C3", "C4"))
    script.actor(_AGENT, position="original", evidence="channel")
    _policy(script, case)
    script.sighting(instruction, "/trajectory/user_instruction", actor=_AGENT)
    pieces = _FIELD.split(run["executable_trajectory"])[1:]
    _steps(script, [(key, content.strip()) for key, content in zip(pieces[::2], pieces[1::2], strict=True)])
    if final := run.get("final_action"):
        script.actor(final, "tool")
        script.loss("content_missing", "arguments of the final action", "C3")
    return script


def _policy(script: Script, case: dict[str, Any]) -> None:
    seed, vignette = case.get("seed") or {}, case.get("vignette") or {}
    attribute = seed.get("data_type") or "sensitive"
    subject = vignette.get("data_subject_concrete") or seed.get("data_subject")
    recipient = vignette.get("data_recipient_concrete") or seed.get("data_recipient")
    for n, item in enumerate(case["trajectory"].get("sensitive_info_items") or []):
        value = Value(attribute=attribute, value=item, value_type="contextual", subject=subject, trace=script.trace)
        script.put(value, f"/trajectory/sensitive_info_items/{n}")
    if is_name(recipient):
        script.actor(recipient, "user")
        rule = Rule(
            effect="sanitize",
            id="recipient",
            trace=script.trace,
            attributes=(attribute,),
            recipients=(str(recipient),),
        )
        script.put(rule, "/vignette/data_recipient_concrete")


def _steps(script: Script, fields: list[tuple[str, str]]) -> None:
    tool, call = None, None
    for key, content in fields:
        if key == "Action":
            tool, call = content, None
            script.actor(tool, "tool")
        elif key == "Action Input":
            to = (tool,) if tool else ()
            call = script.event("C3", content, _TRAJECTORY, sender=_AGENT, to=to, kind="tool_arguments")
        else:
            script.event("C4", content, _TRAJECTORY, sender=tool, to=(_AGENT,), kind="tool_result", parent=call)


ADAPTER = _PrivacyLens()
