"""The REST door driven from its own OpenAPI document: every check, with links, against gunicorn as deployed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import call_command

from tasks.http.call import METHODS
from tests.faults.harness import Product, wait_for
from tests.inventory.conftest import EXAMPLE
from tests.rest.helpers import make_token, make_user

pytestmark = [pytest.mark.process, pytest.mark.django_db(transaction=True)]
CONFIG = Path(__file__).with_name("schemathesis.toml")
# Called as nobody, so that a body's identity decides nothing. No worker runs: nobody is called.
ENDPOINTS = {
    "inventory": {"kind": "api", "base_url": "https://inventory.example", "methods": list(METHODS)},
    "chat": {"kind": "gateway", "base_url": "https://hooks.example"},
}


@pytest.fixture
def web(tmp_path):
    """The URL of a running door on the test's database, and its log."""
    product = Product(tmp_path)
    process = product.start(
        "serve_web", FLOWSCHED_WEB_BIND="127.0.0.1:0", FLOWSCHED_API_REQUESTS_PER_MINUTE="1000000",
        FLOWSCHED_LOCK_TIMEOUT="0.5", FLOWSCHED_ENDPOINTS=json.dumps(ENDPOINTS),
    )  # fmt: skip
    url = ""

    def listens() -> bool:
        nonlocal url
        lines = [line for line in product.said(process).splitlines() if "Listening at: " in line]
        url = lines[0].split("Listening at: ")[1].split()[0] if lines else ""
        return bool(url)

    try:
        wait_for(listens, 40, "the door listens")
        yield url, lambda: product.said(process)
    finally:
        product.stop()


def test_the_door_keeps_what_its_document_says(web, tmp_path):
    url, said = web
    call_command("import_racks", str(EXAMPLE), verbosity=0)
    call_command("demo_racks", racks=3, components=4, domains=2, verbosity=0)
    token = make_token(make_user(name="tester", superuser=True))
    words = [
        *("--no-color", "--config-file", str(CONFIG), "run", f"{url}/api/v1/schema/"),
        *("--header", f"Authorization: Bearer {token}", "--checks", "all"),
        *("--phases", "examples,coverage,fuzzing,stateful"),
        "--generation-database=none",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "schemathesis.cli", *words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "Traceback" not in said(), said()[-6000:]
    told = "\n".join(line[:400] for line in done.stdout.splitlines()[-200:])
    assert done.returncode == 0, told + done.stderr[-2000:]
