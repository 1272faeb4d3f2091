"""Every address of the admin, from the resolver, and a database with something behind each."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import Group, User
from django.db import connection
from django.urls import URLPattern, URLResolver, get_resolver

from access.services import feed_create
from audit.models import AuditEntry
from dispatcher.models import Firing, FiringScope
from flowsched import clock
from inventory.models import Component
from schedules.models import TaskSchedule
from schedules.services import schedule_pause
from tasks.models import Hold, Process, Run
from tests.console.calls import call_run, call_schedule, call_task
from tests.factories import DomainFactory
from tests.schedules.helpers import ALICE, make_schedule, whole
from tests.tasks_runs.helpers import make_rack, make_task

ASIDE = ("django_session", "axes_%")
VERBS = ("pause", "resume", "trigger", "delete")


@dataclass(frozen=True)
class Site:
    """Ids of what there is."""

    rack: str
    schedule: str
    schedules: tuple[str, ...]
    call: str  # a schedule of HTTP calls
    tasks: Mapping[str, str]  # by state
    component: str
    firing: int
    feed: int
    token: str
    user: int
    group: int


def admin_urls() -> list[tuple[str, str, Any]]:
    """(name, pattern, view) of every address below /admin/."""

    def below(resolver: URLResolver, before: str) -> Iterator[tuple[str, str, Any]]:
        for each in resolver.url_patterns:
            path = before + str(each.pattern)
            if isinstance(each, URLResolver):
                yield from below(each, path)
            elif isinstance(each, URLPattern) and path.startswith("admin/"):
                yield each.name or "", path, each.callback

    return list(below(get_resolver(), ""))


def names() -> set[str]:
    """Their names."""
    return {name for name, _, _ in admin_urls()}


def takes_post(view: Any) -> bool:
    """Whether an address does something when it is posted to; Django's own views do not say."""
    found = getattr(view, "view_class", None)
    return found is None or hasattr(found, "post")


def paths(site: Site) -> dict[str, list[str]]:
    """The addresses of each name, with every variant that shows something else."""
    rack, schedule, user, group = site.rack, site.schedule, site.user, site.group
    own = f"/admin/schedules/{schedule}/"
    tasks = list(site.tasks.values())
    return {
        "index": ["/admin/", "/admin/?chart=week", "/admin/?range=7d"],
        "outcomes": ["/admin/outcomes/", "/admin/outcomes/?outcome=skipped"],
        "zone": ["/admin/zone/"],
        "zones": ["/admin/zones.json"],
        "schedules": ["/admin/schedules/", "/admin/schedules/?q=x", "/admin/schedules/?state=off&rack=<img src=x>"],
        "schedules_verb": [
            f"/admin/schedules/do/{verb}/?" + "&".join(f"id={id}" for id in site.schedules) for verb in VERBS
        ],
        "schedule_add": [
            "/admin/schedules/add/",
            f"/admin/schedules/add/?copy={schedule}",
            f"/admin/schedules/add/?copy={site.call}",
            "/admin/schedules/add/?rack=x",
        ],
        "schedule_add_preview": ["/admin/schedules/add/preview/"],
        "schedule_add_call": ["/admin/schedules/add/call/"],
        "schedule_dry_run": [f"/admin/schedules/{id}/dry-run/" for id in (*site.schedules, site.call)],
        "runs": [
            "/admin/tasks/runs/",
            f"/admin/tasks/runs/?schedule={site.call}",
            "/admin/tasks/runs/?state=failed",
            "/admin/tasks/runs/?schedule=<img src=x>",
        ],
        "schedule_add_racks": ["/admin/schedules/add/racks/"],
        "schedule_edit": [f"/admin/schedules/{id}/edit/" for id in (*site.schedules, site.call)],
        "schedule_edit_preview": [f"{own}edit/preview/"],
        "schedule_edit_racks": [f"{own}edit/racks/"],
        "schedule_rack_search": ["/admin/schedules/rack-search/?q=im", "/admin/schedules/rack-search/?q=<img src=x>"],
        "schedule_rack_components": [f"/admin/schedules/rack-components/{rack}/"],
        "schedule": [
            *(f"/admin/schedules/{id}/" for id in (*site.schedules, site.call)),
            *(f"{own}?tab={tab}" for tab in ("racks", "firings", "changes")),
            f"{own}?tab=firings&firing={site.firing}",
        ],
        "schedule_verb": [f"/admin/schedules/{id}/do/{verb}/" for id in (schedule, site.call) for verb in VERBS],
        "tasks": [f"/admin/tasks/?view={view}" for view in ("active", "failed", "unknown", "all", "ended")],
        "task": [f"/admin/tasks/{id}/" for id in tasks],
        "task_cancel": [f"/admin/tasks/{id}/cancel/" for id in tasks],
        "task_decide": [f"/admin/tasks/{id}/decide/" for id in tasks],
        "rack": [f"/admin/racks/{rack}/"],
        "rack_stop": [f"/admin/racks/{rack}/stop/"],
        "racks": ["/admin/racks/", "/admin/racks/?q=im"],
        "calendar": [f"/admin/calendar/?view={view}" for view in ("month", "week", "list")]
        + [f"/admin/calendar/?rack={rack}", f"/admin/calendar/?schedule={schedule}&paused=1"],
        "calendar_feeds": ["/admin/calendar/feeds/", f"/admin/calendar/feeds/?rack={rack}"],
        "calendar_feed_revoke": [f"/admin/calendar/feeds/{site.feed}/revoke/"],
        "audit": ["/admin/audit/", "/admin/audit/?q=im", "/admin/audit/?refused=yes"],
        "login": ["/admin/login/"],
        "logout": ["/admin/logout/"],
        "password_change": ["/admin/password_change/"],
        "password_change_done": ["/admin/password_change/done/"],
        "autocomplete": ["/admin/autocomplete/?term=a&app_label=auth&model_name=user&field_name=groups"],
        "jsi18n": ["/admin/jsi18n/"],
        "view_on_site": [f"/admin/r/4/{user}/"],
        "app_list": ["/admin/auth/"],
        **_stock("auth_user", user),
        **_stock("auth_group", group),
        "auth_user_password_change": [f"/admin/auth/user/{user}/password/"],
        "": [f"/admin/auth/user/{user}/", f"/admin/auth/group/{group}/", "/admin/nothing/here/"],
    }


def _stock(name: str, pk: int) -> dict[str, list[str]]:
    base = f"/admin/{name.replace('_', '/')}/"
    one = {each: [f"{base}{pk}/{each}/"] for each in ("change", "delete", "history")}
    every = {"changelist": [base, f"{base}?q=im"], "add": [f"{base}add/"], **one}
    return {f"{name}_{kind}": urls for kind, urls in every.items()}


def site() -> Site:
    """One of everything, in every state that pages show differently."""
    now = clock.now()
    rack = make_rack(name="r07", power="on")
    rack.nvl_domain = DomainFactory(name="nvl-1")
    rack.save()
    rows = [
        make_schedule("Nightly", targets=whole(rack), spec_type="cron", spec="0 2 * * *", now=now),
        make_schedule("Often", targets=whole(rack), spec="15m", now=now),
        make_schedule("Paused", targets=whole(rack), now=now),
    ]
    schedule_pause(schedule_id=rows[2].pk, reason="chiller", by=ALICE, now=now)
    call = call_schedule("Report", now=now)
    TaskSchedule.objects.filter(pk=call.pk).update(consecutive_skips=2, consecutive_no_effect=3)
    tasks = _tasks(rack, rows[0]) | _calls(call)
    firing = _firing(rack, rows[0], tasks["completed"])
    user = User.objects.create_superuser("root", "root@example.org", "long enough a password")
    group = Group.objects.create(name="crew")
    user.groups.add(group)
    feed, token = feed_create(user_id=user.pk, name="Plan", shows={"rack": str(rack.pk)}, by=ALICE, now=now)
    Hold.objects.create(reason="chiller", held_by="alice", held_at=now)
    for kind, ago in (("dispatcher", 1), ("worker", 900)):
        beat = now - timedelta(seconds=ago)
        Process.objects.create(kind=kind, host="ops-1", pid=7, version="1", started_at=beat, last_beat=beat)
    AuditEntry.objects.create(
        at=now, actor="ann", door="admin", verb="schedule.delete", object_kind="schedule", object_id=str(rows[0].pk),
        object_name="Nightly", refused="may not", request_id="r",
    )  # fmt: skip
    component = Component.objects.filter(rack=rack).values_list("pk", flat=True)[0]
    return Site(
        rack=str(rack.pk),
        schedule=str(rows[0].pk),
        schedules=tuple(str(row.pk) for row in rows),
        call=str(call.pk),
        tasks={state: str(task.pk) for state, task in tasks.items()},
        component=str(component),
        firing=firing.pk,
        feed=feed.pk,
        token=token,
        user=user.pk,
        group=group.pk,
    )


def _tasks(rack, schedule) -> dict[str, Any]:
    now = clock.now()
    named = {"schedule_id": schedule.pk, "schedule_name": schedule.name, "job": False, "message": "why"}
    made = {
        state: make_task(rack, status=state, finished_at=now, started_at=now, **named)
        for state in ("completed", "failed", "terminated")
    }
    made["waiting"] = make_task(rack, status="waiting", **named)
    made["running"] = make_task(rack, status="running", started_at=now, **named)
    made["unknown"] = make_task(make_rack(name="r08"), status="running", started_at=now, **named)
    for state, task in made.items():
        if state != "waiting":
            open_run = {"running": "running", "unknown": "unknown"}.get(state)
            Run.objects.create(
                task=task, state=open_run or "succeeded", executor="simulated", queued_at=now, started_at=now,
                message="why", lease_owner="ops-1", finished_at=None if open_run else now,
                attempts=[{"started_at": now.isoformat(), "outcome": "failed", "message": "why"}],
            )  # fmt: skip
    return made


def _calls(schedule) -> dict[str, Any]:
    """A call that ended, one under way and one in doubt, each with a record; on no rack."""
    now = clock.now()
    made = {}
    for state in ("failed", "running", "unknown"):
        task = call_task(schedule, status="failed" if state == "failed" else "running", started_at=now, message="why")
        call_run(task, state, finished_at=now if state == "failed" else None)
        made[f"call-{state}"] = task
    return made


def _firing(rack, schedule, task) -> Firing:
    now = clock.now()
    firing = Firing.objects.create(
        key=uuid.uuid4(), schedule_id=schedule.pk, schedule_name=schedule.name, cause="automatic", due_at=now,
        fired_at=now, actor="system", state="done", closed_at=now, reason="why", submitted_count=1, skipped_count=1,
        rejected_count=1, missed_count=1, failed_count=1, operation_template=schedule.operation_template,
    )  # fmt: skip
    for state in ("submitted", "skipped", "rejected", "missed", "failed"):
        FiringScope.objects.create(
            firing=firing, scope_id=uuid.uuid4(), rack_id=rack.pk, rack_name=rack.name, key=uuid.uuid4(), state=state,
            reason="why", task_id=task.pk if state == "submitted" else None,
        )  # fmt: skip
    return firing


def digest() -> dict[str, str]:
    """A digest of every table, sessions and throttling aside."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND NOT tablename LIKE ANY(%s)", [list(ASIDE)]
        )
        found = {}
        for (table,) in sorted(cursor.fetchall()):
            cursor.execute(f"SELECT md5(COALESCE(string_agg(t::text, '|' ORDER BY t::text), '')) FROM \"{table}\" t")
            found[table] = cursor.fetchone()[0]
    return found
