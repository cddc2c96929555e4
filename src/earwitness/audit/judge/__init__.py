"""The LLM judge: whether a text tells a protected value, asked of a model. It sees the value; only on request."""
