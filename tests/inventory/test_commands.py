"""The commands: tables, JSON, exit codes 0, 1 and 2 (F-174, F-175, F-181 through the command line)."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.core.management import call_command

from inventory.management.commands import import_racks
from inventory.models import Component, Rack
from tests.factories import DomainFactory, RackFactory
from tests.faults.harness import database_url
from tests.inventory.conftest import EXAMPLE

pytestmark = pytest.mark.django_db
ROOT = Path(__file__).resolve().parents[2]


def run(*words):
    """Exit code, standard output, standard error of a command."""
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command(*words, stdout=out, stderr=err)
    except SystemExit as end:
        return end.code, out.getvalue(), err.getvalue()
    return 0, out.getvalue(), err.getvalue()


def test_import_shows_what_it_did():
    code, out, err = run("import_racks", str(EXAMPLE))
    assert (code, err) == (0, "")
    assert [line.split() for line in out.splitlines()[:3]] == [
        ["CREATED", "UPDATED", "UNCHANGED", "KEPT", "PRUNED"],
        ["racks", "1", "0", "0", "0", "0"],
        ["components", "8", "0", "0", "0", "0"],
    ]
    assert out.count("logins of 6 BMCs are dropped") == 1
    assert "changeme" not in out


def test_import_as_json_and_dry():
    code, out, _ = run("import_racks", str(EXAMPLE), "--json", "--dry-run")
    answer = json.loads(out)
    assert code == 0
    assert answer["dry_run"] is True
    assert answer["components"] == {"created": 8, "updated": 0, "unchanged": 0, "kept": 0, "pruned": 0}
    assert "nothing was written" in run("import_racks", str(EXAMPLE), "--dry-run")[1]
    assert not Rack.objects.exists()


def test_import_from_standard_input(monkeypatch):
    monkeypatch.setattr(import_racks.sys, "stdin", SimpleNamespace(buffer=io.BytesIO(EXAMPLE.read_bytes())))
    assert run("import_racks", "-")[0] == 0
    assert Rack.objects.get().name == "r01"
    monkeypatch.setattr(import_racks.sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"{")))
    code, _, err = run("import_racks", "-")
    assert code == 2
    assert "standard input: not JSON" in err


def test_import_prunes_when_asked(tmp_path, example):
    run("import_racks", str(EXAMPLE))
    example["components"] = example["components"][:3]
    file = tmp_path / "a b.json"
    file.write_text(json.dumps(example))
    assert "5 components that the file omits are kept" in run("import_racks", str(file))[1]
    assert json.loads(run("import_racks", str(file), "--prune", "--json")[1])["components"]["pruned"] == 5
    assert Component.objects.filter(deleted_at__isnull=True).count() == 3


def test_import_of_bad_files(tmp_path, example):
    file = tmp_path / "racks.json"
    for path in (tmp_path / "missing.json", tmp_path):
        code, _, err = run("import_racks", str(path))
        assert code == 2
        assert f"{path} cannot be read" in err
    example["components"][3]["info"]["serial_number"] = 5
    file.write_text(json.dumps([example]))
    code, _, err = run("import_racks", str(file))
    assert code == 2
    assert f"{file} /0/components/3/info/serial_number: must be a string, not a number" in err
    code, _, err = run("import_racks", str(file), "--json")
    assert json.loads(err)["error"]["fields"].keys() == {"/0/components/3/info/serial_number"}
    assert run("import_racks", "a\x00b")[0] == 2


def test_import_reads_no_more_than_the_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(import_racks, "MAX_FILE_BYTES", 10)
    monkeypatch.setattr("inventory.document.MAX_FILE_BYTES", 10)
    with Path("/dev/zero").open("rb") as endless:
        assert len(import_racks._bounded(endless)) == 11
    code, _, err = run("import_racks", str(EXAMPLE))
    assert code == 2
    assert "larger than the limit" in err


def test_import_that_clashes_is_refused():
    RackFactory(name="r01")
    code, _, err = run("import_racks", str(EXAMPLE))
    assert code == 1
    assert f"{EXAMPLE} /info/name: this name is taken" in err


def test_demo_racks():
    words = ("demo_racks", "--racks", "5", "--components", "4", "--domains", "2", "--prefix", "x", "--seed", "7")
    code, out, _ = run(*words)
    assert code == 0
    assert "NVLink domains created: x-nvl-1, x-nvl-2" in out
    assert json.loads(run(*words, "--json")[1])["components"]["unchanged"] == 20
    assert run("demo_racks", "--racks", "0")[0] == 2


def test_f175_list_ends_with_what_it_left_out():
    assert "no racks: import some" in run("rack", "list")[1]
    domain = DomainFactory(name="d1")
    for n in range(5):
        RackFactory(name=f"r{n}", components=2, nvl_domain=domain, location={"data_center": "X", "position": "P"})
    code, out, _ = run("rack", "list", "--limit", "3")
    lines = out.splitlines()
    assert code == 0
    assert lines[1].split()[:3] == ["r0", "d1", "2"]
    assert "X / P" in lines[1]
    assert lines[-1] == "… and 2 more"
    assert "more" not in run("rack", "list")[1]
    answer = json.loads(run("rack", "list", "--limit", "3", "--json")[1])
    assert (len(answer["racks"]), answer["total"]) == (3, 5)
    assert run("rack", "list", "--limit", "0")[0] == 2


def test_f174_show():
    run("import_racks", str(EXAMPLE))
    code, out, _ = run("rack", "show", "r01")
    assert code == 0
    assert "NVRK0001001" in out
    assert "gpu1-nvl1-gp1-cin1-sjc01" in out
    answer = json.loads(run("rack", "show", answer_id(), "--json")[1])
    assert len(answer["components"]) == 8
    assert {b["mac_address"] for c in answer["components"] for b in c["bmcs"]} >= {"aa:bb:cc:01:00:01"}
    code, _, err = run("rack", "show", "r99")
    assert (code, "there is no rack 'r99'" in err) == (1, True)


def answer_id():
    return str(Rack.objects.get().id)


def test_remove():
    RackFactory(name="r1")
    assert json.loads(run("rack", "remove", "r1", "--json")[1])["name"] == "r1"
    code, _, err = run("rack", "remove", "r1")
    assert code == 1
    assert "removed already" in err


def test_f181_attach_and_detach():
    DomainFactory(name="d1")
    for name in ("r1", "r2"):
        RackFactory(name=name)
    assert run("rack", "attach", "d1", "r1")[1] == "attached: r1\n"
    assert run("rack", "attach", "d1", "r1", "r2")[1] == "attached: r2\nskipped, already in 'd1': r1\n"
    assert json.loads(run("rack", "detach", "r1", "--json")[1]) == {"detached": ["r1"], "skipped": []}
    assert run("rack", "detach", "r1")[1] == "detached: none\nskipped, in no domain: r1\n"
    assert run("rack", "attach", "d1", "r9")[0] == 1


@pytest.mark.parametrize(
    "words", [("remove", "\udcff"), ("attach", "\udcff", "r1"), ("show", "a\x00"), ("detach", " ")]
)
def test_names_that_no_database_holds_are_wrong_usage(words):
    code, _, err = run("rack", *words)
    assert code == 2
    assert err.startswith("invalid input: ")


@pytest.mark.process
@pytest.mark.django_db(transaction=True)
def test_exit_codes_of_real_processes(tmp_path):
    def process(*words):
        return subprocess.run(
            [sys.executable, "manage.py", *words],
            cwd=ROOT,
            env={**os.environ, "DATABASE_URL": database_url(), "FLOWSCHED_TESTING": "1"},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    done = process("import_racks", str(EXAMPLE), "--json")
    assert (done.returncode, json.loads(done.stdout)["racks"]["created"]) == (0, 1)
    refused = process("rack", "show", "nobody")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "there is no rack 'nobody'" in refused.stderr
    (tmp_path / "bad.json").write_text("{]")
    for wrong in (process("import_racks", str(tmp_path / "bad.json")), process("rack", "frobnicate")):
        assert wrong.returncode == 2
        assert "Traceback" not in wrong.stderr
