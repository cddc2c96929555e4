"""Sanitizers replayed over a recording: what each would have done to every delivery, and what would have been left."""
