"""D-27 against ClickHouse's engine: at least once, nothing missing, nothing doubled in the final view."""

from __future__ import annotations

import io
import signal
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import pytest
from django.core.management import call_command

from flowsched import clock, db
from flowsched.address import Address
from tasks import chores
from tasks.history import outbox
from tasks.history.clickhouse import connect
from tasks.history.outbox import Exporter, alone, outbox_fill
from tasks.history.reader import records_by_ids
from tasks.history.records import record_of
from tasks.history.table import table_init
from tasks.models import Run, RunExport, Task
from tasks.runs import run_finish
from tasks.states import RunState
from tests.faults.harness import Product, wait_for
from tests.history.conftest import PASSWORD, StandIn
from tests.history.helpers import final, stored, written
from tests.tasks_runs.helpers import begin, make_rack, make_task

PATIENCE = 120  # seconds until a test gives up; nothing is asserted about time


def command(*words: str, name: str = "export_history") -> tuple[int, str]:
    out, code = io.StringIO(), 0
    try:
        call_command(name, *words, stdout=out, stderr=out)
    except SystemExit as stop:
        code = stop.code
    return code, out.getvalue()


# The table --------------------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_init_says_what_it_made_and_may_be_repeated(server, settings):
    settings.FLOWSCHED_CLICKHOUSE_URL = address = server.address()
    code, said = command(name="clickhouse_init")
    assert code == 0
    assert said == f"database {address.database}: created\ntable scheduler_runs at {address}: created\n"
    assert PASSWORD not in said
    assert command(name="clickhouse_init") == (0, f"table scheduler_runs at {address}: is there\n")
    client = connect(address, seconds=30)
    [row] = client.query(
        "SELECT engine, partition_key, sorting_key FROM system.tables WHERE name = 'scheduler_runs'"
        " AND database = currentDatabase()"
    ).result_rows
    assert row == ("ReplacingMergeTree", "toYYYYMM(queued_at)", "schedule_id, queued_at, run_id")
    types = dict(client.query("SELECT name, type FROM system.columns WHERE database = currentDatabase()").result_rows)
    assert {types[name] for name in ("fired_at", "started_at", "finished_at")} == {"DateTime64(6, 'UTC')"}


@pytest.mark.django_db
def test_init_adds_the_columns_a_later_release_needs(clickhouse):
    clickhouse.command("ALTER TABLE scheduler_runs DROP COLUMN trace_id")
    clickhouse.command("ALTER TABLE scheduler_runs DROP COLUMN http_status")
    assert "columns added: http_status, trace_id" in command(name="clickhouse_init")[1]
    assert final(clickhouse, "trace_id, http_status") == []


@pytest.mark.django_db
def test_a_table_in_which_doubles_would_stay_is_refused(server, settings):
    settings.FLOWSCHED_CLICKHOUSE_URL = address = server.address()
    client = connect(address, seconds=30, database=False)
    client.command(f"CREATE DATABASE {address.database}")
    client.command(f"CREATE TABLE {address.database}.scheduler_runs (run_id UUID) ENGINE = MergeTree ORDER BY run_id")
    code, said = command(name="clickhouse_init")
    assert code == 1
    assert "with the engine MergeTree" in said


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["clickhouse_init", "export_history"])
def test_without_an_address_the_commands_say_what_to_set(name):
    code, said = command(name=name)
    assert code == 1
    assert "FLOWSCHED_CLICKHOUSE_URL" in said


@pytest.mark.django_db
def test_without_its_table_and_with_a_wrong_password_the_log_says_what_helps(server, settings, caplog):
    settings.FLOWSCHED_CLICKHOUSE_URL = address = server.address()
    RunExport.objects.create(run=stored(clock.now()), written_at=clock.now())
    assert Exporter().run_once() == 0
    wrong = f"http://flows:{PASSWORD}-not@127.0.0.1:{server.port}/{address.database}"
    settings.FLOWSCHED_CLICKHOUSE_URL = Address.parse(wrong, name="X")
    assert Exporter().run_once() == 0
    first, second = [record.getMessage() for record in caplog.records]
    assert "run manage.py clickhouse_init" in first
    assert "does not let flows do this" in second
    assert PASSWORD not in caplog.text
    assert RunExport.objects.count() == 1


# Records ----------------------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_a_record_is_the_same_from_both_stores(clickhouse, settings):
    """I-54: of a call, of hardware, with a rack and without, to the microsecond."""
    at = datetime(2026, 3, 29, 1, 30, 0, 123456, tzinfo=UTC)
    facts = {"identity_kind": "delegated_user", "principal_name": "ada", "actor_name": "sa", "consent_id": "c-1"}
    facts |= {"endpoint": "inventory", "target_kind": "api", "target_summary": "GET /v1/x", "error_type": "http_503"}
    facts |= {"http_status": 503, "response_excerpt": "ö\t'\"\\N\\0 日本\U0001f600\r\n" * 300, "trace_id": "ab" * 16}
    runs = [
        stored(at, call=facts, state="failed", attempt=3),
        stored(at.replace(year=1971), schedule=make_rack().id, results={"x": {"name": "tray", "state": "changed"}}),
        stored(at, lasted=timedelta(seconds=-5)),  # a clock that went back
    ]
    handle = begin(make_task(make_rack()))
    run_finish(handle, state=RunState.SUCCEEDED, message="as said", now=clock.now(), done=3, total=3)
    outbox_fill()
    assert Exporter().run_once() == 5  # the last one twice
    ids = [run.id for run in runs] + [handle.run_id]
    here = {run.id: record_of(run) for run in Run.objects.select_related("task")}
    assert records_by_ids(settings.FLOWSCHED_CLICKHOUSE_URL, ids) == here
    assert here[runs[0].id].duration_ms == 59_000
    assert here[runs[2].id].duration_ms == 0
    assert here[handle.run_id].identity_kind == "none"


@pytest.mark.django_db
def test_a_run_that_is_written_again_replaces_itself(clickhouse):
    run = stored(clock.now())
    outbox_fill()
    Exporter().run_once()
    Run.objects.filter(id=run.id).update(state="failed")
    outbox_fill()
    Exporter().run_once()
    assert written(clickhouse) == 2
    assert final(clickhouse) == [(run.id, "failed")]
    clickhouse.command("OPTIMIZE TABLE scheduler_runs FINAL")
    assert written(clickhouse) == 1
    assert final(clickhouse) == [(run.id, "failed")]


@pytest.mark.django_db
def test_an_old_version_that_comes_late_does_not_win(clickhouse, settings):
    """Who died before deleting sends what was then: by its version, not by when it arrives."""
    run = stored(clock.now())
    outbox_fill()
    late = RunExport.objects.values("run_id", "written_at").get()
    Run.objects.filter(id=run.id).update(state="failed")
    outbox_fill()
    Exporter().run_once()
    Run.objects.filter(id=run.id).update(state="succeeded")
    RunExport.objects.create(**late)
    Exporter().run_once()
    assert written(clickhouse) == 2  # of two rows of a run in one batch it stores the later one
    assert final(clickhouse) == [(run.id, "failed")]
    [record] = records_by_ids(settings.FLOWSCHED_CLICKHOUSE_URL, [run.id]).values()
    assert record.state == "failed"


@pytest.mark.django_db
def test_history_of_a_schedule_and_a_run_by_id_read_no_whole_table(clickhouse, settings):
    """The key begins with the schedule; a run is found by its index."""
    clickhouse.command(
        "INSERT INTO scheduler_runs (run_id, schedule_id, queued_at, finished_at, version) SELECT generateUUIDv4(),"
        " toUUID(concat('00000000-0000-0000-0000-', leftPad(toString(number % 100 + 1), 12, '0'))),"
        " now64(6) - number, now64(6) - number, 1 FROM numbers(300000)"
    )
    [[run_id]] = clickhouse.query("SELECT run_id FROM scheduler_runs LIMIT 1 OFFSET 150000").result_rows

    def granules(sql: str) -> tuple[int, int]:
        """Those read at last, of all."""
        lines = [row[0].strip() for row in clickhouse.query(f"EXPLAIN indexes = 1 {sql}").result_rows]
        counts = [line.removeprefix("Granules: ").split("/") for line in lines if line.startswith("Granules: ")]
        return int(counts[-1][0]), int(counts[0][1])

    one = "toUUID('00000000-0000-0000-0000-000000000050')"
    read, of = granules(
        f"SELECT * FROM scheduler_runs FINAL WHERE schedule_id = {one} ORDER BY queued_at DESC LIMIT 50"
    )
    assert of > 30
    assert read <= 4
    read, of = granules(f"SELECT * FROM scheduler_runs WHERE run_id IN ('{run_id}')")
    assert of > 30
    assert read <= 6  # its own, and what a bloom filter takes for it


# At least once ----------------------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_one_exports_at_a_time(clickhouse):
    """D-27; the lock goes with the session of whoever has it."""
    stored(clock.now())
    outbox_fill()
    with db.separate_session() as other:
        other.execute("SELECT pg_advisory_lock(%s)", [outbox.ALONE])
        assert Exporter().run_once() == 0
        code, said = command()
        assert code == 1
        assert "1 runs wait" in said
        assert written(clickhouse) == 0
    wait_for(lambda: Exporter().run_once() == 1, 20, "the lock is free")
    with alone() as mine, db.separate_session() as other:
        assert mine
        assert other.execute("SELECT pg_try_advisory_lock(%s)", [outbox.ALONE]).fetchone() == (False,)


@pytest.mark.django_db
def test_batches_follow_one_another_and_are_bounded(clickhouse, monkeypatch):
    monkeypatch.setattr(outbox, "BATCH", 10)
    monkeypatch.setattr(outbox, "ROUNDS", 2)
    monkeypatch.setattr(outbox.outbox_send, "__kwdefaults__", {"limit": 10})
    now = clock.now()
    runs = [stored(now - timedelta(minutes=n)) for n in range(25)]
    outbox_fill()
    exporter = Exporter()
    assert [exporter.run_once() for _ in range(3)] == [20, 5, 0]
    assert len(final(clickhouse)) == written(clickhouse) == len(runs)


@pytest.mark.django_db
def test_with_clickhouse_configured_a_worker_exports(clickhouse):
    stored(clock.now())
    outbox_fill()
    assert {name: chore() for name, _seconds, chore in chores.schedule()}["export"] == 1


@pytest.mark.django_db
def test_the_runs_of_before_are_exported_by_one_command(clickhouse):
    run = stored(clock.now())
    assert command("--status") == (0, "no run waits\n")
    assert command("--all") == (0, "1 runs put into the outbox\n1 runs exported\n")
    assert final(clickhouse) == [(run.id, "succeeded")]


@pytest.fixture
def product(committed, tmp_path):
    processes = Product(tmp_path)
    yield processes
    processes.stop()


def variable(address: Address) -> str:
    return f"http://flows:{quote(PASSWORD)}@{address.host}:{address.port}/{address.database}"


@pytest.mark.process
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("point", "copies"), [("export.before_insert", 1), ("export.after_insert", 2)])
def test_killed_while_exporting_nothing_is_lost_and_nothing_doubled(clickhouse, settings, product, point, copies):
    now = clock.now()
    runs = [stored(now - timedelta(minutes=n)) for n in range(40)]
    outbox_fill()
    url = variable(settings.FLOWSCHED_CLICKHOUSE_URL)
    dead = product.start("export_history", faults=f"{point}:kill9@1", FLOWSCHED_CLICKHOUSE_URL=url)
    assert dead.wait(PATIENCE) == -signal.SIGKILL
    assert RunExport.objects.count() == 40
    alive = product.start("export_history", FLOWSCHED_CLICKHOUSE_URL=url)
    assert alive.wait(PATIENCE) == 0, product.logs()
    assert RunExport.objects.count() == 0
    assert written(clickhouse) == 40 * copies
    assert final(clickhouse) == sorted([(run.id, "succeeded") for run in runs], key=clickhouse_order)


def clickhouse_order(row: tuple) -> tuple:
    """It compares the halves of an id the other way round."""
    return (row[0].hex[16:], row[0].hex[:16])


@pytest.mark.process
@pytest.mark.django_db(transaction=True)
def test_away_for_the_whole_of_a_load_and_up_again(product, settings, tmp_path):
    """Must be true 6: nothing missing, nothing doubled in the final view, and the load was not held up."""
    standin = StandIn(tmp_path / "clickhouse")
    standin.start()
    settings.FLOWSCHED_CLICKHOUSE_URL = address = standin.address()
    table_init(connect(address, seconds=30, database=False), address)
    standin.kill()
    racks = [make_rack(1) for _ in range(30)]
    for _round in range(10):
        for rack in racks:
            make_task(rack, "power_on")
    worker = product.worker(FLOWSCHED_CLICKHOUSE_URL=variable(address), FLOWSCHED_SIMULATED_LATENCY="0.001")
    wait_for(lambda: not Task.objects.filter(finished_at=None).exists(), PATIENCE, "the load is done")
    assert RunExport.objects.count() == Run.objects.count() == 300
    assert product.said(worker).count("nothing is lost; trying again") == 1
    standin.start()
    try:
        wait_for(lambda: not RunExport.objects.exists(), PATIENCE, "the outbox is empty")
        client = connect(address, seconds=30)
        expected = sorted(Run.objects.values_list("id", "state"), key=clickhouse_order)
        assert final(client) == expected
        assert len(expected) == 300
        wait_for(lambda: "ClickHouse is back, 300 runs exported" in product.said(worker), PATIENCE, "it is told")
        assert PASSWORD not in product.said(worker)
        assert "Traceback" not in product.said(worker)
    finally:
        standin.kill()
