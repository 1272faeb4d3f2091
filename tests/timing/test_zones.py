"""T-6: the pinned zone database decides, whatever the machine has."""

import os
import shutil
import subprocess
import sys
from importlib import resources

from schedules.zones import tzdata_version, zone_names

PROBE = """
from datetime import datetime
from zoneinfo import ZoneInfo
before = ZoneInfo("Europe/Paris").utcoffset(datetime(2026, 7, 1))
from schedules.zones import zone_names
after = ZoneInfo("Europe/Paris").utcoffset(datetime(2026, 7, 1))
print(before, after, "Moon/Base" in zone_names(), sep="|")
"""


def test_the_machines_files_lose(tmp_path):
    """A machine whose Paris is Tokyo, and which knows a zone that nobody else has; also if it was loaded before."""
    with resources.as_file(resources.files("tzdata.zoneinfo.Asia") / "Tokyo") as tokyo:
        for name in ("Europe/Paris", "Moon/Base"):
            (tmp_path / name).parent.mkdir()
            shutil.copy(tokyo, tmp_path / name)
    env = {**os.environ, "PYTHONTZPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", PROBE], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "9:00:00|2:00:00|False"


def test_names_that_mean_the_machine_are_none():
    """F-295."""
    assert not {"Local", "localtime", "posixrules", "Factory"} & zone_names()
    assert {"UTC", "EST", "Europe/Paris"} <= zone_names()


def test_the_version_is_told():
    assert tzdata_version()[:2] == "20"
