"""What plans decide that look with one detector: each decision is made once, whatever number of plans comes to it."""

from collections.abc import Callable, Sequence
from itertools import groupby

from earwitness.audit.replay import costs, outcome, texts
from earwitness.audit.replay.condition import Plan
from earwitness.audit.replay.judging import carry_out, decides_by, find_kinds, rule
from earwitness.audit.replay.ordering import as_written
from earwitness.schema.case import Case
from earwitness.schema.policy import Policy
from earwitness.schema.progress import Progress

_SENT_LIKE = "INSERT INTO rp_sent SELECT ?, class, variant FROM rp_sent WHERE plan = ?"
Note = Callable[[Case, Plan], None]
NoteLike = Callable[[Case, Plan, Plan], None]


def decide(case: Case, plans: Sequence[Plan], policy: Policy, kits: texts.Kits, progress: Progress) -> None:
    """Fill `rp_handled`, `rp_cost`, `rp_sent` and `rp_wanted` for plans of one detector, after `judge`."""
    with as_written(case):
        case.execute(outcome.SPOTS)
        find_kinds(case)

    def key(plan: Plan) -> str:
        return decides_by(plan, policy)

    known = _Known(case, kits)
    for _, same in groupby(sorted(plans, key=key), key=key):
        some = list(same)
        progress(f"deciding: {some[0].condition.name}, {some[0].setting}", 0)
        known.decide(some, policy)
    for table in ("base", "kind", "ruling"):
        case.execute(f"DROP TABLE rp_{table}")


class _Known:
    """What plans do, each ruling once; what another does likewise is copied.

    Args:
        case: after `find_kinds`.
        kits: of the transforms.
    """

    def __init__(self, case: Case, kits: texts.Kits) -> None:
        self._case, self._kits = case, kits
        self._first: dict[object, Plan] = {}
        self._made = False

    def decide(self, plans: Sequence[Plan], policy: Policy) -> None:
        """Note what plans do that decide alike."""
        told = rule(self._case, plans[0], policy)
        acts = tuple((kind, action) for kind, action, _, _ in told)
        self._made = False
        for plan in plans:
            self._once(("told", told), plan, outcome.handle, outcome.handle_like)
            self._once(("acts", acts), plan, costs.note_collateral, costs.note_like)
        for plan in plans:
            self._once(("sent", acts, plan.condition.way), plan, self._send, _send_like)

    def _send(self, case: Case, plan: Plan) -> None:
        texts.send(case, [plan], self._kits)

    def _once(self, key: object, plan: Plan, note: Note, like: NoteLike) -> None:
        first = self._first.setdefault(key, plan)
        if first is not plan:
            like(self._case, plan, first)
            return
        if not self._made:
            carry_out(self._case)
            self._made = True
        note(self._case, plan)


def _send_like(case: Case, plan: Plan, first: Plan) -> None:
    case.execute(_SENT_LIKE, [plan.number, first.number])
