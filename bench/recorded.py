"""Recordings and published exports of the formats, where they are at hand: each format's own kind of file.

They are read in place, beside the repository, and never copied into it. Of a format the file is named that is most
like what people have: large, and with contents. A format that is missing here, or whose file is missing, is measured
on its golden sample.

Those below `data/` were written by real models, and so were the downloads of Langfuse in `samples/`. The others were
written by scripted models and by tests, in words as few as a script needs.
"""

import json
import tempfile
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent / "shared"

_OBS = "samples/obs"
FILES: dict[str, str] = {
    "a2a-log": f"{_OBS}/generated/a2a/a2a_v03_jsonrpc.jsonl",
    "ag2-chat": "samples/ag2/ag2_0.14.0_sqlite.chat_messages.json",
    "ag2-event-log": "samples/ag2/ag2_1.2.1_as_tool.event_log.37ce8f62.jsonl",
    "ag2-hub": "samples/ag2/ag2_1.2.1_hub.wal.jsonl",
    "ag2-logger": "samples/ag2/ag2_0.14.0_sqlite.sqlite_tables.jsonl",
    "ag2-run-events": "samples/ag2/ag2_0.14.0_group_events.run_events.jsonl",
    "ag2-telemetry": "samples/ag2/ag2_1.2.1_hub.spans.jsonl",
    "agentdojo-exfil": "data/agentdojo_exfil/agentdojo_exfil.scenarios.json",
    "agentleak-channels": "data/agentleak_scenarios/traces_internal_channels.jsonl",
    "agentleak-events": "data/agentleak_scenarios/examples/trace_sample.jsonl",
    "agentleak-example": "data/agentleak_examples/healthcare_trace.json",
    "agentleak-results": "data/agentleak_traces/tools_labels/openai_gpt-4o/scenarios.json",
    "agentleak-run": "data/agentleak_traces/traces/trace_20260130_101124_1778d338.json",
    "agentleak-scenario": "data/agentleak_scenarios/scenarios_base_100.jsonl",
    "anthropic-managed": f"{_OBS}/anthropic_managed_session/anthropic_managed_custom_tools.jsonl",
    "any-agent": "data/otel_genai/any_agent/LLAMA_INDEX_trace.json",
    "autogen-core-log": "samples/autogen/swarm.core_events.jsonl",
    "autogen-state": "samples/autogen/swarm.save_state.json",
    "autogen-stream": "samples/autogen/swarm.run_stream.jsonl",
    "autogen-text-log": "samples/autogen/swarm.core_trace.log",
    "chat-messages": "samples/openai_agents/handoff.chat.to_input_list.jsonl",
    "claude-code": f"{_OBS}/claude_code_jsonl/minimal_showcase_main.jsonl",
    "codex-rollout": f"{_OBS}/codex_rollout_jsonl/rollout-2026-01-02T03-04-05-11111111.jsonl",
    "crewai-checkpoint": "samples/crewai/hierarchical_checkpoint.checkpoint.json",
    "crewai-events": "samples/crewai/hierarchical.events.to_json.jsonl",
    "crewai-log": "samples/crewai/sequential_memory.output_log_file.txt",
    "crewai-output": "samples/crewai/sequential_memory.crew_output.json",
    "crewai-tables": "samples/crewai/sequential_memory.latest_kickoff_task_outputs.sqlite.jsonl",
    "google-adk-bigquery": "samples/google_adk/transfer.bigquery_plugin_rows.jsonl",
    "google-adk-database": "samples/google_adk/transfer.database_v1_rows.jsonl",
    "google-adk-debug": "samples/google_adk/transfer.debug_logging_plugin.yaml",
    "google-adk-evalset": "data/google_adk/travel-concierge/intrip.test.json",
    "google-adk-events": "data/google_adk/customer-service/123.session.json",
    "google-adk-testset": "data/google_adk/RAG/conversation.test.json",
    "inspect-ai": "data/inspect_ai/2025-05-12T20-27-36-04-00_browser.json",
    "jaeger": f"{_OBS}/jaeger_json/jaeger-ui-genaiTestTrace.json",
    "langchain-callbacks": "samples/langgraph/supervisor.callback_handler.jsonl",
    "langchain-events": "samples/langgraph/supervisor.astream_events_v2.jsonl",
    "langchain-log": "samples/langgraph/supervisor.astream_log.jsonl",
    "langchain-messages": "samples/langchain/subagent_tools.final_messages_messages_to_dict.jsonl",
    "langfuse-trace": f"{_OBS}/langfuse_trace_download/beeai-2025-08-01.trace.json",
    "langgraph-checkpoints": "samples/langgraph/supervisor.checkpoint_list.jsonl",
    "langgraph-stream": "samples/langgraph/supervisor.stream_v1_debug.jsonl",
    "langgraph-updates": "samples/langgraph/swarm.stream_updates_only_defaultstr.jsonl",
    "langsmith-runs": "samples/langgraph/supervisor.langsmith_list_runs_model_dump.jsonl",
    "llamaindex-context": "samples/llamaindex/agent_workflow.context_to_dict.json",
    "llamaindex-instrumentation": "samples/llamaindex/agent_workflow.instrumentation_events.jsonl",
    "llamaindex-stream": "samples/llamaindex/agent_workflow.stream_events.jsonl",
    "magpie": "data/magpie/simulations/explicit-data2/gemini/sim_recruitment.json",
    "mast-log": "data/mast_human19/15_ChatDev_MMLU.json",
    "mcp-log": f"{_OBS}/generated/mcp/mcp_stdio_proxy_log.jsonl",
    "mlflow-trace": f"{_OBS}/generated/mlflow/mlflow_trace.json",
    "muses-bench": "data/muses_bench/access_control/template_xml_attack_pressure_2_to_10_each_2.jsonl",
    "openai-agents-hooks": "samples/openai_agents/handoff.chat.hooks.jsonl",
    "openai-agents-items": "samples/openai_agents/handoff.responses.stream_events.jsonl",
    "openai-agents-session": "samples/openai_agents/handoff.chat.sqlite_session_rows.jsonl",
    "openai-agents-trace": "samples/openai_agents/agents_as_tools.responses.trace_processor_with_response.jsonl",
    "otel-console-logs": "samples/google_adk/transfer.otel_logs_event_only.console.jsonl",
    "otel-console-spans": "samples/autogen/swarm.openinference.spans.jsonl",
    "otlp-logs": "samples/google_adk/transfer.otel_logs_event_only.otlp_json.jsonl",
    "otlp-spans": "samples/langgraph/supervisor.openinference.otlp_json.jsonl",
    "phoenix-rest": f"{_OBS}/generated/phoenix/phoenix_rest_spans_otlpv1.json",
    "phoenix-rows": f"{_OBS}/generated/phoenix/phoenix_spans_dataframe.jsonl",
    "privacylens": "data/privacylens/main_data.subset.json",
    "pydantic-ai-history": f"{_OBS}/generated/pydantic_ai_messages/pydantic_ai_all_messages.json",
    "sk-function-filter": "samples/semantic_kernel/handoff.function_filter.jsonl",
    "sk-messages": "samples/semantic_kernel/handoff.streaming_callback.jsonl",
    "sk-runtime": "samples/semantic_kernel/groupchat.runtime_events.jsonl",
    "sk-text-log": "samples/semantic_kernel/magentic.plain.log",
    "swe-agent": "data/swe_agent/i_got_id_demo.traj",
    "tau-bench": "data/tau_bench/gpt-4o-airline.subset.json",
    "who-and-when": "data/who_and_when/Hand-Crafted/30.json",
}


_OF_REAL_MODELS = frozenset({"langfuse-trace", "langfuse-rows"})
_DOWNLOADS = f"{_OBS}/langfuse_trace_download"


def is_scripted(adapter: str) -> bool:
    """Whether the recording of a format was written by a scripted model, whose contents are a few words long."""
    return FILES.get(adapter, "").startswith("samples/") and adapter not in _OF_REAL_MODELS


def file_of(adapter: str) -> Path | None:
    """The recording of a format, if there is one here."""
    if adapter == "langfuse-rows" and (ROOT / _DOWNLOADS).is_dir():
        return _observations()
    path = ROOT / FILES[adapter] if adapter in FILES else None
    return path if path and path.exists() else None


_made = tempfile.TemporaryDirectory(prefix="earwitness-bench-")


@cache
def _observations() -> Path:
    """The observations of every trace download at hand, one a line, as the API and the export of the UI give them."""
    path = Path(_made.name) / "observations.jsonl"
    with path.open("w", encoding="utf-8") as out:
        for download in sorted((ROOT / _DOWNLOADS).glob("*.trace.json")):
            trace = json.loads(download.read_text(encoding="utf-8"))
            out.writelines(json.dumps(o, ensure_ascii=False) + "\n" for o in trace["observations"])
    return path
