"""Words of the walk through the wire: targets, schedules, moments."""

from __future__ import annotations

from datetime import UTC, timedelta

R01 = "f3a1c2d4-1001-4000-8000-000000000001"  # the example rack


def racks(*targets):
    return {"racks": {"targets": list(targets)}}


def external(flow, text, kind="COMPUTE"):
    number = flow.wire.number(f"COMPONENT_TYPE_{kind}")
    return {"components": {"targets": [{"external": {"type": number, "id": text}}]}}


def create(flow, name, spec, target_spec, kind="power_reset", *, policy="OVERLAP_POLICY_SKIP", **operation):
    words = dict(zip(("type", "spec", "timezone"), spec, strict=False))
    words["type"] = flow.wire.number(f"SCHEDULE_SPEC_TYPE_{words['type']}")
    return flow.CreateTaskSchedule(
        schedule={"name": name, "spec": words, "overlap_policy": flow.wire.number(policy)},
        operation={kind: {"target_spec": target_spec, **operation}},
    )


def moment(stamp):
    return stamp.ToDatetime(tzinfo=UTC)


def near(stamp, expected):
    return abs(moment(stamp) - expected) < timedelta(seconds=20)


def names(rows):
    return [row.name for row in rows]
