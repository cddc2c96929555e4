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
    "Error: the Action Input is not a valid key, value dictionary.",
    "Error executing tool: Tool 'fax' arguments validation failed: 1 validation error for Fax\nto\n  Field required",
    "I encountered an error while trying to use the tool. This was the error: Arguments validation failed: 2 "
    "validation errors for Fax",
    "Error executing tool: Failed to parse arguments as JSON: Expecting value: line 1 column 1 (char 0)",
    '{"error": "Invoking `fax()` failed as the following mandatory input parameters are not present:\\nto"}',
    "Invoking `fax()` failed due to argument validation errors:\nto: Field required",
    "An error occurred while running the tool. Please try again. Error: Invalid JSON input for tool fax: {",
    "An error occurred while parsing tool arguments. Please try again with valid JSON.",
    "The tool call arguments are malformed. Arguments must be in JSON format. Please try again.",
    "There are `2` tool call arguments required and only `1` received. The required arguments are: ['to', 'text'].",
    "Missing required argument(s): ['to']. Received unexpected argument(s): ['too']. Please revise the arguments to "
    "match the function signature.",
    "AI_NoSuchToolError: Model tried to call unavailable tool 'fax'. No tools are available.",
    "Invalid input for tool fax: JSON parsing failed: Text: {.",
)
RESULTS = (
    "Error: Function room 7 not found. Ask at the desk.",
    "The tool call was denied. So we said in May.",
    "Tool hammer not found",
    "Tool 'hammer' not found. Available tools: saw",
    "An error occurred while running the tool. Please try again. Error: Invalid JSON",
    "Error executing tool: 1 validation error for Answer",
    "Invalid input for tool hammer: it is too heavy",
    "Missing required argument(s): a hammer",
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
