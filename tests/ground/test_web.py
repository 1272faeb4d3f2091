"""The web doors as deployed: production settings, gunicorn, static files, HTTPS behind a proxy, drain, a taken port."""

from __future__ import annotations

import http.client
import json
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing

import pytest

from flowsched.bind import Bind, answers, settled
from flowsched.errors import InvalidInput
from tests.dispatcher.helpers import row_held
from tests.faults.harness import ROOT, database_url, wait_for
from tests.rest.helpers import make_token, make_user
from tests.tasks.admission.helpers import make_rack, wait_for_blocked
from tests.tasks_runs.helpers import make_task

HTTPS = {"X-Forwarded-Proto": "https"}


def production(folder, **more):
    """A deployment's environment."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("FLOWSCHED_", "DJANGO_"))}
    return plain | {
        "FLOWSCHED_SECRET_KEY": secrets.token_urlsafe(48),
        "FLOWSCHED_EXECUTOR": "simulated",
        "FLOWSCHED_ALLOWED_HOSTS": "flows.example",
        "FLOWSCHED_TRUSTED_ORIGINS": "https://flows.example",
        "FLOWSCHED_DATA_DIR": str(folder),
        "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none",
        **more,
    }


def manage(*words, env):
    done = subprocess.run(
        [sys.executable, "-W", "error", "manage.py", *words], cwd=ROOT, env=env, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def test_a_deployment_passes_djangos_own_checks(tmp_path):
    """TH-16: `check --deploy` has nothing to warn of; what production adds is what makes it so."""
    code, said = manage("check", "--deploy", "--fail-level", "WARNING", env=production(tmp_path))
    assert code == 0, said
    open_env = production(tmp_path, FLOWSCHED_HTTPS="0")
    code, said = manage("check", "--deploy", "--fail-level", "WARNING", env=open_env)
    assert code == 1
    assert {"W004", "W008", "W012", "W016"} <= set(re.findall(r"security\.(W\d+)", said))


@pytest.mark.parametrize("name", ["FLOWSCHED_TESTING", "FLOWSCHED_FAULTS"])
def test_a_deployment_has_no_fault_points(tmp_path, name):
    """TH-30: test mode with a key is refused; the points themselves do nothing outside of it."""
    env = production(tmp_path, **{name: "1" if name == "FLOWSCHED_TESTING" else "verb.before_commit:kill9@1"})
    code, said = manage("check", env=env)
    assert (code != 0) is (name == "FLOWSCHED_TESTING"), said


class Web:
    """A running `manage.py serve_web`."""

    def __init__(self, env, folder):
        self.log = folder / "web.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "serve_web"], cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=log,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        wait_for(lambda: self.said.count("Booting worker") >= 1 and self.port, 60, "the door listens")

    @property
    def said(self):
        return self.log.read_text()

    @property
    def port(self):
        found = re.search(r"Listening at: http://127\.0\.0\.1:(\d+)", self.said)
        return int(found[1]) if found else 0

    def call(self, method, path, body=None, **headers):
        """One request; the response, read."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)) as connection:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, {"Host": "flows.example", **named})
            response = connection.getresponse()
            response.text = response.read().decode(errors="replace")
            return response

    def raw(self, data):
        """The answer to bytes that need not be HTTP."""
        with closing(socket.create_connection(("127.0.0.1", self.port), timeout=30)) as connection:
            connection.sendall(data)
            answer = b""
            while part := connection.recv(65536):
                answer += part
            return answer.decode("latin1")

    def stop(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@pytest.fixture
def serve(tmp_path, request):
    """Starts the web doors of a deployment, on the test's database where the test has one."""
    started = []

    def start(**more):
        if request.node.get_closest_marker("django_db"):
            more.setdefault("DATABASE_URL", database_url())
        env = production(tmp_path, FLOWSCHED_WEB_BIND="127.0.0.1:0", **more)
        started.append(Web(env, tmp_path))
        return started[-1], env

    yield start
    for web in started:
        web.stop()


@pytest.mark.process
def test_pages_and_their_files_over_https_behind_a_proxy(serve, tmp_path):
    """Static files come from where collectstatic put them; plain requests are turned away, a token with them."""
    code, said = manage("collectstatic", "--no-input", "--verbosity", "0", env=production(tmp_path))
    assert code == 0, said
    web, _ = serve()
    page = web.call("GET", "/api/v1/docs/", **HTTPS)
    assert page.status == 200
    assert page.getheader("Strict-Transport-Security") == "max-age=2592000"
    assert page.getheader("X-Frame-Options") == "DENY"
    assert page.getheader("X-Content-Type-Options") == "nosniff"
    assert "secure" in (page.getheader("Set-Cookie") or "secure").lower()
    files = re.findall(r'(?:src|href)="(/static/[^"]+)"', page.text)
    assert len(files) == 3
    for name in files:
        assert web.call("GET", name, **HTTPS).status == 200
    assert web.call("GET", "/static/../settings.py", **HTTPS).status == 404

    plain = web.call("GET", "/api/v1/me/", Authorization="Bearer fs_x")
    assert (plain.status, json.loads(plain.text)["type"]) == (403, "urn:flowsched:problem:https_required")
    assert web.call("GET", "/static/x").status in {301, 404}
    stranger = web.call("GET", "/api/v1/me/", Host="evil.example", **HTTPS)
    assert (stranger.status, stranger.getheader("Content-Type")) == (400, "application/problem+json")
    assert "evil.example" in web.said, "the log says whose"
    assert "Traceback" not in web.said


@pytest.mark.process
def test_who_may_say_https_is_named(serve):
    web, _ = serve(FLOWSCHED_WEB_TRUSTED_PROXIES="10.1.2.3")
    assert json.loads(web.call("GET", "/api/v1/me/", **HTTPS).text)["type"].endswith("https_required")


@pytest.mark.process
def test_a_database_that_is_away_is_503_and_the_door_stays_open(serve):
    """A token cannot be looked up: come back; without one nothing is looked up."""
    web, _ = serve()
    away = web.call("GET", "/api/v1/me/", Authorization="Bearer fs_" + "0" * 64, **HTTPS)
    assert away.status == 503, away.text
    assert away.getheader("Retry-After")
    assert "127.0.0.1" not in away.text
    assert web.call("GET", "/api/v1/me/", **HTTPS).status == 401


@pytest.mark.process
@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET /api/v1/me/ HTTP/1.1\r\nHost: flows.example\r\nX: " + b"x" * 9000 + b"\r\n\r\n", 431),
        (b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\nHost: flows.example\r\n\r\n", 414),
        (b"GET /api/v1/me/ HTTP/1.1\r\nHost: flows.example\r\nBad Header: 1\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    ],
)  # fmt: skip
def test_what_the_server_refuses_itself_is_json_too(serve, sent, status):
    web, _ = serve(FLOWSCHED_WEB_WORKERS="1")
    head, _, body = web.raw(sent).partition("\r\n\r\n")
    assert head.split()[1] == str(status), head
    assert "Content-Type: application/problem+json" in head
    assert json.loads(body)["status"] == status


@pytest.mark.process
@pytest.mark.django_db(transaction=True)
def test_a_request_in_hand_is_answered_before_the_door_closes(serve):
    """SIGTERM drains: what waits for a lock gets its answer, then the process ends with 0."""
    task = make_task(make_rack(), job=False)
    token = make_token(make_user("operator"))
    web, _ = serve(FLOWSCHED_LOCK_TIMEOUT="2", FLOWSCHED_WEB_ACCESS_LOG="1")
    headers = {"Host": "flows.example", "Authorization": f"Bearer {token}", **HTTPS}
    with row_held("SELECT 1 FROM rack WHERE id = %s", task.rack_id) as other:
        other.execute("SET idle_in_transaction_session_timeout = 0")
        with closing(http.client.HTTPConnection("127.0.0.1", web.port, timeout=30)) as connection:
            connection.request("POST", f"/api/v1/tasks/{task.id}/cancel/", headers=headers)
            wait_for_blocked()
            web.process.send_signal(signal.SIGTERM)
            response = connection.getresponse()
            assert response.status == 503
            response.read()
    assert web.process.wait(30) == 0
    assert re.search(r"gunicorn\.access: 127\.0\.0\.1 POST /api/v1/tasks/\S+/cancel/ 503 ", web.said)
    assert token not in web.said


@pytest.mark.process
def test_status_and_a_taken_port(serve):
    web, env = serve(FLOWSCHED_WEB_WORKERS="1")
    env |= {"FLOWSCHED_WEB_BIND": f"127.0.0.1:{web.port}"}
    assert manage("serve_web", "--status", env=env) == (0, f"http://127.0.0.1:{web.port}/ answers\n")
    began = time.monotonic()
    code, said = manage("serve_web", env=env)
    assert code == 1
    assert f"127.0.0.1:{web.port} is taken by another process" in said
    assert "FLOWSCHED_WEB_BIND" in said
    assert time.monotonic() - began < 20, "no attempts one after the other"
    web.stop()
    assert manage("serve_web", "--status", env=env) == (1, f"http://127.0.0.1:{web.port}/ does not answer\n")


@pytest.mark.parametrize(
    ("text", "shown", "url"),
    [
        ("127.0.0.1:8000", "127.0.0.1:8000", "http://127.0.0.1:8000/"),
        ("flows.example:80", "flows.example:80", "http://flows.example:80/"),
        ("[::1]:8000", "[::1]:8000", "http://[::1]:8000/"),
        ("0.0.0.0:8000", "0.0.0.0:8000", "http://localhost:8000/"),
        ("unix:/run/web.sock", "unix:/run/web.sock", "unix:/run/web.sock"),
    ],
)
def test_addresses(text, shown, url):
    bind = Bind.parse(text)
    assert (str(bind), bind.url) == (shown, url)
    assert settled(bind) == bind


@pytest.mark.parametrize(
    "text", ["", "8000", ":8000", "127.0.0.1", "a:70000", "a:x", "unix:", "a b:1", "[::1]", "http://a:1"]
)
def test_what_is_no_address(text):
    with pytest.raises(InvalidInput, match="host:port"):
        Bind.parse(text)


def test_port_nought_is_settled_once():
    one = settled(Bind.parse("127.0.0.1:0"))
    assert one.port > 0
    assert not answers(one)
