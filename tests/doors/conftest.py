"""The doors of a run: started once, open between tests; callers with a role each; and no fault that goes unseen."""

from __future__ import annotations

import threading

import pytest
from django.contrib.auth.models import User
from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
from django.test import TransactionTestCase

from access.services import token_create, user_create
from flowsched import clock
from flowsched.actor import SYSTEM
from flowsched.wsgi import application
from tests.doors.restclient import Rest
from tests.doors.servers import Doors
from tests.doors.world import import_example, truncate

ROLES = ("viewer", "operator", "planner", "inventory")


@pytest.fixture(scope="session")
def open_doors(django_db_setup, django_db_blocker, tmp_path_factory):
    """Both processes; they end before the test's database does."""
    one = Doors(tmp_path_factory.mktemp("doors"))
    with django_db_blocker.unblock():
        try:
            one.start()
            yield one
        finally:
            one.stop()


@pytest.fixture
def emptied_quickly(monkeypatch):
    """Django empties a database and makes permissions and content types anew, most of a second a test; they stay."""
    monkeypatch.setattr(TransactionTestCase, "_fixture_teardown", lambda case: truncate(everything=True))


@pytest.fixture
def database(emptied_quickly, transactional_db):
    """The test's database, committed to by everybody, and emptied afterwards."""


@pytest.fixture
def doors(open_doors, database, request):
    """Both doors, and what they logged when the test fails. A traceback in the log fails the test that caused it."""
    open_doors.new_lines()
    open_doors.fault_expected = False
    yield open_doors
    open_doors.hang_up()
    said = open_doors.new_lines()
    request.node.add_report_section("teardown", "doors", said[-8000:])
    if not open_doors.fault_expected:
        assert "Traceback" not in said, f"a door met what it does not know:\n{said[-4000:]}"


@pytest.fixture
def web(database):
    """Clients of a REST door in this process, whose settings and statements a test can get at."""
    clients = []
    with ThreadedWSGIServer(("127.0.0.1", 0), Quiet) as server:
        server.set_app(application)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()

        def connect(token):
            clients.append(Rest(server.server_port, token))
            return clients[-1]

        yield connect
        for client in clients:
            client.close()
        server.shutdown()
        thread.join()


class Quiet(WSGIRequestHandler):
    """Logs no requests."""

    def log_message(self, *words):
        pass


@pytest.fixture
def people(database):
    """Role -> token; `superuser` may do everything."""
    return make_people()


@pytest.fixture
def flow(doors, people, tmp_path):
    """A client of the wire who may do everything; the example rack is there."""
    import_example(tmp_path)
    return doors.grpc(people["superuser"])


def make_people() -> dict[str, str]:
    now = clock.now()
    User.objects.create_superuser("superuser", password=None)
    for role in ROLES:
        user_create(username=role, roles=[role], by=SYSTEM, now=now)
    names = ("superuser", *ROLES)
    return {name: token_create(username=name, life=None, by=SYSTEM, now=now)[1] for name in names}
