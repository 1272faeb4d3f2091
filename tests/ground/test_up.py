"""bin/up's core on real processes: ready, restart, drain, and no second supervisor after a kill."""

import os
import re
import signal
import socket
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from flowsched.postgres import server
from flowsched.supervisor import Control, Places, Program, configuration
from flowsched.tail import Tail


class Terminal:
    """A running `manage.py up` and what it has printed so far."""

    def __init__(self, place, **more):
        self.process = place.start(
            "manage.py", "up", DJANGO_SETTINGS_MODULE="tests.ground.stubs.settings", PYTHONUNBUFFERED="1", **more
        )
        self.text = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.text += line

    def wait_for(self, pattern, count=1, seconds=90):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            found = re.findall(pattern, self.text, re.MULTILINE)
            if len(found) >= count:
                return found[count - 1]
            time.sleep(0.05)
        raise AssertionError(f"{pattern!r} did not come; there is:\n{self.text}")

    def end(self, *signals):
        for number in signals:
            self.process.send_signal(number)
            time.sleep(0.5)
        code = self.process.wait(timeout=40)
        self._reader.join(timeout=5)
        return code


@pytest.fixture
def up():
    started = []

    def start(place, **more):
        started.append((place, Terminal(place, **more)))
        return started[-1][1]

    yield start
    for place, terminal in started:
        if terminal.process.poll() is None:
            terminal.process.kill()
            terminal.process.wait()
        terminal.process.stdout.close()
        deadline = time.monotonic() + 10
        while Control(Places(place.data_dir)).pid() and time.monotonic() < deadline:
            time.sleep(0.1)


def alive(pid):
    try:
        os.kill(int(pid), 0)
        status = Path(f"/proc/{pid}/status").read_text()
    except (ProcessLookupError, FileNotFoundError):
        return False
    return "\nState:\tZ" not in status


def gone(pid, seconds=15):
    deadline = time.monotonic() + seconds
    while alive(pid):
        assert time.monotonic() < deadline, f"process {pid} is still there"
        time.sleep(0.1)


@pytest.mark.process
def test_ready_restart_refuse_and_drain(place, up):
    terminal = up(place, STUB_DRAIN="0.3")
    terminal.wait_for(r"^ready")
    worker = terminal.wait_for(r"^worker +\| run_worker (\d+) began")
    terminal.wait_for(r"^web +\| serve_web \d+ began")
    terminal.wait_for(r"^  API +http://127\.0\.0\.1:[1-9]\d+/api/v1/docs/$")
    assert server.probe(place.cluster) is server.State.UP

    second = up(place)
    assert second.end() == 1
    assert "already running" in second.text

    os.kill(int(worker), signal.SIGKILL)
    dispatcher = terminal.wait_for(r"^dispatcher +\| run_dispatcher (\d+) began")
    worker = terminal.wait_for(r"^worker +\| run_worker (\d+) began", count=2)

    assert terminal.end(signal.SIGINT) == 0, terminal.text
    terminal.wait_for(rf"run_worker {worker} drained")
    terminal.wait_for(rf"run_dispatcher {dispatcher} drained")
    assert not alive(worker)
    assert server.probe(place.cluster) is server.State.DOWN, terminal.text


@pytest.mark.process
def test_second_signal_ends_at_once_and_a_database_found_running_is_left_so(used, up):
    terminal = up(used, STUB_DRAIN="60", STUB_NO_STATUS="1")
    terminal.wait_for(r"^ready")
    worker = terminal.wait_for(r"run_worker (\d+) began")
    began = time.monotonic()
    assert terminal.end(signal.SIGTERM, signal.SIGTERM) == 0
    assert time.monotonic() - began < 10
    gone(worker)
    assert server.probe(used.cluster) is server.State.UP


@pytest.mark.process
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a parent's death")
def test_kill_of_up_leaves_nobody_behind_and_the_next_takes_over(used, up):
    first = up(used, STUB_DRAIN="3")
    worker = first.wait_for(r"run_worker (\d+) began")
    first.process.kill()
    first.process.wait()
    second = up(used)
    second.wait_for(r"^ready")
    gone(worker)
    assert second.end(signal.SIGTERM) == 0


@pytest.mark.process
@pytest.mark.parametrize("door", ["WEB", "GRPC"])
def test_a_taken_port_is_said_before_anything_is_started(used, up, door):
    """A copy beside another one, or whatever listens there: which port, and how to choose another."""
    with closing(socket.socket()) as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = f"127.0.0.1:{other.getsockname()[1]}"
        terminal = up(used, **{f"FLOWSCHED_{door}_BIND": taken})
        assert terminal.end() == 1
    assert f"{taken} is taken by another process" in terminal.text
    assert f"FLOWSCHED_{door}_BIND" in terminal.text
    assert "began" not in terminal.text
    assert server.probe(used.cluster) is server.State.UP


@pytest.mark.process
def test_what_fails_at_every_start_backs_off_and_holds_nobody_up(used, up):
    terminal = up(used, STUB_FAIL="run_worker")
    terminal.wait_for(r"^worker +\| cannot work", count=3)
    terminal.wait_for(r"run_dispatcher \d+ began")
    assert "ready" not in terminal.text
    began = len(re.findall(r"cannot work", terminal.text))
    time.sleep(2)
    assert len(re.findall(r"cannot work", terminal.text)) - began <= 2
    assert terminal.end(signal.SIGTERM) == 0


def test_configuration_survives_blanks_and_percent_signs(tmp_path):
    places = Places(tmp_path / "a b %d")
    text = configuration(places, [Program("worker", ("/x y/python", "manage.py"))], folder=tmp_path, stop_seconds=30)
    assert "'/x y/python' manage.py" in text
    assert "a b %%d" in text
    assert len(str(Places(tmp_path / ("long" * 40)).socket)) < 90


def test_tail_follows_growth_and_rotation(tmp_path):
    path = tmp_path / "log"
    path.write_text("old\n")
    tail = Tail(path, "worker")
    assert tail.lines() == []
    with path.open("a") as file:
        file.write("one\ntw")
    assert tail.lines() == ["worker     | one"]
    with path.open("a") as file:
        file.write("o\n")
    assert tail.lines() == ["worker     | two"]
    path.rename(tmp_path / "log.1")
    path.write_text("three\n")
    assert [line for _ in range(3) for line in tail.lines()] == ["worker     | three"]
    tail.close()
