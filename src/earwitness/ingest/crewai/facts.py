"""What of an event of the bus is kept: CrewAI writes whole agents, tasks and crews with every event."""

import ast
from dataclasses import dataclass, field
from sys import intern
from typing import Any

from earwitness.ingest.chronicle import name_of, text_of
from earwitness.ingest.record import Place

ROOTS = ("crew_kickoff_started", "flow_started")
# Flows that CrewAI runs by itself inside an agent or a memory; what they hold stands in other events.
INTERNAL_FLOWS = ("AgentExecutor", "RecallFlow", "EncodingFlow", "ConsolidationFlow", "LiteAgentExecutor")
KEPT: dict[str, tuple[str, ...]] = {
    "crew_kickoff_started": ("crew_name", "inputs"),
    "crew_kickoff_completed": ("crew_name",),
    "crew_kickoff_failed": ("error",),
    "task_started": ("context",),
    "task_completed": (),
    "task_failed": ("error",),
    "agent_execution_started": ("task_prompt",),
    "agent_execution_completed": ("output",),
    "agent_execution_error": ("error",),
    "lite_agent_execution_started": ("messages",),
    "lite_agent_execution_completed": ("output",),
    "lite_agent_execution_error": ("error",),
    "llm_call_started": (),
    "llm_call_completed": ("response", "call_id"),
    "llm_call_failed": ("error",),
    "llm_thinking_chunk": ("chunk", "call_id"),
    "agent_logs_execution": ("formatted_answer",),
    "agent_reasoning_completed": ("plan",),
    "agent_reasoning_failed": ("error",),
    "tool_usage_started": ("tool_name", "tool_args"),
    "tool_usage_finished": ("tool_name", "output", "failure"),
    "tool_usage_error": ("tool_name", "error"),
    "tool_validate_input_error": ("tool_name", "error"),
    "tool_selection_error": ("tool_name", "error"),
    "tool_execution_error": ("tool_name", "error"),
    "tool_failure_detected": ("tool_name", "failure"),
    "memory_query_started": ("query",),
    "memory_query_completed": ("results",),
    "memory_query_failed": ("error",),
    "memory_retrieval_completed": ("memory_content",),
    "memory_save_completed": ("value",),
    "memory_save_failed": ("error",),
    "memory_retrieval_failed": ("error",),
    "knowledge_query_started": (),
    "knowledge_query_failed": ("error",),
    "knowledge_search_query_completed": ("query", "retrieved_knowledge"),
    "knowledge_search_query_failed": ("error",),
    "mcp_connection_failed": ("error",),
    "mcp_config_fetch_failed": ("error",),
    "mcp_tool_execution_started": ("tool_name", "tool_args"),
    "mcp_tool_execution_completed": ("tool_name", "tool_args", "result"),
    "mcp_tool_execution_failed": ("tool_name", "tool_args", "error"),
    "agent_evaluation_started": (),
    "agent_evaluation_completed": ("metric_category", "score"),
    "agent_evaluation_failed": ("error",),
    "plan_step_completed": ("result",),
    "step_observation_failed": ("error",),
    "context_window_summarization_failed": ("error",),
    "skill_load_failed": ("error",),
    "crew_train_failed": ("error",),
    "crew_test_failed": ("error",),
    "checkpoint_failed": ("error",),
    "checkpoint_restore_failed": ("error",),
    "flow_started": ("flow_name", "inputs"),
    "flow_finished": ("flow_name", "result", "state"),
    "method_execution_started": ("method_name", "state", "params"),
    "method_execution_finished": ("method_name", "state", "result"),
    "method_execution_failed": ("method_name", "error"),
    "method_execution_paused": ("method_name", "state", "message"),
    "flow_failed": ("flow_name", "error"),
    "conversation_message_added": ("role", "content"),
    "llm_guardrail_started": (),
    "llm_guardrail_completed": ("guardrail_name", "success", "error"),
    "human_feedback_requested": ("method_name", "output", "message"),
    "human_feedback_received": ("method_name", "feedback"),
    "flow_input_requested": ("method_name", "message"),
    "flow_input_received": ("method_name", "response"),
    "a2a_message_sent": ("message", "message_id", "endpoint", "a2a_agent_name"),
    "a2a_response_received": ("response", "status", "endpoint", "a2a_agent_name"),
    "a2a_connection_error": ("error", "endpoint", "a2a_agent_name"),
    "a2a_authentication_failed": ("error",),
    "a2a_artifact_received": ("artifact_id",),
    "a2a_server_task_completed": ("result",),
    "a2a_server_task_failed": ("error",),
}
# Nothing is said in these, or only what another event says: states and numbers, what an event begins or is made of.
IGNORED = frozenset(
    {
        "SIGCONT",
        "SIGHUP",
        "SIGINT",
        "SIGTERM",
        "SIGTSTP",
        "a2a_agent_card_fetched",
        "a2a_content_type_negotiated",
        "a2a_context_completed",
        "a2a_context_created",
        "a2a_context_expired",
        "a2a_context_idle",
        "a2a_context_pruned",
        "a2a_conversation_completed",
        "a2a_conversation_started",
        "a2a_delegation_completed",
        "a2a_delegation_started",
        "a2a_parallel_delegation_completed",
        "a2a_parallel_delegation_started",
        "a2a_polling_started",
        "a2a_polling_status",
        "a2a_push_notification_received",
        "a2a_push_notification_registered",
        "a2a_push_notification_sent",
        "a2a_push_notification_timeout",
        "a2a_server_task_canceled",
        "a2a_server_task_started",
        "a2a_streaming_chunk",
        "a2a_streaming_started",
        "a2a_transport_negotiated",
        "agent_logs_started",
        "agent_reasoning_started",
        "cc_env",
        "checkpoint_completed",
        "checkpoint_fork_completed",
        "checkpoint_fork_started",
        "checkpoint_pruned",
        "checkpoint_restore_completed",
        "checkpoint_restore_started",
        "checkpoint_started",
        "codex_env",
        "context_window_summarization_completed",
        "context_window_summarization_started",
        "conversation_route_selected",
        "conversation_turn_completed",
        "conversation_turn_failed",
        "conversation_turn_started",
        "crew_test_completed",
        "crew_test_result",
        "crew_test_started",
        "crew_train_completed",
        "crew_train_started",
        "cursor_env",
        "default_env",
        "flow_created",
        "flow_paused",
        "flow_plot",
        "goal_achieved_early",
        "hook_dispatched",
        "knowledge_query_completed",
        "knowledge_search_query_started",
        "llm_stream_chunk",
        "mcp_connection_completed",
        "mcp_connection_started",
        "memory_retrieval_started",
        "memory_save_started",
        "plan_refinement",
        "plan_replan_triggered",
        "plan_step_started",
        "skill_activated",
        "skill_discovery_completed",
        "skill_discovery_started",
        "skill_download_completed",
        "skill_download_started",
        "skill_loaded",
        "skill_used",
        "step_observation_completed",
        "step_observation_started",
        "task_evaluation",
    }
)


@dataclass(eq=False, slots=True)
class Fact:
    """One event of the bus, reduced."""

    type: str
    id: str
    parent: str | None
    started: str | None
    triggered: str | None
    order: tuple[float, str]
    agent: str | None
    time: Any
    place: Place
    data: dict[str, Any] = field(default_factory=dict)

    def text(self, key: str) -> str:
        """A kept field as text."""
        return text_of(self.data.get(key))


def unquote(value: Any) -> str:
    """Text as it was: `to_json` writes the `repr` of what lies deep."""
    text = text_of(value)
    if len(text) > 1 and text[0] in "'\"" and text[-1] == text[0]:
        try:
            read = ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return text
        return read if isinstance(read, str) else text
    return text


def within(value: Any, *path: str) -> Any:
    """What stands at a path, or None."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def is_internal(record: dict[str, Any]) -> bool:
    """Whether an event is of a flow that CrewAI runs by itself."""
    return str(record.get("type")).startswith(("flow_", "method_")) and record.get("flow_name") in INTERNAL_FLOWS


def fact_of(record: dict[str, Any], place: Place, fallback: str) -> Fact:
    """The fact of an event.

    Args:
        record: the event.
        place: where it stands.
        fallback: an id for an event of a version that wrote none.
    """
    number = record.get("emission_sequence")
    return Fact(
        type=intern(str(record["type"])),
        id=id_of(record.get("event_id")) or fallback,
        parent=id_of(record.get("parent_event_id")),
        started=id_of(record.get("started_event_id")),
        triggered=id_of(record.get("triggered_by_event_id")),
        order=(number if isinstance(number, int | float) else float("inf"), str(record.get("timestamp"))),
        agent=id_of(agent_of(record)),
        time=record.get("timestamp"),
        place=place,
        data=_kept(record),
    )


def id_of(value: Any) -> str | None:
    """A name or id that many events name, held once."""
    name = name_of(value)
    return intern(name) if name else None


def agent_of(record: dict[str, Any]) -> str | None:
    """The role of the agent an event is of; whom an evaluation names is judged in it."""
    if str(record.get("type")).startswith("agent_evaluation_"):
        return None
    places = (
        ("agent_role",),
        ("agent", "role"),
        ("agent_info", "role"),
        ("output", "agent"),
        ("task", "agent", "role"),
    )
    found = (name_of(unquote(within(record, *path))) for path in places)
    return next((name for name in found if name), None)


def _kept(record: dict[str, Any]) -> dict[str, Any]:
    kind = record["type"]
    data = {key: record.get(key) for key in KEPT[kind]}
    if kind in ("task_started", "task_completed"):
        data["description"] = unquote(within(record, "task", "description"))
        data["output_file"] = name_of(unquote(within(record, "task", "output_file")))
        data["human_input"] = within(record, "task", "human_input") in (True, "True")
    if kind in ("task_completed", "crew_kickoff_completed"):
        output = record.get("output")
        data["raw"] = unquote(output.get("raw")) if isinstance(output, dict) else text_of(output)
    if kind == "llm_call_started":
        data["messages"] = [(unquote(m.get("role")), spoken(m)) for m in listed(record.get("messages"))]
    return data


def listed(value: Any) -> list[dict[str, Any]]:
    """The objects of a list."""
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []


def spoken(message: dict[str, Any]) -> str:
    """The text of a chat message."""
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(text_of(p.get("text")) for p in listed(content) if p.get("text"))
    return unquote(content)
