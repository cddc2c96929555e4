"""Values put aside on disk until the run they belong to is told: what an import holds is not all in memory at once."""

import json
import tempfile
from typing import Any

_IN_MEMORY = 8 << 20


class Shelf:
    """A file of JSON values without a name, so that nothing of it stays."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - closed by `close`
        self._end = 0

    def put(self, value: Any) -> tuple[int, int]:
        """Put a value aside; gives the key to get it back."""
        raw = json.dumps(value, separators=(",", ":"), default=str).encode("ascii")
        self._file.seek(self._end)
        self._file.write(raw)
        key = (self._end, len(raw))
        self._end += len(raw)
        return key

    def get(self, key: tuple[int, int]) -> Any:
        """A value as it was."""
        self._file.seek(key[0])
        return json.loads(self._file.read(key[1]))

    def close(self) -> None:
        """Give the space back."""
        self._file.close()
