"""What detection did: which tiers ran, on how much, at what cost, and in which forms values were found."""

from typing import Any

from earwitness.schema.case import Case


def detection(case: Case) -> dict[str, Any]:
    """Tiers and forms of the last audit; `degraded` if a tier that was asked for did not run."""
    total = case.rows("SELECT count(*), coalesce(sum(length(text)), 0)::BIGINT FROM contents")[0]
    columns = ("tier", "asked", "ran", "contents", "characters", "matches", "seconds", "note")
    rows = case.rows(f"SELECT {', '.join(columns)} FROM tiers ORDER BY rowid")
    tiers = [dict(zip(columns, row, strict=True)) for row in rows]
    for tier in tiers:
        tier["share"] = tier["contents"] / total[0] if total[0] else None
    return {
        "degraded": any(t["asked"] and not t["ran"] for t in tiers),
        "contents": total[0],
        "characters": total[1],
        "tiers": tiers,
        "forms": _forms(case),
    }


def _forms(case: Case) -> list[dict[str, Any]]:
    """Distinct (content, value) pairs by the form in which the value stands there."""
    rows = case.rows("""
        SELECT form, tier, count(*) FILTER (standing = 'confirmed'), count(*) FILTER (standing = 'possible')
        FROM matches GROUP BY ALL ORDER BY count(*) DESC, form
    """)
    return [{"form": f, "tier": t, "confirmed": c, "possible": p} for f, t, c, p in rows]
