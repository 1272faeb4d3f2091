"""What must hold whatever was killed (O2): asked of the tables by SQL, and of the effect log against the tables."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from tests.faults.harness import Product, query

INVARIANTS = {
    "a tick fired twice": """
        SELECT schedule_id, due_at FROM firing WHERE cause = 'automatic' GROUP BY 1, 2 HAVING count(*) > 1""",
    "a key with two tasks": "SELECT idempotency_key FROM task GROUP BY 1 HAVING count(*) > 1",
    "a submitted scope without its task": """
        SELECT fs.id FROM firing_scope fs LEFT JOIN task t ON t.id = fs.task_id
         WHERE fs.state = 'submitted' AND t.id IS NULL""",
    "a task that no firing scope names": """
        SELECT t.id FROM task t WHERE t.schedule_id IS NOT NULL
           AND NOT EXISTS (SELECT 1 FROM firing_scope fs WHERE fs.task_id = t.id AND fs.key = t.idempotency_key)""",
    "a task that two firing scopes name": """
        SELECT task_id FROM firing_scope WHERE task_id IS NOT NULL GROUP BY 1 HAVING count(*) > 1""",
    "an outcome without a reason": """
        SELECT id FROM firing_scope
         WHERE state NOT IN ('pending', 'submitted') AND (reason = '' OR reason_code = '')""",
    "a pending scope of a closed firing": """
        SELECT fs.id FROM firing_scope fs JOIN firing f ON f.id = fs.firing_id
         WHERE fs.state = 'pending' AND f.closed_at IS NOT NULL""",
    # tasks + refusals = scopes at claim; the audit trail says whose scopes are still those of the claim
    "a firing that forgot a scope": """
        SELECT f.id FROM firing f JOIN task_schedule s ON s.id = f.schedule_id
         WHERE f.reason NOT LIKE '%%its row cannot be read%%'
           AND NOT EXISTS (SELECT 1 FROM audit_entry a
                            WHERE a.object_id = s.id::text AND a.verb LIKE 'scope.%%' AND a.refused = '')
           AND (SELECT count(*) FROM firing_scope fs WHERE fs.firing_id = f.id)
            <> (SELECT count(*) FROM task_schedule_scope c WHERE c.schedule_id = s.id)""",
    "a closed firing whose counts are not its scopes'": """
        SELECT f.id FROM firing f LEFT JOIN firing_scope fs ON fs.firing_id = f.id
         WHERE f.state = 'done' GROUP BY f.id
        HAVING count(*) FILTER (WHERE fs.state = 'submitted') <> f.submitted_count
            OR count(*) FILTER (WHERE fs.state = 'skipped') <> f.skipped_count
            OR count(*) FILTER (WHERE fs.state = 'rejected') <> f.rejected_count
            OR count(*) FILTER (WHERE fs.state = 'missed') <> f.missed_count
            OR count(*) FILTER (WHERE fs.state = 'failed') <> f.failed_count""",
    "a next run that has been fired already": """
        SELECT s.id FROM task_schedule s JOIN firing f ON f.schedule_id = s.id
         WHERE s.enabled AND f.cause = 'automatic' GROUP BY s.id HAVING s.next_run_at <= max(f.due_at)""",
    "a disabled schedule that does not say why": """
        SELECT id FROM task_schedule WHERE NOT enabled AND (disabled_reason = '' OR disabled_at IS NULL)""",
    "a running task without an open run": """
        SELECT t.id FROM task t WHERE t.status = 'running'
           AND NOT EXISTS (SELECT 1 FROM run r WHERE r.task_id = t.id AND r.state IN ('running', 'unknown'))""",
    "a finished task with an open run": """
        SELECT t.id FROM task t JOIN run r ON r.task_id = t.id
         WHERE t.status IN ('completed', 'failed', 'terminated') AND r.state IN ('running', 'unknown')""",
    "a task with two open runs": """
        SELECT task_id FROM run WHERE state IN ('running', 'unknown') GROUP BY 1 HAVING count(*) > 1""",
}


def check_invariants(product: Product) -> None:
    """What must hold whatever was killed, and after everything has come to rest."""
    assert broken() == {}
    assert effects_judged(product.effects(), runs()) == []


def broken() -> dict[str, list[tuple[Any, ...]]]:
    """The invariants that do not hold, each with the rows that break it."""
    found = {name: query(sql) for name, sql in INVARIANTS.items()}
    return {name: rows for name, rows in found.items() if rows}


def runs() -> list[dict[str, Any]]:
    """Every run with what the effect log is compared with."""
    names = ("key", "state", "results", "in_flight", "said")
    rows = query(
        "SELECT coalesce(t.idempotency_key, t.id)::text, r.state, r.results::text, r.in_flight,"
        " concat_ws(' ', t.message, r.message, r.attempts::text) FROM run r JOIN task t ON t.id = r.task_id"
    )
    found = [dict(zip(names, row, strict=True)) for row in rows]
    return [run | {"results": json.loads(run["results"])} for run in found]


def effects_judged(effects: list[dict[str, Any]], found: list[dict[str, Any]]) -> list[str]:
    """What the effect log and the runs say of each other that cannot be.

    Each applied effect belongs to one key, once, and to a run that records it or says that it may have happened; each
    result that changed something has its effect. A run under way names the step whose effect may be there already.
    """
    applied = Counter(str(effect["key"]) for effect in effects if effect["applied"])
    problems = [f"{key} was applied {times} times" for key, times in applied.items() if times > 1]
    explained: set[str] = set()
    for run in found:
        for component, result in run["results"].items():
            key = f"{run['key']}:{component}"
            if result["state"] == "changed":
                explained.add(key)
                if key not in applied:
                    problems.append(f"{key} is said to be done and never was")
        if run["in_flight"]:
            explained.add(f"{run['key']}:{run['in_flight']}")
    doubtful = {run["key"] for run in found if run["state"] == "unknown" or "may have" in run["said"]}
    unknown = [key for key in applied.keys() - explained if key.partition(":")[0] not in doubtful]
    return problems + [f"{key} was applied and no run knows" for key in unknown]


def at_rest(*, but_unknown: bool = False) -> bool:
    """Nothing open, nothing waiting to be done; at choice but for what waits for a person."""
    unknown = "SELECT t.lane FROM run r JOIN task t ON t.id = r.task_id WHERE r.state = 'unknown'"
    [(open_firings, active)] = query(
        "SELECT (SELECT count(*) FROM firing WHERE closed_at IS NULL),"
        " (SELECT count(*) FROM task WHERE status IN ('waiting', 'pending', 'running')"
        + (f" AND lane NOT IN ({unknown})" if but_unknown else "")
        + ")"
    )
    return open_firings == 0 and active == 0
