"""The servers are what the other tests believe them to be."""

from __future__ import annotations

import json
import subprocess
import sys
import threading

from tests.http_servers.parts import asking, endpoint
from tests.http_servers.servers import ROOT, start, stop, unique

# Runs the sink with fsync and every sendall written down, in order.
WATCHED = """
import os, socket, sys, runpy
fsync, sendall = os.fsync, socket.socket.sendall
def log(word):
    print(word, file=sys.stderr, flush=True)
os.fsync = lambda handle: (fsync(handle), log("fsync"))
socket.socket.sendall = lambda self, data: (log("answer"), sendall(self, data))[1]
sys.argv[0:1] = []
runpy.run_module("tests.http_servers.sink", run_name="__main__")
"""


def test_the_sink_has_a_request_on_disk_before_it_answers(sender, tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", WATCHED, "sink", tmp_path / "log"],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        url = f"http://127.0.0.1:{int(process.stdout.readline())}"
        for path in ("/ok", "/status/500", "/echo/200"):
            sender.send(endpoint(url), asking(path), deadline_seconds=20)
    finally:
        process.kill()
    _, said = process.communicate(timeout=20)
    assert said.split() == ["fsync", "answer"] * 3
    assert len((tmp_path / "log").read_text().splitlines()) == 3


def test_the_sink_counts_what_reaches_it_at_the_same_time(sink, sender):
    path = f"/ok/{unique()}"
    calls = [
        sender.start(endpoint(sink.url, max_connections=50), asking(path, "POST", key=f"k{n}"), deadline_seconds=60)
        for n in range(100)
    ]
    assert {call.result(60).status for call in calls} == {200}
    assert sorted(record["key"] for record in sink.records(path=path)) == sorted(f"k{n}" for n in range(100))


def test_a_request_that_is_reset_before_it_is_applied_is_in_no_log(sink, sender):
    for mode, count in (("reset-before-apply", 0), ("reset-after-apply", 1)):
        path = f"/{mode}/{unique()}"
        call = sender.start(endpoint(sink.url), asking(path), deadline_seconds=20)
        assert call._future.exception(20) is not None
        assert len(sink.records(path=path)) == count


def test_a_retry_after_is_passed_on(sink, sender):
    answer = sender.send(endpoint(sink.url), asking("/status/503", query={"retry_after": "7"}), deadline_seconds=20)
    assert (answer.status, answer.headers["retry-after"]) == (503, "7")


def test_a_killed_server_is_gone_and_holds_no_thread_of_ours(sender, tmp_path):
    server = start(tmp_path, "tests.http_servers.bin")
    answer = sender.send(endpoint(server.url), asking("/headers"), deadline_seconds=20)
    assert json.loads(answer.excerpt_bytes)["headers"]["User-Agent"] == "flowsched"
    stop(server)
    assert server.process.poll() is not None
    assert threading.active_count() < 50
