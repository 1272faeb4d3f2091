"""The whole product as a newcomer starts it: `up` on an empty folder, watched, stopped, and started again."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from tests.faults.harness import ROOT, wait_for

pytestmark = pytest.mark.process

SECONDS_TO_SHOW = 60
DOORS = {"FLOWSCHED_WEB_BIND": "127.0.0.1:0", "FLOWSCHED_GRPC_BIND": "127.0.0.1:0"}  # whatever port is free


class Installation:
    """One data folder with its embedded database and demonstration; nothing is shared with the test's database."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("FLOWSCHED_", "DATABASE_URL", "DJANGO_", "PYTEST_"))
        } | {"FLOWSCHED_DEBUG": "1", "FLOWSCHED_DATA_DIR": str(folder), **DOORS}
        self.starts = 0

    def up(self) -> subprocess.Popen[bytes]:
        self.starts += 1
        with self.log.open("wb") as log:
            return subprocess.Popen(
                [sys.executable, "manage.py", "up"], cwd=ROOT, env=self.environment, stdin=subprocess.DEVNULL,
                stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip

    @property
    def log(self) -> Path:
        return self.folder.parent / f"up-{self.starts}.log"

    def manage(self, *words: str) -> str:
        done = subprocess.run(
            [sys.executable, "manage.py", *words], cwd=ROOT, env=self.environment, capture_output=True, check=True
        )
        return done.stdout.decode()

    def scopes(self) -> list[dict[str, object]]:
        """Every scope of every firing, with its firing's schedule and due time."""
        firings = json.loads(self.manage("schedule", "history", "--limit", "500", "--json"))["firings"]
        return [scope | {"due_at": f["due_at"], "schedule": f["schedule"]} for f in firings for scope in f["scopes"]]


@pytest.fixture
def installation(tmp_path):
    one = Installation(tmp_path / "data folder")
    one.folder.mkdir()
    yield one
    subprocess.run(
        [sys.executable, "manage.py", "localdb", "stop"],
        cwd=ROOT,
        env=one.environment,
        capture_output=True,
        check=False,
    )


def rest_answers(installation: Installation) -> bool:
    """The API that `ready` names lists the schedules to whoever has a token; its page is there without one."""
    [page] = re.findall(r"^  API +(http://\S+/api/v1/docs/)$", installation.log.read_text(), re.MULTILINE)
    installation.manage("user", "add", "newcomer", "--role", "viewer")
    token = installation.manage("token", "create", "newcomer").strip()
    with urlopen(page) as answer:
        assert b"swagger-ui" in answer.read()
    asked = Request(page.replace("docs/", "schedules/"), headers={"Authorization": f"Bearer {token}"})
    with urlopen(asked) as answer:
        return json.loads(answer.read())["total"] > 0


def test_a_newcomer_watches_schedules_fire_and_nothing_is_lost_over_a_restart(installation):
    """Within a minute: completed tasks, skips with their reasons; Ctrl-C and up again fires nothing twice."""
    first = installation.up()
    try:
        wait_for(lambda: "\nready" in installation.log.read_text(), 90, "the line that says ready")
        assert rest_answers(installation)
        wait_for(
            lambda: {"submitted", "skipped"} <= {scope["outcome"] for scope in installation.scopes()},
            SECONDS_TO_SHOW,
            "submitted and skipped scopes in the history",
        )
        assert "previous task" in installation.manage("schedule", "history")
        wait_for(
            lambda: any(scope["task_status"] == "completed" for scope in installation.scopes()),
            SECONDS_TO_SHOW,
            "completed tasks",
        )
    finally:
        first.send_signal(signal.SIGINT)
        assert first.wait(60) == 0, installation.log.read_text()
    assert "Stopped." in installation.log.read_text()
    assert "Worker exiting" in installation.log.read_text(), "the web door too"

    second = installation.up()
    try:
        wait_for(lambda: "\nready" in installation.log.read_text(), 90, "ready again")
        before = installation.scopes()
        wait_for(lambda: len(installation.scopes()) > len(before), SECONDS_TO_SHOW, "it goes on firing")
        scopes = installation.scopes()
    finally:
        second.send_signal(signal.SIGINT)
        assert second.wait(60) == 0, installation.log.read_text()
    assert all(scope["reason"] for scope in scopes if scope["outcome"] not in {"submitted", "pending"})
    ticks = Counter((scope["schedule"], scope["due_at"], scope["rack"]) for scope in scopes)
    assert [tick for tick, times in ticks.items() if times > 1] == []
    effects = [json.loads(line) for line in (installation.folder / "effects.jsonl").read_text().splitlines()]
    applied = Counter(effect["key"] for effect in effects if effect["applied"])
    assert [key for key, times in applied.items() if times > 1] == []
