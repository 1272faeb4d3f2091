"""`python -m tests.mutants`: switch the product's guards off one at a time, and see that a test turns red each time.

Tests that stay green without the guard they are there for prove nothing. Each mutant is a text replaced in a copy of
the source tree, or a statement run in its test database, so that nothing in the product itself can be weakened. A
text that is not found ends the run: the list below has to follow the code.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UNWANTED = (".git", ".venv", "var", "__pycache__", ".*_cache", ".env", "*.pyc")
RED = 1  # pytest: tests were collected and run, and some failed
OPTIONS = ("-q", "-x", "-p", "no:randomly", "-p", "no:cacheprovider", "--reuse-db")
TIMEOUT = 300

CLAIM = "tests/dispatcher/test_claim.py"
RECOVER = "tests/dispatcher/test_recover.py"
RACES = "tests/faults/test_races.py"
ADMISSION = "tests/tasks/admission/test_races.py"
RESCUE = "tests/tasks_runs/test_rescue.py"
HOSTILE = "tests/http/test_hostile.py"
OUTBOX = "tests/history/test_outbox.py"
SERVERS = "tests/http_servers"


@dataclass(frozen=True)
class Mutant:
    """One guard switched off: texts of one file replaced, or a statement in the database; and who must notice."""

    name: str
    tests: tuple[str, ...]
    file: str = ""
    changes: tuple[tuple[str, str], ...] = ()
    sql: str = ""


MUTANTS = (
    Mutant(
        "the key that keeps runs in the outbox",
        (f"{OUTBOX}::test_the_database_itself_refuses_to_lose_what_waits",),
        sql="ALTER TABLE run_export DROP CONSTRAINT run_export_run",
    ),
    Mutant(
        "the outbox's say in what retention deletes",
        (f"{OUTBOX}::test_retention_leaves_what_waits_to_be_exported",),
        "tasks/retention.py",
        ((" AND NOT {KEPT}", ""),),
    ),
    Mutant(
        "the index firing_tick_once",
        (f"{CLAIM}::test_the_database_itself_allows_a_tick_one_firing",),
        sql="DROP INDEX firing_tick_once",
    ),
    Mutant(
        "the `pending` guard of a chunk",
        tuple(
            f"{RACES}::test_after_a_withdrawing_verb_returned_no_task_of_an_older_tick_appears[{verb}-submit.after_read]"
            for verb in ("pause", "delete", "remove")
        ),
        "dispatcher/submit.py",
        (
            (
                " WHERE fs.id = ANY(%s) AND fs.state = 'pending' AND f.lease_token = %s\n",
                " WHERE fs.id = ANY(%s) AND f.lease_token = %s\n",
            ),
        ),
    ),
    Mutant(
        "the lease token of a submission",
        (f"{RECOVER}::test_the_sleeper_writes_nothing_after_a_takeover",),
        "dispatcher/submit.py",
        (
            (
                " WHERE fs.firing_id = ANY(%s) AND fs.state = 'pending' AND f.lease_token = %s\n",
                " WHERE fs.firing_id = ANY(%s) AND fs.state = 'pending' AND %s IS NOT NULL\n",
            ),
            (
                " WHERE fs.id = ANY(%s) AND fs.state = 'pending' AND f.lease_token = %s\n",
                " WHERE fs.id = ANY(%s) AND fs.state = 'pending' AND %s IS NOT NULL\n",
            ),
        ),
    ),
    Mutant(
        "the lease token of a write-back",
        (f"{RECOVER}::test_the_sleeper_writes_nothing_after_a_takeover",),
        "dispatcher/writeback.py",
        (("f.lease_token = %s AND f.closed_at IS NULL", "%s IS NOT NULL AND f.closed_at IS NULL"),),
    ),
    Mutant(
        "the rack lock",
        (
            f"{ADMISSION}::test_of_many_submissions_for_a_rack_one_wins",
            f"{ADMISSION}::test_a_held_rack_is_skipped_and_the_others_go_on",
        ),
        "tasks/lanes.py",
        (
            ('ORDER BY id FOR NO KEY UPDATE"', 'ORDER BY id"'),
            ('_LOCK + (" SKIP LOCKED" if skip_locked else "")', "_LOCK"),
        ),
    ),
    Mutant(
        "the overlap check of open firings",
        (f"{CLAIM}::test_an_open_firing_counts_as_overlap",),
        "dispatcher/planning.py",
        (("elif scope.scope_id in busy:", "elif False:"),),
    ),
    Mutant(
        "the run token of the next side effect",
        (f"{RESCUE}::test_the_sleeper_s_writes_match_nothing_after_a_rescue",),
        "tasks/runs.py",
        (
            (
                "WHERE id = %(run)s AND lease_token = %(token)s AND state = 'running'\nRETURNING",
                "WHERE id = %(run)s AND %(token)s IS NOT NULL AND state = 'running'\nRETURNING",
            ),
        ),
    ),
    Mutant(
        "the run token of the end",
        (f"{RESCUE}::test_the_sleeper_s_writes_match_nothing_after_a_rescue",),
        "tasks/runs.py",
        (("AND lease_token IS NOT DISTINCT FROM %(token)s::uuid", "AND (%(token)s::uuid IS NOT NULL OR TRUE)"),),
    ),
    Mutant(
        "the passing over of held schedules",
        (f"{CLAIM}::test_a_held_schedule_is_skipped_not_waited_for",),
        "dispatcher/claim.py",
        (("select_for_update(skip_locked=True, no_key=True)", "select_for_update(no_key=True)"),),
    ),
    Mutant(
        "the takeover of one at a time",
        (f"{RECOVER}::test_what_was_taken_over_before_is_taken_over_alone",),
        "dispatcher/recover.py",
        (
            (
                "[[firing_id] for firing_id, before in found if before]",
                "[[firing_id for firing_id, before in found if before]]",
            ),
        ),
    ),
    Mutant(
        "the check of a rendered value",
        (f"{HOSTILE}::test_refused_when_a_rack_brings_it",),
        "tasks/http/request.py",
        (("    check(text, field=field)\n", ""),),
    ),
    Mutant(
        "the doubt about a call that may have been carried out",
        ("tests/http/test_outcome.py::test_i50_d26_no_answer",),
        "tasks/http/outcome.py",
        (
            (
                '    if sent and not idempotent:\n        return _unknown("timeout"',
                '    if False:\n        return _unknown("timeout"',
            ),
        ),
    ),
    Mutant(
        "the search for a secret that the end of a text cuts",
        ("tests/http/test_scrub.py::test_a_body_cut_off_by_the_transport_at_each_byte",),
        "tasks/http/scrub.py",
        (("least=1 if cut else MIN_KNOWN", "least=MIN_KNOWN"),),
    ),
    Mutant(
        "the comparison of what httpx is about to send",
        (f"{SERVERS}/test_way.py::test_another_scheme_host_or_port_is_not",),
        "tasks/http/way.py",
        (("if going != (self._url.scheme, self._url.host, self._url.port, self._url.authority):", "if False:"),),
    ),
    Mutant(
        "the rules for addresses at the connection",
        (f"{SERVERS}/test_transport.py::test_a_name_that_leads_to_metadata_or_to_this_machine_is_refused[127.0.0.1]",),
        "tasks/http/network.py",
        (("if reason := addresses.refusal(address", "if reason := (lambda *_, **__: '')(address"),),
    ),
    Mutant(
        "the doubt from before the first byte",
        (f"{SERVERS}/test_cancel.py::test_sent_is_said_before_the_first_byte_leaves",),
        "tasks/http/transport.py",
        (('event.endswith("send_request_headers.started")', 'event.endswith("send_request_headers.complete")'),),
    ),
    Mutant(
        "the wait for a token that is being fetched",
        (f"{SERVERS}/test_identity.py::test_twenty_threads_fetch_one_token",),
        "tasks/http/identity.py",
        (
            ("            del self._flights[whose]\n", ""),
            ("            if flight is None:\n", "            if True:\n"),
        ),
    ),
)


def main() -> int:
    """Run all; the exit code is 1 if a mutant lived, or if the tests are not green without one."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    import django  # noqa: PLC0415 - settings first

    django.setup()
    from tests.faults.pgbox import Box  # noqa: PLC0415 - needs Django

    began = time.monotonic()
    box, folder = Box(), Path(tempfile.mkdtemp(prefix="flowsched mutants ", dir="/tmp"))
    try:
        box.start()
        tests = tuple(dict.fromkeys(test for mutant in MUTANTS for test in mutant.tests))
        todo = [Mutant("nothing", tests), *MUTANTS]
        names = [f"mutant_{number}" for number in range(len(todo))]
        urls = [database_of(box, name, mutant) for name, mutant in zip(names, todo, strict=True)]
        with ThreadPoolExecutor(max(2, os.cpu_count() or 2)) as pool:
            trees = [folder / name for name in names]
            answers = list(pool.map(lambda job: judge(*job), zip(trees, todo, urls, strict=True)))
    finally:
        box.remove()
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{len(MUTANTS)} mutants in {time.monotonic() - began:.0f} s")  # noqa: T201
    return 0 if all(answers) else 1


def database_of(box, name: str, mutant: Mutant) -> str:
    """A migrated database that pytest takes for its own, with the mutant's statement run; its URL without `test_`."""
    from flowsched.postgres import server  # noqa: PLC0415 - needs Django
    from tests.faults.harness import database_url  # noqa: PLC0415
    from tests.faults.pgbox import pointed_at  # noqa: PLC0415

    box.database(f"test_{name}")
    if mutant.sql:
        with server.connect(box.cluster, f"test_{name}") as connection:
            connection.execute(mutant.sql)
    with pointed_at(box.cluster, name):
        return database_url()


def judge(tree: Path, mutant: Mutant, url: str) -> bool:
    """Copy, mutate, test; whether it went as it has to: green without a change, red with one."""
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*UNWANTED))
    if mutant.file:
        mutate(tree / mutant.file, mutant)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *OPTIONS, *mutant.tests],
        cwd=tree,
        env={k: v for k, v in os.environ.items() if not k.startswith(("FLOWSCHED_", "PYTEST"))}
        | {"DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "tests.settings"},
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    unchanged = not (mutant.file or mutant.sql)
    right = done.returncode == (0 if unchanged else RED) and " error" not in done.stdout.splitlines()[-1]
    verdict = ("green" if right else "NOT GREEN") if unchanged else ("red" if right else "NOT NOTICED")
    why = next((line[1:].strip()[:100] for line in done.stdout.splitlines() if line.startswith("E ")), "")
    print(f"without {mutant.name}: {verdict}{f' ({why})' if why else ''}", flush=True)  # noqa: T201
    if not right:
        print(done.stdout[-5000:], done.stderr[-2000:])  # noqa: T201
    return right


def mutate(path: Path, mutant: Mutant) -> None:
    """Replace the texts. Raises if one is not there exactly once: then the list is out of step with the code."""
    text = path.read_text(encoding="utf-8")
    for old, new in mutant.changes:
        if text.count(old) != 1:
            raise SystemExit(f"{mutant.name}: {text.count(old)} times in {mutant.file}, must be once: {old!r}")
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
