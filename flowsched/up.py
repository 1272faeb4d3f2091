"""`bin/up`: database, tables, dispatcher, worker and the doors in one terminal, until Ctrl-C.

What it promises: one copy a data folder; what dies is restarted; the first Ctrl-C (or SIGTERM, or a closed terminal)
lets running work end within the drain time, the second ends everything at once; nothing that it started outlives it.
A killed `up` takes its supervisor down with it (flowsched/child.py); what is left of one is drained by the next.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from django.conf import settings
from django.core.management import get_commands

from flowsched.bind import Bind, refuse_taken, settled
from flowsched.errors import PreconditionFailed
from flowsched.postgres import server
from flowsched.postgres.location import Cluster
from flowsched.readiness import Readiness
from flowsched.supervisor import Control, Places, Process, Program, configuration
from flowsched.tail import Tail

MANAGE = str(settings.BASE_DIR / "manage.py")
COMMANDS = {"dispatcher": "run_dispatcher", "worker": "run_worker", "web": "serve_web", "grpc": "serve_grpc"}
DOORS = {"web": "FLOWSCHED_WEB_BIND", "grpc": "FLOWSCHED_GRPC_BIND"}
FREED_SECONDS = 15  # how long a door that was killed may keep its port
GIVEN_UP_SECONDS = 60  # how long a process that keeps failing is left alone
TICK = 0.2


class Writer(Protocol):
    """Where lines go."""

    def write(self, text: str, /) -> object:
        """Write."""

    def flush(self) -> object:
        """Flush."""


class Up:
    """One run of `bin/up`."""

    def __init__(self, out: Writer) -> None:
        self.places = Places(settings.DATA_DIR)
        self.control = Control(self.places)
        self.out = out
        self._asked = 0  # how often we were asked to end
        self.commands = {name: command for name, command in COMMANDS.items() if command in get_commands()}
        self.binds = {
            name: settled(Bind.parse(getattr(settings, DOORS[name]))) for name in self.commands if name in DOORS
        }
        self.retry_at: dict[str, float] = {}

    def run(self) -> int:
        """Do it all; the exit code."""
        self.places.make()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._ask)
        with self._alone():
            self._free_ports(patience=FREED_SECONDS if self._take_over() else 0)
            with self._database():
                return self._prepare() or self._supervise()

    def _ask(self, *_: object) -> None:
        self._asked += 1

    def times_asked(self) -> int:
        """How often Ctrl-C or a signal has asked us to end."""
        return self._asked

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with self.places.lock.open("a+", encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.seek(0)
                raise PreconditionFailed(
                    f"bin/up is already running for {self.places.data_dir} (process {file.read().strip()}). Stop it "
                    "with Ctrl-C there, or give a second copy its own FLOWSCHED_DATA_DIR."
                ) from None
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
            yield

    def _free_ports(self, *, patience: float) -> None:
        """Refuse to start beside somebody who listens where our doors would: they would end at every start."""
        deadline = time.monotonic() + patience
        for name, bind in self.binds.items():
            while True:
                try:
                    refuse_taken(bind, setting=DOORS[name])
                    break
                except PreconditionFailed:
                    if time.monotonic() > deadline or self.times_asked():
                        raise
                    time.sleep(TICK)
            os.environ[DOORS[name]] = str(bind)  # what our children are configured with

    def _take_over(self) -> bool:
        """Drain what a killed `up` left running: two supervisors would restart each other's work. Whether it did."""
        pid = self.control.pid()
        if pid is None:
            return False
        self.say(f"A supervisor (process {pid}) is left of an earlier bin/up that was killed; draining it first …")
        left = self.control.processes()
        self.control.shutdown()
        deadline = time.monotonic() + _stop_seconds() + 5
        while _alive(pid) and time.monotonic() < deadline and self.times_asked() == 0:
            time.sleep(TICK)
        if _alive(pid):
            _kill([process.pid for process in left] + [pid])
        return True

    @contextmanager
    def _database(self) -> Iterator[None]:
        """Our own server, stopped at the end if this run started it and nobody else uses it."""
        cluster: Cluster | None = settings.FLOWSCHED_CLUSTER
        started = cluster is not None and server.ensure(cluster)
        try:
            yield
        finally:
            if started:
                subprocess.run([sys.executable, MANAGE, "localdb", "stop", "--if-idle"], check=False)  # noqa: S603

    def _prepare(self) -> int:
        steps = {"Creating and updating tables": ["migrate", "--no-input", "--verbosity", "0"]}
        if settings.PRODUCTION:
            steps["Collecting the pages' files"] = ["collectstatic", "--no-input", "--verbosity", "0"]
        if "demo" in get_commands():
            steps["Demonstration data"] = ["demo", "--first-start"]
        for title, words in steps.items():
            self.say(f"{title} …")
            code = self._step(words)
            if self.times_asked():
                self.say("Stopped before anything was started.")
                return 1
            if code:
                self.say(f"manage.py {words[0]} failed, see above; nothing was started.")
                return 1
        return 0

    def _step(self, words: list[str]) -> int:
        """One command, out of Ctrl-C's reach: it is brought to its end, unless we are asked twice."""
        step = subprocess.Popen([sys.executable, MANAGE, *words], start_new_session=True)  # noqa: S603
        while step.poll() is None:
            if self.times_asked() > 1:
                _kill([step.pid])
            time.sleep(TICK / 4)
        return step.returncode

    def _supervise(self) -> int:
        programs = [
            Program(name, (sys.executable, MANAGE, command, *self._bound(name)))
            for name, command in self.commands.items()
        ]
        text = configuration(self.places, programs, folder=settings.BASE_DIR, stop_seconds=_stop_seconds())
        self.places.config.write_text(text, encoding="utf-8")
        tails = [Tail(self.places.log(program.name), program.name) for program in programs]
        with self.places.log("supervisor-output").open("w", encoding="utf-8") as output:
            child = str(Path(__file__).with_name("child.py"))
            supervisor = subprocess.Popen(  # noqa: S603
                [
                    sys.executable,
                    "-I",
                    child,
                    sys.executable,
                    "-m",
                    "supervisor.supervisord",
                    "-c",
                    str(self.places.config),
                ],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,  # Ctrl-C reaches us alone; we decide who is told what
            )
        try:
            return self._watch(supervisor, tails)
        finally:
            if supervisor.poll() is None:  # a fault of ours: what was started still ends before its database does
                supervisor.terminate()
                supervisor.wait()

    def _bound(self, name: str) -> tuple[str, ...]:
        return ("--bind", str(self.binds[name])) if name in self.binds else ()

    def _watch(self, supervisor: subprocess.Popen[bytes], tails: list[Tail]) -> int:
        readiness = Readiness(MANAGE, self.commands)
        pids: dict[str, int] = {}
        told = False
        while supervisor.poll() is None:
            self._pass_on(tails)
            processes = self.control.processes()
            pids.update({process.name: process.pid for process in processes if process.pid})
            if self.times_asked() == 0:
                self._revive(processes)
                self._announce(readiness, processes)
            elif not told:
                told = True
                self.say(f"Draining: running work has {_stop_seconds()} s to end. Ctrl-C again ends it at once.")
                supervisor.terminate()
            elif self.times_asked() > 1:
                _kill([*pids.values(), supervisor.pid])
            time.sleep(TICK)
        self._pass_on(tails)
        if told:
            self.say("Stopped.")
            return 0
        self.say(
            f"The supervisor ended by itself. See {self.places.log('supervisor')} and supervisor-output.log there."
        )
        return 1

    def _pass_on(self, tails: list[Tail]) -> None:
        for tail in tails:
            for line in tail.lines():
                self.say(line)

    def _announce(self, readiness: Readiness, processes: list[Process]) -> None:
        if readiness.step({process.name for process in processes if process.state == "RUNNING"}):
            *some, last = self.commands
            self.say(f"ready: {', '.join(some)} and {last} are running")
            if "web" in self.binds:
                self.say(f"  API            {self.binds['web'].url}api/v1/docs/")
            if "grpc" in self.binds:
                self.say(f"  gRPC           {self.binds['grpc']}")
            self.say(f"  data and logs  {self.places.data_dir}")
            self.say("  database       .venv/bin/python manage.py localdb psql")
            self.say("  stop           Ctrl-C")
        elif readiness.late():
            self.say(f"Still not ready; going on trying. Logs: {self.places.log('any').parent}")

    def _revive(self, processes: list[Process]) -> None:
        """Nothing is given up for good: what fails at every start is tried again, at longer intervals."""
        for process in processes:
            if process.state != "FATAL":
                self.retry_at.pop(process.name, None)
            elif process.name not in self.retry_at:
                self.retry_at[process.name] = time.monotonic() + GIVEN_UP_SECONDS
                self.say(
                    f"{process.name} ends at every start ({process.why or 'no reason given'}); next try in "
                    f"{GIVEN_UP_SECONDS} s. Its last words: {self.places.log(process.name)}"
                )
            elif time.monotonic() > self.retry_at[process.name]:
                del self.retry_at[process.name]
                self.control.start(process.name)

    def say(self, line: str) -> None:
        """One line to the terminal, which may be gone."""
        with suppress(OSError, ValueError):
            self.out.write(f"{line}\n")
            self.out.flush()


def _stop_seconds() -> int:
    """The drain time and a little more, after which the supervisor kills."""
    return int(settings.FLOWSCHED_DRAIN_TIMEOUT.total_seconds()) + 5


def _alive(pid: int) -> bool:
    with suppress(OSError):
        os.kill(pid, 0)
        return True
    return False


def _kill(pids: list[int]) -> None:
    for pid in pids:
        if pid:
            with suppress(OSError):
                os.killpg(pid, signal.SIGKILL)  # the supervisor and each of its children leads a group of its own
