"""The documents say what the code does: settings, commands, and paths that exist."""

from __future__ import annotations

import re
from pathlib import Path

from django.core.management import get_commands

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_every_setting_is_in_the_operators_table_and_no_other():
    source = (ROOT / "flowsched" / "settings.py").read_text()
    read = set(re.findall(r"env\.\w+\(\s*\"(FLOWSCHED_\w+)\"", source)) | {"FLOWSCHED_FAULTS"}
    table = (ROOT / "docs" / "operations.md").read_text().split("## Settings")[1].split("## Limits")[0]
    documented = set(re.findall(r"`(FLOWSCHED_\w+)`", table))
    assert documented == read


def test_readme_opens_with_the_two_commands():
    commands = re.findall(r"^    (bin/\w+)", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert commands[:2] == ["bin/up", "bin/test"]
    assert all((ROOT / command).exists() for command in commands)


def test_commands_the_documents_name_exist():
    known = set(get_commands())
    for document in DOCUMENTS:
        for command in re.findall(r"manage\.py (\w+)", document.read_text()):
            assert command in known or command.isupper(), f"{document.name}: manage.py {command}"


def test_links_between_documents_lead_somewhere():
    for document in DOCUMENTS:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name}: {target}"
