"""What is not passed on, against a simulation of the hops one after the other; forwarded deliveries likewise."""

from typing import NamedTuple

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from earwitness.audit.replay.downstream import NEVER, still
from earwitness.audit.replay.topology import _onward

HOLDERS = 5


class Hop(NamedTuple):
    """One delivery of one value."""

    seq: int
    teller: int
    told: int
    access: int
    found: bool
    barred: bool


HOPS = st.lists(
    st.builds(
        Hop,
        seq=st.integers(0, 12),
        teller=st.integers(-1, HOLDERS - 1),
        told=st.integers(-1, HOLDERS - 1),
        access=st.one_of(st.just(NEVER), st.integers(-1, 12)),
        found=st.booleans(),
        barred=st.booleans(),
    ),
    max_size=30,
)


def arrays(hops: list[Hop]) -> list[np.ndarray]:
    return [np.array([h[n] for h in hops], np.bool_ if n > 3 else np.int64) for n in range(6)]


def simulated(hops: list[Hop]) -> list[bool]:
    """Steps in order of time: whoever was told something that remains has it, and nobody else."""
    kept = [False] * len(hops)
    for n in sorted(range(len(hops)), key=lambda n: hops[n].seq):
        hop = hops[n]
        sources = [m for m in range(len(hops)) if hops[m].told == hop.teller >= 0 and hops[m].seq < hop.seq]
        had = not sources or hop.access < hop.seq or any(kept[m] for m in sources)
        kept[n] = hop.found and had
    return kept


@given(HOPS)
def test_as_a_simulation_of_the_steps_in_order(hops: list[Hop]) -> None:
    seq, teller, told, access, found, _ = arrays(hops)
    assert still(found, seq, teller, told, access).tolist() == simulated(hops)


@given(HOPS, st.integers(0, 29))
def test_what_remains_can_only_help(hops: list[Hop], which: int) -> None:
    seq, teller, told, access, found, _ = arrays(hops)
    less = found.copy()
    less[which : which + 1] = False
    assert not (still(less, seq, teller, told, access) & ~still(found, seq, teller, told, access)).any()


def test_a_chain_breaks_where_it_is_cut_and_heals_by_another_way() -> None:
    # 0 tells 1, 1 tells 2, 2 tells 3; the second hop is sanitized.
    chain = [Hop(n, n, n + 1, NEVER, n != 1, False) for n in range(3)]
    seq, teller, told, access, found, _ = arrays(chain)
    assert still(found, seq, teller, told, access).tolist() == [True, False, False]
    seq, teller, told, access, found, _ = arrays([*chain[:2], Hop(1, 4, 2, NEVER, True, False), chain[2]])
    assert still(found, seq, teller, told, access).tolist() == [True, False, True, True]


def forwarded(hops: list[Hop]) -> list[bool]:
    """Whether there is a later hop of the receiver to somebody barred, or to somebody who forwards it."""

    def bad(n: int) -> bool:
        return any(
            hops[m].teller == hops[n].told >= 0 and hops[m].seq > hops[n].seq and (hops[m].barred or bad(m))
            for m in range(len(hops))
        )

    return [bad(n) for n in range(len(hops))]


@given(st.lists(st.builds(Hop, st.integers(0, 6), st.integers(-1, 3), st.integers(-1, 3), st.just(0), st.just(True),
                          st.booleans()), max_size=10))  # fmt: skip
def test_forwarded_as_a_search_of_the_ways(hops: list[Hop]) -> None:
    seq, teller, told, _, _, barred = arrays(hops)
    assert _onward(told, teller, seq, barred).tolist() == forwarded(hops)
