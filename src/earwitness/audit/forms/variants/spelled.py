"""E-mail addresses with their signs in words."""

import re
from collections.abc import Iterator

from earwitness.audit.forms.variant import Variant

_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")


def variants(attribute: str, text: str) -> Iterator[Variant]:
    """`ana at example dot org`, `ana(at)example.org`."""
    if not _EMAIL.fullmatch(text.strip()):
        return
    user, host = text.strip().split("@")
    yield Variant(f"{user} at {host}", "spelled", 0.95, "gapped")
    yield Variant(f"{user} at {host.replace('.', ' dot ')}", "spelled", 0.95, "gapped")
    yield Variant(f"{user.replace('.', ' dot ')} at {host.replace('.', ' dot ')}", "spelled", 0.95, "gapped")
