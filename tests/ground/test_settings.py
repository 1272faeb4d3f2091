"""Settings: typed, refused by name, safe where nothing says otherwise."""

import os
import runpy
import zoneinfo
from datetime import timedelta

import pytest
from django.core.exceptions import ImproperlyConfigured

from flowsched import developer
from flowsched.environment import REPOSITORY, Environment, read_file

PRODUCTION = {
    "FLOWSCHED_SECRET_KEY": "k" * 50,
    "FLOWSCHED_EXECUTOR": "simulated",
    "DATABASE_URL": "postgresql://user@host/flows",
}


@pytest.fixture
def load(monkeypatch):
    """The settings module read anew in an environment that holds only what is given, as a deployment's would."""

    def run(**variables):
        for name in [name for name in os.environ if name.startswith(("FLOWSCHED_", "DATABASE_URL"))]:
            monkeypatch.delenv(name)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr("flowsched.environment.read_file", lambda path: {})
        return runpy.run_path(str(REPOSITORY / "flowsched" / "settings.py"))

    return run


@pytest.mark.parametrize(
    ("variables", "named"),
    [
        ({}, "FLOWSCHED_SECRET_KEY is not set"),
        ({"FLOWSCHED_SECRET_KEY": "k" * 50}, "FLOWSCHED_EXECUTOR is not set"),
        (PRODUCTION | {"DATABASE_URL": ""}, "DATABASE_URL is not set"),
        (PRODUCTION | {"FLOWSCHED_TRUSTED_ORIGINS": "a.example"}, "FLOWSCHED_TRUSTED_ORIGINS is a.example"),
        (PRODUCTION | {"FLOWSCHED_HTTPS": "maybe"}, "FLOWSCHED_HTTPS is 'maybe'"),
        (PRODUCTION | {"FLOWSCHED_WEB_WORKERS": "0"}, "FLOWSCHED_WEB_WORKERS is 0; it must be at least 1"),
        (PRODUCTION | {"FLOWSCHED_SECRET_KEY": "short"}, "shorter than 32"),
        (PRODUCTION | {"FLOWSCHED_TESTING": "1"}, "FLOWSCHED_TESTING=1 and FLOWSCHED_SECRET_KEY"),
        ({"FLOWSCHED_TESTING": "1", "FLOWSCHED_ALLOWED_HOSTS": "example.org"}, "FLOWSCHED_TESTING=1 excludes"),
        (PRODUCTION | {"FLOWSCHED_DEBUG": "1", "FLOWSCHED_ALLOWED_HOSTS": "*"}, "FLOWSCHED_DEBUG=1 excludes"),
        ({"FLOWSCHED_DEBUG": "ture"}, "FLOWSCHED_DEBUG is 'ture'"),
        (PRODUCTION | {"FLOWSCHED_CRON_DST": "twice"}, "FLOWSCHED_CRON_DST is 'twice'; it must be one of: once, wall"),
        (PRODUCTION | {"FLOWSCHED_POLL_INTERVAL": "0"}, "FLOWSCHED_POLL_INTERVAL is 0"),
        (PRODUCTION | {"FLOWSCHED_POLL_INTERVAL": "-1"}, "FLOWSCHED_POLL_INTERVAL is -1"),
        (PRODUCTION | {"FLOWSCHED_POLL_INTERVAL": "nan"}, "FLOWSCHED_POLL_INTERVAL is nan"),
        (PRODUCTION | {"FLOWSCHED_POLL_INTERVAL": "1e300"}, "FLOWSCHED_POLL_INTERVAL"),
        (PRODUCTION | {"FLOWSCHED_POLL_INTERVAL": "1e-9"}, "FLOWSCHED_POLL_INTERVAL"),
        (PRODUCTION | {"FLOWSCHED_BATCH_SIZE": "0"}, "FLOWSCHED_BATCH_SIZE is 0; it must be at least 1"),
        (PRODUCTION | {"FLOWSCHED_BATCH_SIZE": "ten"}, "FLOWSCHED_BATCH_SIZE is 'ten'"),
        (PRODUCTION | {"FLOWSCHED_HISTORY_DAYS": "6"}, "FLOWSCHED_HISTORY_DAYS is 6; it must be at least 7"),
        (PRODUCTION | {"DATABASE_URL": "mysql://x/y"}, "DATABASE_URL starts with 'mysql'"),
        (PRODUCTION | {"DATABASE_URL": "postgresql://host"}, "DATABASE_URL names no database"),
        (PRODUCTION | {"DATABASE_URL": "postgresql://u:pa%zzss@h/d"}, "DATABASE_URL cannot be read"),
    ],
)
def test_refused_with_the_name_of_the_variable(load, variables, named):
    with pytest.raises(ImproperlyConfigured) as caught:
        load(**variables)
    assert named in str(caught.value)
    assert "pa%zzss" not in str(caught.value)


def test_production_names_everything_and_tests_and_debug_need_nothing(load):
    assert load(**PRODUCTION)["PRODUCTION"] is True
    for name in ("FLOWSCHED_TESTING", "FLOWSCHED_DEBUG"):
        loaded = load(**{name: "1"})
        assert loaded["PRODUCTION"] is False
        assert loaded["FLOWSCHED_EXECUTOR"] == "simulated"


def test_database_url_turns_the_embedded_server_off(load):
    loaded = load(**PRODUCTION | {"DATABASE_URL": "postgresql://me:se%20cret@db.example:6432/flows?sslmode=require"})
    assert loaded["FLOWSCHED_CLUSTER"] is None
    default = loaded["DATABASES"]["default"]
    wanted = {"NAME": "flows", "USER": "me", "PASSWORD": "se cret", "HOST": "db.example", "PORT": "6432"}
    assert {name: default[name] for name in wanted} == wanted
    assert default["OPTIONS"]["sslmode"] == "require"
    assert default["OPTIONS"]["session"]["lock_timeout"] == timedelta(seconds=2)


def test_the_pinned_zone_database_decides():
    assert zoneinfo.TZPATH == ()


def test_data_folder_is_the_same_from_everywhere(load, monkeypatch, tmp_path):
    here = load(FLOWSCHED_TESTING="1", FLOWSCHED_DATA_DIR="elsewhere")["DATA_DIR"]
    monkeypatch.chdir(tmp_path)
    assert load(FLOWSCHED_TESTING="1", FLOWSCHED_DATA_DIR="elsewhere")["DATA_DIR"] == here
    assert here.is_absolute()


def test_developers_file_gives_way_to_a_configured_environment(tmp_path):
    path = tmp_path / ".env"
    assert developer.make(path)
    assert not developer.make(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]
    key = read_file(path)["FLOWSCHED_SECRET_KEY"]
    assert len(key) > 50

    assert Environment.load(path, {}).bool("FLOWSCHED_DEBUG")
    assert Environment.load(path, {"FLOWSCHED_DEBUG": "0"}).bool("FLOWSCHED_DEBUG") is False
    for name in ("FLOWSCHED_SECRET_KEY", "DATABASE_URL", "FLOWSCHED_TESTING"):
        environment = Environment.load(path, {name: "1"})
        assert not environment.bool("FLOWSCHED_DEBUG")
        assert environment.str("FLOWSCHED_SECRET_KEY") != key
    both = Environment.load(path, {"DATABASE_URL": "postgresql:///x", "FLOWSCHED_DEBUG": "1"})
    assert both.str("FLOWSCHED_SECRET_KEY") == key


def test_developers_file_that_cannot_be_read(tmp_path):
    path = tmp_path / ".env"
    assert read_file(path) == {}
    path.write_text("# words\n\nFLOWSCHED_DEBUG='1'\nnonsense\n")
    with pytest.raises(ImproperlyConfigured, match=r"line 4"):
        read_file(path)


def test_files_and_pairs(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    read = Environment({"F": "tls/a.pem", "P": "spiffe://x/a=alice , dns=a=bob,", "BLANK": "  "})
    assert read.file("F") == REPOSITORY / "tls" / "a.pem"
    assert read.file("BLANK") is None
    assert read.pairs("P") == {"spiffe://x/a": "alice", "dns=a": "bob"}
    assert read.pairs("BLANK") == {}
    for text in ("alice", "=alice", "name=", "a=b,a=c"):
        with pytest.raises(ImproperlyConfigured, match="P: "):
            Environment({"P": text}).pairs("P")


def test_reflection_is_for_tests_and_developers(load):
    assert load(**PRODUCTION)["FLOWSCHED_GRPC_REFLECTION"] is False
    assert load(**PRODUCTION, FLOWSCHED_GRPC_REFLECTION="1")["FLOWSCHED_GRPC_REFLECTION"] is True
    assert load(FLOWSCHED_TESTING="1")["FLOWSCHED_GRPC_REFLECTION"] is True
    assert load(FLOWSCHED_DEBUG="1", FLOWSCHED_GRPC_REFLECTION="0")["FLOWSCHED_GRPC_REFLECTION"] is False
