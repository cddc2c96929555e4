"""A scripted LangChain chat model: says the turns of the case, one a call."""

from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from record.case import Turn
from record.output import watch


class ScriptedChat(BaseChatModel):
    """Answers with the next turn, whatever it is asked."""

    agent: str
    turns: list[Turn]
    model_name: str = "scripted"

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        """A scripted model needs no tools to be described to it."""
        return self.bind(tools=[{"name": tool.name} for tool in tools])

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        watch(self.agent, messages)
        turn = self.turns.pop(0)
        calls = [{"name": c.name, "args": c.args, "id": c.id, "type": "tool_call"} for c in turn.calls]
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content=turn.text, tool_calls=calls))])
