"""What the LangChain, LangGraph and LangSmith adapters share: messages, conversations, trees of runs, graph steps."""
