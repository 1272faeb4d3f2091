#!/usr/bin/env python3
"""Django's command-line entry point for flowsched."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

VENV = Path(__file__).resolve().parent / ".venv"


def main() -> None:
    """Run a command, with the packages that bin/setup installed where this Python has none."""
    if find_spec("django") is None:
        python = VENV / "bin" / "python"
        if Path(sys.prefix) == VENV or not python.exists():
            sys.exit("Django is not installed here. Run bin/setup first.")
        os.execv(python, [str(python), *sys.argv])  # noqa: S606
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "flowsched.settings")
    from django.core.management import execute_from_command_line  # noqa: PLC0415

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
