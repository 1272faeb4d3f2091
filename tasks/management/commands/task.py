"""`manage.py task`: look at tasks, cancel one, say how one with an unknown outcome ended."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from flowsched import clock
from flowsched.actor import Actor
from flowsched.cli import FlowCommand
from tasks.hold import hold_current, hold_json, hold_line
from tasks.models import Run, Task
from tasks.operations import operation_label
from tasks.selectors import runs_of, task_get, tasks_list
from tasks.services import task_acknowledge, task_cancel
from tasks.states import RunState, TaskStatus

_RUN_FIELDS = [
    *["id", "state", "executor", "attempt", "attempts", "results", "progress_done", "progress_total"],
    *["queued_at", "started_at", "finished_at", "message"],
]
_TASK_FIELDS = [
    *["id", "type", "code", "information", "description", "status", "message", "rack_id", "rack_name"],
    *["schedule_id", "schedule_name", "executor_type", "attributes", "idempotency_key"],
    *["progress_done", "progress_total", "created_at", "updated_at", "started_at", "finished_at", "queue_expires_at"],
]


class Command(FlowCommand):
    """Tasks are named by id, or by the first digits of one (4 at least) where only one begins so."""

    help = "List, show, cancel and acknowledge tasks."

    def add_arguments(self, parser: CommandParser) -> None:
        """One subparser a verb."""
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="list|show|cancel|acknowledge")
        listing = verbs.add_parser("list", help="tasks, newest first")
        listing.add_argument("--rack", help="name or id of a rack")
        listing.add_argument("--schedule", help="name or id of a schedule")
        listing.add_argument("--status", action="append", default=[], choices=list(TaskStatus), help="may be repeated")
        listing.add_argument("--active", action="store_true", help="waiting, pending and running only")
        listing.add_argument("--limit", type=int, default=50)
        listing.add_argument("--offset", type=int, default=0)
        show = verbs.add_parser("show", help="one task with its run and attempts")
        cancel = verbs.add_parser("cancel", help="end a task; a running one stops before its next step")
        acknowledge = verbs.add_parser("acknowledge", help="say how a task with an unknown outcome ended")
        acknowledge.add_argument("--as", dest="as_", required=True, choices=["completed", "failed"])
        acknowledge.add_argument("--note", default="", help="how you know")
        for parser_ in (show, cancel, acknowledge):
            parser_.add_argument("id", help="the task's id, or its first digits")
        for parser_ in (listing, show, cancel, acknowledge):
            super().add_arguments(parser_)

    def run(self, **options: Any) -> int | None:
        """Call the verb."""
        match options["verb"]:
            case "list":
                self._list(options)
            case "show":
                self._show(task_get(options["id"]), as_json=options["json"])
            case "cancel":
                task = task_cancel(task_id=task_get(options["id"]).id, by=Actor.cli(), now=clock.now())
                self._changed(task, as_json=options["json"])
            case _:
                task = task_acknowledge(
                    task_id=task_get(options["id"]).id,
                    as_=options["as_"],
                    by=Actor.cli(),
                    now=clock.now(),
                    note=options["note"],
                )
                self._changed(task, as_json=options["json"])
        return None

    def _list(self, options: dict[str, Any]) -> None:
        offset = options["offset"]
        rows, total = tasks_list(
            rack=options["rack"],
            schedule=options["schedule"],
            statuses=options["status"],
            active=options["active"],
            limit=options["limit"],
            offset=offset,
        )
        hold = hold_current()
        if options["json"]:
            tasks = [_plain(task, _TASK_FIELDS) for task in rows]
            self.print_json({"held": hold_json(hold), "total": total, "offset": offset, "tasks": tasks})
            return
        if hold:
            self.stdout.write(hold_line(hold))
        self.print_table(
            ["id", "rack", "operation", "schedule", "status", "created", "message"],
            [[str(t.id)[:8], t.rack_name, _label(t), t.schedule_name, t.status, t.created_at, t.message] for t in rows],
            empty="no tasks" if not total else f"no tasks at offset {offset}; there are {total}",
        )
        left = total - offset - len(rows)
        if rows and left > 0:
            self.stdout.write(f"{left} more: --offset {offset + len(rows)}")

    def _show(self, task: Task, *, as_json: bool) -> None:
        runs = runs_of(task.id)
        if as_json:
            self.print_json(_plain(task, _TASK_FIELDS) | {"runs": [_plain(run, _RUN_FIELDS) for run in runs]})
            return
        components = {name: len(ids) for name, ids in task.attributes.get("components_by_type", {}).items()}
        self.print_table(
            ["task", ""],
            [
                ["id", task.id],
                ["operation", _label(task)],
                ["status", task.status],
                ["message", task.message],
                ["rack", task.rack_name],
                ["components", ", ".join(f"{count} {name}" for name, count in sorted(components.items()))],
                ["schedule", task.schedule_name],
                ["description", task.description],
                ["executor", task.executor_type],
                ["progress", f"{task.progress_done} of {task.progress_total}" if task.progress_total else None],
                ["created", task.created_at],
                ["waits until", task.queue_expires_at],
                ["started", task.started_at],
                ["finished", task.finished_at],
            ],
            empty="",
        )
        for run in runs:
            self._show_run(run)

    def _show_run(self, run: Run) -> None:
        self.stdout.write("")
        self.print_table(
            ["run", ""],
            [
                ["id", run.id],
                ["state", run.state],
                ["message", run.message],
                ["executor", run.executor],
                ["attempt", run.attempt],
                ["worker", run.lease_owner],
                ["cancel requested", run.cancel_requested_at],
                ["queued", run.queued_at],
                ["started", run.started_at],
                ["finished", run.finished_at],
            ],
            empty="",
        )
        attempts = [entry for entry in run.attempts if isinstance(entry, dict)]
        columns = list(dict.fromkeys(key for entry in attempts for key in entry))
        self.stdout.write("")
        self.print_table(columns, [[entry.get(c) for c in columns] for entry in attempts], empty="no attempt recorded")
        if run.state == RunState.UNKNOWN:
            self.stdout.write(
                f"outcome unknown: manage.py task acknowledge {str(run.task_id)[:8]} --as completed|failed"
            )

    def _changed(self, task: Task, *, as_json: bool) -> None:
        if as_json:
            self.print_json(_plain(task, _TASK_FIELDS))
        else:
            self.stdout.write(f"task {task.id} is {task.status}: {task.message}")


def _label(task: Task) -> str:
    return operation_label(task.type, task.code, task.information)


def _plain(row: Task | Run, fields: list[str]) -> dict[str, Any]:
    return {field: getattr(row, field) for field in fields}
