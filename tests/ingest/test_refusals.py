"""Answers that say that a call was not made, and results that only sound like one."""

import pytest

from earwitness.ingest.refusals import is_of_asked, is_refusal, is_unasked

REFUSALS = (
    "Error: tool 'fax' not found in any workbench",
    "Error: The tool 'fax' is not available.",
    "Error: Function fax not found.",
    "USER INTERRUPTED",
    "Code execution was not approved. Reason: it mails",
    "Tool execution blocked by hook. Tool: fax",
    "Tool 'fax' has reached its usage limit of 1 times and cannot be used anymore.",
    "User rejected the tool call for `fax` with id c1",
    "Error: fax is not a valid tool, try one of [mail].",
    "Tool fax not found. Please select a tool that is available.",
    "Tool execution was not approved.",
    "This tool call is rejected.",
    '{"error": "This tool call requires confirmation, please approve or reject."}',
    "Tool 'fax' not found.\nAvailable tools: mail",
    '{"response_type":"ERROR_HANDLED_BY_REFLECT_AND_RETRY_PLUGIN","error_type":"ValueError",'
    '"error_details":"Tool \'fax\' not found.\\nAvailable tools: mail","retry_count":1}',
    "Unknown tool name: 'fax'. Available tools: 'mail'",
    "The tool call was denied.",
    "The tool call with name `fax` is not part of the provided tools, please try again with a supplied tool call name.",
    '{"type":"execution-denied","reason":"no"}',
)
RESULTS = (
    "Error: Function room 7 not found. Ask at the desk.",
    "The tool call was denied. So we said in May.",
    "Tool hammer not found",
    "Tool 'hammer' not found. Available tools: saw",
    "We read: Tool execution was not approved.",
    '{"kind": "report", "type":"execution-denied"}',
    "",
)


@pytest.mark.parametrize("text", REFUSALS)
def test_words_of_frameworks_say_that_a_call_was_not_made(text: str) -> None:
    assert is_refusal(text)


@pytest.mark.parametrize("text", RESULTS)
def test_results_that_only_sound_like_a_refusal_are_results(text: str) -> None:
    assert not is_refusal(text)


@pytest.mark.parametrize(
    ("text", "asked", "own"),
    [
        (
            "\nError executing tool. coworker mentioned not found, it must be one of the following options:\n- clerk\n",
            False,
            False,
        ),
        ("Tool execution blocked by hook. Tool: delegate_work_to_coworker", False, False),
        ("Error executing task with agent 'clerk'. Error: boom", True, False),
        ("It is Ada Meyer", True, True),
    ],
)
def test_who_answers_a_delegation(text: str, *, asked: bool, own: bool) -> None:
    assert is_unasked(text) is not asked
    assert is_of_asked(text) is own
