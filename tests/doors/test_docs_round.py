"""docs/doors.md, run as it is written: its commands against a started product, and its outputs beside theirs."""

from __future__ import annotations

import re
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from tests.faults.harness import ROOT, query

pytestmark = pytest.mark.process
BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# What is another each time: ids and times. No worker runs here, so that every task is still pending.
VARIES = re.compile(
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?|(?<=\"firing_id\": \")\d+"
)
SPLIT = "---- end of block ----"


def masked(text):
    """The text with what varies left out, and blanks counted as one."""
    return [" ".join(VARIES.sub("*", line).split()) for line in text.splitlines() if line.strip()]


def interpreter(folder: Path) -> Path:
    """This interpreter under a path without blanks: the document writes $PYTHON without quotes, as a person would."""
    path = folder / "python"
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    path.chmod(0o755)
    return path


def test_the_round_runs_as_written_and_prints_what_it_says(doors, settings, tmp_path):
    """Each block of commands succeeds in one shell; where the document shows an output, it is that one."""
    settings.FLOWSCHED_SIMULATED = tmp_path / "simulated.json"
    call_command("demo", "--first-start", stdout=StringIO(), stderr=StringIO())
    blocks = BLOCK.findall((ROOT / "docs" / "doors.md").read_text())
    commands = [text for kind, text in blocks if kind == "sh"]
    script = "set -euo pipefail\n" + f"\necho '{SPLIT}'\n".join(commands)
    done = subprocess.run(
        ["bash", "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False,
        env=doors.environment() | {
            "PYTHON": str(interpreter(tmp_path)),
            "REST": f"http://127.0.0.1:{doors.rest_port}/api/v1",
            "GRPC": f"127.0.0.1:{doors.grpc_port}",
        },
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    outputs = iter(done.stdout.split(SPLIT + "\n"))
    shown = 0
    for kind, text in blocks:
        if kind == "sh":
            printed = next(outputs)
        else:
            assert masked(printed) == masked(text)
            shown += 1
    assert shown == 4, "one output for each way in, and one for calls"
    assert query("SELECT schedule_name, cause, split_part(actor, ':', 1), submitted_count FROM firing ORDER BY id") == [
        ("Nightly reset, REST", "manual", "svc", 1),
        ("Nightly reset, gRPC", "manual", "svc", 1),
        ("Nightly reset, CLI", "manual", "cli", 1),
        ("Rack report", "manual", "cli", 1),
    ]
