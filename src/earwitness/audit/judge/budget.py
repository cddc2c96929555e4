"""How much may still be asked: counted before each request, by all threads together."""

from dataclasses import dataclass, field
from threading import Lock


@dataclass
class Budget:
    """Requests and tokens spent, and their limits.

    Attributes:
        max_calls: most requests; None for no limit.
        max_tokens: most tokens; None for no limit.
        calls: requests made.
        tokens: tokens used, as told by the endpoint.
    """

    max_calls: int | None
    max_tokens: int | None
    calls: int = 0
    tokens: int = 0
    _lock: Lock = field(default_factory=Lock, repr=False)

    def take(self) -> bool:
        """Take leave for one request; False where nothing is left."""
        with self._lock:
            if self.max_calls is not None and self.calls >= self.max_calls:
                return False
            if self.max_tokens is not None and self.tokens >= self.max_tokens:
                return False
            self.calls += 1
            return True

    def spend(self, tokens: int) -> None:
        """Tokens that a request used."""
        with self._lock:
            self.tokens += tokens
