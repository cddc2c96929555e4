"""Times from whatever a recorder wrote."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from earwitness.schema.times import column, to_iso, to_nanos

NOON = 1_767_268_800_000_000_000


@pytest.mark.parametrize(
    ("written", "nanos"),
    [
        (NOON, NOON),
        (NOON // 1_000, NOON),
        (NOON // 1_000_000, NOON),
        (NOON // 1_000_000_000, NOON),
        (NOON / 1e9, NOON),
        (str(NOON), NOON),
        ("2026-01-01T12:00:00Z", NOON),
        ("2026-01-01T12:00:00", NOON),
        ("2026-01-01 13:00:00+01:00", NOON),
        ("2026-01-01T12:00:00.123456789Z", NOON + 123_456_789),
        ("2026-01-01T12:00:00.5Z", NOON + 500_000_000),
        (0, 0),
        (-1, None),
        (True, None),
        (float("nan"), None),
        (float("inf"), None),
        (10**30, None),
        ("9" * 400, None),
        ("yesterday", None),
        ("", None),
        (None, None),
        ({}, None),
    ],
)
def test_to_nanos(written: Any, nanos: int | None) -> None:
    assert to_nanos(written) == nanos


@given(st.integers(0, 2**62))
def test_iso_loses_nothing(nanos: int) -> None:
    text = to_iso(nanos)
    assert text is not None
    assert to_nanos(text) == nanos


@given(
    st.lists(
        st.one_of(st.none(), st.integers(10**17, 2**62), st.sampled_from(["2026-01-01T12:00:00Z", "no time", 1.5e9]))
    )
)
def test_column_equals_one_by_one(values: list[Any]) -> None:
    expected = [to_nanos(v) for v in values]
    found = [None if np.isnat(t) else int(t.astype(np.int64)) for t in column(values)]
    assert found == expected
