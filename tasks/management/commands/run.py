"""`manage.py run`: look at runs, each an execution of a task, and cancel one."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from flowsched import clock
from flowsched.actor import Actor
from flowsched.cli import FlowCommand
from tasks.answers import RunOut
from tasks.history.reading import run_read, runs_read
from tasks.models import Run
from tasks.operations import operation_label
from tasks.selectors import run_get, task_get
from tasks.services import task_cancel
from tasks.states import RunState

_COLUMNS = ["id", "started", "schedule", "rack", "operation", "state", "attempt", "ms", "http", "message"]


class Command(FlowCommand):
    """Runs are named by id, or by the first digits of one (4 at least) where only one begins so."""

    help = "List, show and cancel runs."

    def add_arguments(self, parser: CommandParser) -> None:
        """One subparser a verb."""
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="list|show|cancel")
        listing = verbs.add_parser("list", help="runs, newest first; those under way are among them")
        listing.add_argument("--state", action="append", default=[], choices=list(RunState), help="may be repeated")
        listing.add_argument("--schedule", help="name or id of a schedule, existing or deleted")
        listing.add_argument("--task", metavar="ID", help="a task's id, or its first digits")
        listing.add_argument("--limit", type=int, default=50)
        listing.add_argument("--offset", type=int, default=0)
        show = verbs.add_parser("show", help="one run; of an HTTP call, who called what and what came back")
        cancel = verbs.add_parser("cancel", help="end a run that has not ended, and its task")
        for parser_ in (show, cancel):
            parser_.add_argument("id", help="the run's id, or its first digits")
        for parser_ in (listing, show, cancel):
            super().add_arguments(parser_)

    def run(self, **options: Any) -> int | None:
        """Call the verb."""
        if options["verb"] == "list":
            self._list(options)
            return None
        if options["verb"] == "show":
            self._show(run_read(options["id"]), as_json=options["json"])
            return None
        run = run_get(options["id"])
        task_cancel(task_id=run.task_id, run_id=run.id, by=Actor.cli(), now=clock.now())
        run = run_get(run.id)
        if options["json"]:
            self.print_json(RunOut(run).data)
        else:
            asked = "; its worker has been told" if run.state == RunState.RUNNING else ""
            self.stdout.write(f"run {run.id} is {run.state}{asked}")
        return None

    def _list(self, options: dict[str, Any]) -> None:
        offset = options["offset"]
        page = runs_read(
            states=options["state"],
            schedule=options["schedule"],
            task_id=task_get(options["task"]).id if options["task"] else None,
            limit=options["limit"],
            offset=offset,
        )
        rows, total = page.runs, page.total
        shown = RunOut(rows, many=True).data
        if options["json"]:
            self.print_json({"total": total, "offset": offset, "older": page.older, "note": page.note, "runs": shown})
            return
        self.print_table(
            _COLUMNS,
            [_row(run, told) for run, told in zip(rows, shown, strict=True)],
            empty="no runs" if not total else f"no runs at offset {offset}; there are {total}",
        )
        left = total - offset - len(rows)
        if rows and left > 0:
            self.stdout.write(f"{left} more: --offset {offset + len(rows)}")
        if page.note:
            self.stdout.write(page.note)

    def _show(self, run: Run, *, as_json: bool) -> None:
        told = RunOut(run).data
        if as_json:
            self.print_json(told)
            return
        facts: list[list[Any]] = [
            ["id", run.id], ["state", run.state], ["message", run.message], ["task", run.task_id],
            ["operation", _operation(run)], ["schedule", run.task.schedule_name], ["rack", run.task.rack_name],
            ["executor", run.executor], ["attempt", run.attempt], ["cancel requested", run.cancel_requested_at],
            ["queued", run.queued_at], ["started", run.started_at], ["finished", run.finished_at],
            ["took (ms)", told["duration_ms"]],
        ]  # fmt: skip
        call = [[name.replace("_", " "), value or None] for name, value in (told["call"] or {}).items()]
        self.print_table(["run", ""], [*facts, *call], empty="")


def _row(run: Run, told: dict[str, Any]) -> list[Any]:
    status = (told["call"] or {}).get("http_status") or None
    return [
        str(run.id)[:8], run.started_at, run.task.schedule_name, run.task.rack_name, _operation(run), run.state,
        run.attempt, told["duration_ms"], status, run.message,
    ]  # fmt: skip


def _operation(run: Run) -> str:
    return operation_label(run.task.type, run.task.code, run.task.information)
