"""Settings, all from the environment. Reading them starts nothing and touches no disk but the data folder's path."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import environ
from django.core.exceptions import ImproperlyConfigured

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()

DEBUG = env.bool("FLOWSCHED_DEBUG", default=False)
TESTING = env.bool("FLOWSCHED_TESTING", default=False)
SECRET_KEY = env.str("FLOWSCHED_SECRET_KEY", default="insecure-development-key" if DEBUG or TESTING else "")
if not SECRET_KEY:
    raise ImproperlyConfigured(
        "FLOWSCHED_SECRET_KEY is not set. Set it to 50 random characters, "
        "or FLOWSCHED_DEBUG=1 on a developer's machine."
    )
ALLOWED_HOSTS = env.list("FLOWSCHED_ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "procrastinate.contrib.django",
    "audit",
    "inventory",
    "tasks",
    "schedules",
    "scopes",
    "dispatcher",
]
MIDDLEWARE: list[str] = []
ROOT_URLCONF = "flowsched.urls"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"

DATA_DIR = Path(env.str("FLOWSCHED_DATA_DIR", default=str(BASE_DIR / "var"))).expanduser()

DATABASES = {"default": env.db_url("DATABASE_URL")}
DATABASES["default"]["ENGINE"] = "django.db.backends.postgresql"
DATABASES["default"]["CONN_MAX_AGE"] = 600
DATABASES["default"]["CONN_HEALTH_CHECKS"] = True

# Firing and tasks -----------------------------------------------------------------------------------------------
FLOWSCHED_POLL_INTERVAL = timedelta(seconds=env.float("FLOWSCHED_POLL_INTERVAL", default=10.0))
FLOWSCHED_BATCH_SIZE = env.int("FLOWSCHED_BATCH_SIZE", default=10)
FLOWSCHED_MIN_INTERVAL = timedelta(seconds=env.float("FLOWSCHED_MIN_INTERVAL", default=1.0))
FLOWSCHED_CRON_DST = env.str("FLOWSCHED_CRON_DST", default="once")
FLOWSCHED_FIRING_LEASE = timedelta(seconds=env.float("FLOWSCHED_FIRING_LEASE", default=30.0))
FLOWSCHED_RUN_LEASE = timedelta(seconds=env.float("FLOWSCHED_RUN_LEASE", default=30.0))
FLOWSCHED_DRAIN_TIMEOUT = timedelta(seconds=env.float("FLOWSCHED_DRAIN_TIMEOUT", default=25.0))
FLOWSCHED_RACK_LOCK_PATIENCE = timedelta(seconds=env.float("FLOWSCHED_RACK_LOCK_PATIENCE", default=30.0))
FLOWSCHED_MAX_WAITING_PER_RACK = env.int("FLOWSCHED_MAX_WAITING_PER_RACK", default=5)
FLOWSCHED_QUEUE_TIMEOUT = timedelta(seconds=env.float("FLOWSCHED_QUEUE_TIMEOUT", default=3600.0))
FLOWSCHED_MAX_SCOPES_PER_SCHEDULE = env.int("FLOWSCHED_MAX_SCOPES_PER_SCHEDULE", default=5000)
FLOWSCHED_MAX_COMPONENTS_PER_RACK = env.int("FLOWSCHED_MAX_COMPONENTS_PER_RACK", default=1000)
FLOWSCHED_HISTORY_DAYS = env.int("FLOWSCHED_HISTORY_DAYS", default=90)

# Execution ------------------------------------------------------------------------------------------------------
FLOWSCHED_EXECUTOR = env.str("FLOWSCHED_EXECUTOR", default="simulated" if DEBUG or TESTING else "")
FLOWSCHED_ENGINE = env.str("FLOWSCHED_ENGINE", default="tasks.engines.procrastinate.ProcrastinateEngine")
FLOWSCHED_WORKER_CONCURRENCY = env.int("FLOWSCHED_WORKER_CONCURRENCY", default=8)
FLOWSCHED_EFFECT_LOG = Path(env.str("FLOWSCHED_EFFECT_LOG", default=str(DATA_DIR / "effects.jsonl")))

# Engine, runs and the simulated executor ------------------------------------------------------------------------
FLOWSCHED_RUN_BACKOFF = [float(s) for s in env.list("FLOWSCHED_RUN_BACKOFF", default=["1", "4"])]  # seconds
FLOWSCHED_SIMULATED = env.str("FLOWSCHED_SIMULATED", default="")  # a JSON file, see tasks/executors/simulated.py
FLOWSCHED_SIMULATED_LATENCY = env.float("FLOWSCHED_SIMULATED_LATENCY", default=0.05)  # seconds a component
