"""`manage.py check_endpoints`: what it tries, what it prints, how it ends."""

from __future__ import annotations

import io
import json
import os
import socket
import subprocess
import sys

import pytest
from django.core.management import call_command

from tests.http_servers.servers import ROOT, unique


@pytest.fixture
def configure(settings, monkeypatch):
    """Configure these endpoints, and a client's secret."""
    client = unique("client")
    monkeypatch.setenv("INVENTORY_SECRET", f"secret-of-{client}")

    def make(**entries):
        for entry in entries.values():
            if "token_url" in entry:
                entry |= {"client_id": client, "client_secret": {"env": entry.pop("secret", "INVENTORY_SECRET")}}
        settings.FLOWSCHED_ENDPOINTS = json.dumps({name: {"kind": "api"} | entry for name, entry in entries.items()})
        return f"secret-of-{client}"

    return make


def run(*words):
    """Exit code and what was printed, to both streams."""
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command("check_endpoints", *words, stdout=out, stderr=err)
        code = 0
    except SystemExit as end:
        code = end.code
    return code, out.getvalue(), err.getvalue()


def test_each_is_tried_and_all_is_well(configure, sink, tls_sink, oauth):
    secret = configure(
        inventory={"base_url": tls_sink.url, "ca_bundle": str(tls_sink.ca)},
        racks={"base_url": sink.url, "token_url": f"{oauth.url}/token", "exchange_url": f"{oauth.url}/token"},
    )
    arrived = len(sink.records()) + len(tls_sink.records())
    code, out, err = run()
    assert (code, err) == (0, "")
    lines = [line.split() for line in out.splitlines()]
    assert lines[0] == ["ENDPOINT", "KIND", "CHECK", "RESULT", "FOUND"]
    assert [line[:4] for line in lines[1:]] == [
        ["inventory", "api", "base_url", "ok"],
        ["racks", "api", "base_url", "ok"],
        ["racks", "api", "token_url", "ok"],
        ["racks", "api", "exchange_url", "ok"],
        ["racks", "api", "token", "ok"],
    ]
    assert f"{tls_sink.url}: 127.0.0.1, TLSv1.3, certificate until" in out
    assert f"{sink.url}: 127.0.0.1, in the clear" in out
    assert secret not in out
    assert len(sink.records()) + len(tls_sink.records()) == arrived  # no request of any operation


def test_each_failure_is_told_and_the_others_are_tried(configure, sink, tls_sink, oauth):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{taken.getsockname()[1]}"
        secret = configure(
            closed={"base_url": nobody},
            strange={"base_url": tls_sink.url},
            keyless={"base_url": sink.url, "token_url": f"{oauth.url}/token", "secret": "NOT_SET_ANYWHERE"},
            refused={"base_url": sink.url, "token_url": f"{oauth.url}/no-such-thing"},
            well={"base_url": sink.url},
        )
        code, out, _ = run("--json")
    assert code == 1
    told = {entry["name"]: entry for entry in json.loads(out)["endpoints"]}
    assert {name: entry["ok"] for name, entry in told.items()} == {
        "closed": False,
        "strange": False,
        "keyless": False,
        "refused": False,
        "well": True,
    }
    checks = [(name, check) for name, entry in told.items() for check in entry["checks"]]
    failed = {(name, check["check"]): check["found"] for name, check in checks if not check["ok"]}
    where = {"closed": "base_url", "strange": "base_url", "keyless": "client_secret", "refused": "token"}
    assert set(failed) == set(where.items())
    assert failed["closed", "base_url"] == f"{nobody}: it cannot be connected to: Connection refused"
    assert "certificate is not accepted" in failed["strange", "base_url"]
    assert "NOT_SET_ANYWHERE holds nothing" in failed["keyless", "client_secret"]
    assert "answered 404" in failed["refused", "token"]
    assert secret not in out


def test_what_hangs_is_given_up(configure):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)
        configure(hung={"base_url": f"https://127.0.0.1:{listener.getsockname()[1]}"})
        code, out, _ = run("--timeout", "0.3")
    assert code == 1
    assert "no connection within 0.3 s" in out


def test_one_of_them_by_name(configure, sink):
    configure(well={"base_url": sink.url}, closed={"base_url": "http://127.0.0.1:9"})
    code, out, _ = run("well")
    assert code == 0
    assert "closed" not in out


def test_names_that_are_not_there_and_times_that_make_no_sense(configure, sink):
    configure(well={"base_url": sink.url})
    for words, expected, told in (
        (["ill"], 1, "it must be one of: well"),
        (["--timeout", "0"], 2, "--timeout must be above 0"),
    ):
        code, _, err = run(*words)
        assert code == expected
        assert told in err


def test_none_is_no_failure_and_says_where_they_come_from(settings):
    settings.FLOWSCHED_ENDPOINTS = ""
    code, out, _ = run()
    assert code == 0
    assert "FLOWSCHED_ENDPOINTS" in out


@pytest.mark.process
def test_a_process_with_endpoints_that_make_no_sense_does_not_start():
    environment = os.environ | {"FLOWSCHED_ENDPOINTS": '{"inventory": {"kind": "api", "base_url": "http://10.0.0.1"}}'}
    for command in ("check_endpoints", "check"):
        ended = subprocess.run(
            [sys.executable, ROOT / "manage.py", command],
            env=environment, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert ended.returncode != 0
        assert "FLOWSCHED_ENDPOINTS: inventory.base_url: plain http://" in ended.stderr
