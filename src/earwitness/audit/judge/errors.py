"""What can go wrong with a judge. No message holds the key, a value or a text."""

from earwitness.schema.errors import EarwitnessError


class JudgeError(EarwitnessError):
    """The endpoint refuses, or cannot be used as it was asked for: the message names cause and cure."""
