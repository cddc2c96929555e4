"""LlamaIndex workflows: agents that hand over to each other inside one run."""
