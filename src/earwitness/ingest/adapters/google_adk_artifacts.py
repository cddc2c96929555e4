"""Google ADK artifact metadata: the `metadata.json` that `FileArtifactService` writes beside each version of a file.

Found under `.adk/artifacts/apps/<app>/users/<user>/sessions/<session>/artifacts/<file>/versions/<n>/`. It names an
artifact and says when it was made and where its bytes are. It holds no content, and not who made it: events do that
(`artifactDelta`). So it is known and passed over.

Obtained by: the folder of the artifact service (`.adk/artifacts`).
Versions tried: google-adk 2.13.0.
Order: number of the version.
"""

from collections.abc import Iterable
from typing import Any

from earwitness.ingest.record import Context, Emit, Record, Skip

_KEYS = frozenset({"version", "canonicalUri", "createTime", "fileName"})
_SPELLED = frozenset({"version", "canonical_uri", "create_time", "file_name"})


class _GoogleAdkArtifacts:
    NAME = "google-adk-artifacts"
    TITLE = "Google ADK artifact metadata"

    def sniff(self, value: Any) -> bool:
        return isinstance(value, dict) and (value.keys() >= _KEYS or value.keys() >= _SPELLED)

    def open(self, context: Context) -> "_Reader":
        return _Reader()


class _Reader:
    def feed(self, record: Record) -> Iterable[Emit]:
        return (Skip("ignored", "where a version of an artifact is kept: no content, nor who made it", record.place),)

    def finish(self) -> Iterable[Emit]:
        return ()


ADAPTER = _GoogleAdkArtifacts()
