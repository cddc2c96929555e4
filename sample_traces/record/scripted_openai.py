"""The real OpenAI client in front of a scripted transport: no server, no network. One client for each agent."""

import itertools
import json

import httpx2 as httpx
from openai import AsyncOpenAI
from record.case import Turn
from record.output import watch


def client(agent: str, turns: list[Turn]) -> AsyncOpenAI:
    """A client whose chat completions are the turns, in order."""
    numbers = itertools.count(1)
    left = iter(turns)

    def answer(request: httpx.Request) -> httpx.Response:
        watch(agent, request.content.decode())
        return httpx.Response(200, json=_completion(f"chatcmpl-{agent}-{next(numbers)}", next(left)))

    http = httpx.AsyncClient(transport=httpx.MockTransport(answer))
    return AsyncOpenAI(api_key="none", base_url="http://scripted.invalid/v1", http_client=http, max_retries=0)


def _completion(name: str, turn: Turn) -> dict[str, object]:
    message = {"role": "assistant", "content": turn.text or None}
    if turn.calls:
        message["tool_calls"] = [
            {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": json.dumps(c.args)}}
            for c in turn.calls
        ]
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if turn.calls else "stop"}
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    return {
        "id": name,
        "object": "chat.completion",
        "created": 1767225600,
        "model": "scripted",
        "choices": [choice],
        "usage": usage,
    }
