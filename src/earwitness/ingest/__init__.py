"""From bytes to typed events: bytes -> container -> dialect -> adapter -> case."""
