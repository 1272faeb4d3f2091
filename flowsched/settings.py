"""Settings, all from the environment. Reading them starts nothing and writes nothing.

Order of sections: what kind of process this is, Django, the database, then one section per part of the product. A
setting of ours is read through `env`, which refuses what makes no sense, and is named as its variable.
"""

from __future__ import annotations

import zoneinfo
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from flowsched.environment import Environment
from flowsched.logs import LINE, without_traceback
from flowsched.postgres import location

BASE_DIR = Path(__file__).resolve().parent.parent
env = Environment.load(BASE_DIR / ".env")

# What kind of process this is -----------------------------------------------------------------------------------
# Neither DEBUG nor TESTING is production, and production has no defaults that pretend: a key and an executor are named.
DEBUG = env.bool("FLOWSCHED_DEBUG")
TESTING = env.bool("FLOWSCHED_TESTING")
PRODUCTION = not (DEBUG or TESTING)

LOCAL_HOSTS = ["localhost", "127.0.0.1", "[::1]"]
ALLOWED_HOSTS = env.list("FLOWSCHED_ALLOWED_HOSTS", default=LOCAL_HOSTS)
SECRET_KEY = env.str("FLOWSCHED_SECRET_KEY", default="insecure-key-of-tests-and-debugging" if not PRODUCTION else "")
FLOWSCHED_EXECUTOR = env.str("FLOWSCHED_EXECUTOR", default="simulated" if not PRODUCTION else "")

_public_hosts = sorted(set(ALLOWED_HOSTS) - set(LOCAL_HOSTS))
if not PRODUCTION and _public_hosts:
    raise ImproperlyConfigured(
        f"{'FLOWSCHED_TESTING' if TESTING else 'FLOWSCHED_DEBUG'}=1 excludes {','.join(_public_hosts)} in "
        "FLOWSCHED_ALLOWED_HOSTS: debug pages and fault points must not be reachable from elsewhere. Unset one of them."
    )
if TESTING and not DEBUG and "FLOWSCHED_SECRET_KEY" in env:
    raise ImproperlyConfigured(
        "FLOWSCHED_TESTING=1 and FLOWSCHED_SECRET_KEY are both set: tests need no key, and a deployment must not run "
        "with fault points. Unset FLOWSCHED_TESTING to run the product, FLOWSCHED_SECRET_KEY to run tests."
    )
if not SECRET_KEY:
    raise ImproperlyConfigured(
        "FLOWSCHED_SECRET_KEY is not set. Set it to 50 random characters. On a developer's machine run bin/up, which "
        "keeps one in .env (not read when DATABASE_URL is in the environment), or set FLOWSCHED_DEBUG=1."
    )
if PRODUCTION and len(SECRET_KEY) < 32:  # noqa: PLR2004 - half of what Django generates; below that it was typed by hand
    raise ImproperlyConfigured("FLOWSCHED_SECRET_KEY is shorter than 32 characters. Set it to 50 random characters.")
if not FLOWSCHED_EXECUTOR:
    raise ImproperlyConfigured(
        "FLOWSCHED_EXECUTOR is not set: name what carries operations out. 'simulated' touches no hardware and says so "
        "everywhere; it is the default only with FLOWSCHED_DEBUG=1 or FLOWSCHED_TESTING=1."
    )
if PRODUCTION and "DATABASE_URL" not in env:
    raise ImproperlyConfigured(
        "DATABASE_URL is not set: name this deployment's PostgreSQL, postgresql://user:password@host/database. The "
        "embedded server is for a developer's machine (bin/up) and for tests: nobody backs it up or fails it over."
    )

# The pinned tzdata package decides what a zone's rules are, not whatever this machine has installed: two hosts that
# disagree would fire the same schedule an hour apart.
zoneinfo.reset_tzpath(to=())

# Django ---------------------------------------------------------------------------------------------------------
INSTALLED_APPS = [
    "flowsched",
    "console.apps.ConsoleAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_htmx",
    "axes",
    "procrastinate.contrib.django",
    "knox",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "audit",
    "access",
    "inventory",
    "tasks",
    "schedules",
    "scopes",
    "dispatcher",
    "rpc",
    "console",
]
MIDDLEWARE = [
    "flowsched.rest.middleware.RequestId",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "axes.middleware.AxesMiddleware",
]
ROOT_URLCONF = "flowsched.urls"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
LOGIN_URL = "admin:login"
LOGIN_REDIRECT_URL = "admin:index"
CSRF_FAILURE_VIEW = "console.failures.csrf"
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
# Who guesses a password is locked out, by name and address together: a stranger must not lock an operator out.
AXES_FAILURE_LIMIT = env.int("FLOWSCHED_LOGIN_ATTEMPTS", default=5)
AXES_COOLOFF_TIME = env.seconds("FLOWSCHED_LOGIN_LOCKOUT", default=900.0)
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_HTTP_RESPONSE_CODE = 429
AXES_LOCKOUT_CALLABLE = "console.failures.locked_out"
AXES_RESET_ON_SUCCESS = True
AXES_DISABLE_ACCESS_LOG = True
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False
FLOWSCHED_SITE_NAME = env.str("FLOWSCHED_SITE_NAME")
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "font-src": ["'self'"],
        "connect-src": ["'self'"],
        "object-src": ["'none'"],
        "base-uri": ["'none'"],
        "frame-ancestors": ["'none'"],
        "form-action": ["'self'"],
    }
}
WSGI_APPLICATION = "flowsched.wsgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"

# Tokens are ours (access/models.py): knox gives their text, digest and prefix.
KNOX_TOKEN_MODEL = "access.Token"  # noqa: S105
MIGRATION_MODULES = {"knox": None}  # its migrations make a table of its own all the same
REST_KNOX = {"TOKEN_PREFIX": "fs_", "AUTH_HEADER_PREFIX": "Bearer"}

FLOWSCHED_API_REQUESTS_PER_MINUTE = env.int("FLOWSCHED_API_REQUESTS_PER_MINUTE", default=1200)
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["access.rest.BearerAuthentication", "access.rest.CallerSessionAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["access.rest.MayDoVerb"],
    "DEFAULT_THROTTLE_CLASSES": ["access.rest.CallerRateThrottle"],
    "DEFAULT_PARSER_CLASSES": ["flowsched.rest.parsing.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "flowsched.rest.negotiation.AlwaysJson",
    "EXCEPTION_HANDLER": "flowsched.rest.problems.exception_handler",
    "UNAUTHENTICATED_USER": None,
    "DEFAULT_SCHEMA_CLASS": "flowsched.rest.schema.Schema",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "flowsched",
    "DESCRIPTION": "A scheduler of data-centre operations: run this operation on these racks at these times.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.1",
    "SERVERS": [{"url": "/"}],
    "SCHEMA_PATH_PREFIX": "/api/v1/",
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enum_id_removal",  # words stay where they are read, none gets a name
        "flowsched.rest.schema.shared_parts",
    ],
    "SWAGGER_UI_DIST": "SIDECAR",  # the page works where nothing but this server is within reach
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SWAGGER_UI_SETTINGS": {"deepLinking": True, "validatorUrl": None},
}

OUR_LOGGERS = (
    "flowsched",
    "audit",
    "access",
    "inventory",
    "tasks",
    "schedules",
    "scopes",
    "dispatcher",
    "rpc",
    "console",
)
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"()": "flowsched.logs.OneLine", "format": LINE}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "filters": {"line only": {"()": "django.utils.log.CallbackFilter", "callback": without_traceback}},
    "loggers": {name: {"level": "INFO"} for name in OUR_LOGGERS}
    | {
        "psycopg.pool": {"level": "ERROR"},  # repeats at every attempt what the worker says once
        "clickhouse_connect": {"level": "CRITICAL"},  # likewise
        "urllib3.connectionpool": {"level": "ERROR"},  # what that is made of; it sets its parent's level itself
        "django.request": {"level": "ERROR"},  # refusals are told to the client, and to the audit trail
        "django.security.DisallowedHost": {"filters": ["line only"]},
    },
}

# The database ---------------------------------------------------------------------------------------------------
# Where the product keeps files of its own: the embedded database, logs, the simulated executor's effects.
DATA_DIR = env.path("FLOWSCHED_DATA_DIR", default=BASE_DIR / "var")

# Pages' files: `collectstatic` collects them there; outside production they are served from the packages themselves.
STATIC_URL = "/static/"
STATIC_ROOT = env.path("FLOWSCHED_STATIC_DIR", default=DATA_DIR / "static")
WHITENOISE_AUTOREFRESH = WHITENOISE_USE_FINDERS = not PRODUCTION
WHITENOISE_ALLOW_ALL_ORIGINS = False

# The doors ------------------------------------------------------------------------------------------------------
FLOWSCHED_WEB_BIND = env.str("FLOWSCHED_WEB_BIND", default="127.0.0.1:8000")
FLOWSCHED_GRPC_BIND = env.str("FLOWSCHED_GRPC_BIND", default="127.0.0.1:50051")
FLOWSCHED_WEB_WORKERS = env.int("FLOWSCHED_WEB_WORKERS", default=2)
FLOWSCHED_WEB_THREADS = env.int("FLOWSCHED_WEB_THREADS", default=4)
FLOWSCHED_WEB_ACCESS_LOG = env.bool("FLOWSCHED_WEB_ACCESS_LOG")
# Whose X-Forwarded-Proto is believed: gunicorn then says https, and nothing else here reads that header.
FLOWSCHED_WEB_TRUSTED_PROXIES = env.list("FLOWSCHED_WEB_TRUSTED_PROXIES", default=["127.0.0.1", "::1"])

# People come by HTTPS, through a proxy that ends it: cookies travel by it only, and plain requests are turned away.
FLOWSCHED_HTTPS = env.bool("FLOWSCHED_HTTPS", default=PRODUCTION)
SECURE_SSL_REDIRECT = SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = FLOWSCHED_HTTPS
SECURE_HSTS_SECONDS = (
    env.int("FLOWSCHED_HSTS_SECONDS", default=30 * 86400, minimum=0) if FLOWSCHED_HTTPS else 0
)  # browsers refuse plain HTTP for so long after a visit
# Whether that binds other names of the domain, or is built into browsers, is not for one host's software to decide.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
CSRF_TRUSTED_ORIGINS = env.list("FLOWSCHED_TRUSTED_ORIGINS")
if any("://" not in origin for origin in CSRF_TRUSTED_ORIGINS):
    raise ImproperlyConfigured(
        f"FLOWSCHED_TRUSTED_ORIGINS is {','.join(CSRF_TRUSTED_ORIGINS)}; each must be https://host or https://host:port."
    )
SESSION_COOKIE_AGE = int(env.seconds("FLOWSCHED_SESSION_AGE", default=8 * 3600).total_seconds())
X_FRAME_OPTIONS = "DENY"

# These bound what one stuck session can do to the others: a row lock is not waited for longer than this, a statement
# does not run longer, and a process that stalls inside a transaction loses its locks. `migrate` lifts the last two.
FLOWSCHED_LOCK_TIMEOUT = env.seconds("FLOWSCHED_LOCK_TIMEOUT", default=2.0)
FLOWSCHED_STATEMENT_TIMEOUT = env.seconds("FLOWSCHED_STATEMENT_TIMEOUT", default=30.0)
FLOWSCHED_IDLE_IN_TRANSACTION_TIMEOUT = env.seconds("FLOWSCHED_IDLE_IN_TRANSACTION_TIMEOUT", default=10.0)

# Without DATABASE_URL the product runs a PostgreSQL of its own (flowsched/postgres); this only computes where.
FLOWSCHED_CLUSTER = None if "DATABASE_URL" in env else location.locate(DATA_DIR)
FLOWSCHED_PG_BIN = env.str("FLOWSCHED_PG_BIN")

_database: dict[str, Any] = (
    env.database("DATABASE_URL") if FLOWSCHED_CLUSTER is None else FLOWSCHED_CLUSTER.django_settings()
)
_database["ENGINE"] = "flowsched.postgres"
_database["CONN_MAX_AGE"] = 600  # a new connection costs more than most queries
_database["CONN_HEALTH_CHECKS"] = True
_database["OPTIONS"]["session"] = {
    "lock_timeout": FLOWSCHED_LOCK_TIMEOUT,
    "statement_timeout": FLOWSCHED_STATEMENT_TIMEOUT,
    "idle_in_transaction_session_timeout": FLOWSCHED_IDLE_IN_TRANSACTION_TIMEOUT,
}
_database["OPTIONS"].setdefault("connect_timeout", 10)
_database["OPTIONS"].setdefault(
    "prepare_threshold", 5
)  # for flowsched.db.bound_cursor: planning costs as much as running
DATABASES = {"default": _database}

# Firing and tasks -----------------------------------------------------------------------------------------------
FLOWSCHED_POLL_INTERVAL = env.seconds("FLOWSCHED_POLL_INTERVAL", default=10.0)
FLOWSCHED_BATCH_SIZE = env.int("FLOWSCHED_BATCH_SIZE", default=10)
FLOWSCHED_MIN_INTERVAL = env.seconds("FLOWSCHED_MIN_INTERVAL", default=1.0)
FLOWSCHED_CRON_DST = env.choice("FLOWSCHED_CRON_DST", default="once", choices=["once", "wall"])
FLOWSCHED_FIRING_LEASE = env.seconds("FLOWSCHED_FIRING_LEASE", default=30.0)
FLOWSCHED_RUN_LEASE = env.seconds("FLOWSCHED_RUN_LEASE", default=30.0)
FLOWSCHED_DRAIN_TIMEOUT = env.seconds("FLOWSCHED_DRAIN_TIMEOUT", default=25.0)
FLOWSCHED_RACK_LOCK_PATIENCE = env.seconds("FLOWSCHED_RACK_LOCK_PATIENCE", default=30.0)
FLOWSCHED_MAX_WAITING_PER_RACK = env.int("FLOWSCHED_MAX_WAITING_PER_RACK", default=5, minimum=0)
FLOWSCHED_QUEUE_TIMEOUT = env.seconds("FLOWSCHED_QUEUE_TIMEOUT", default=3600.0)
FLOWSCHED_MAX_SCOPES_PER_SCHEDULE = env.int("FLOWSCHED_MAX_SCOPES_PER_SCHEDULE", default=5000)
FLOWSCHED_MAX_COMPONENTS_PER_RACK = env.int("FLOWSCHED_MAX_COMPONENTS_PER_RACK", default=1000)
# A form may tick every component of a rack, each a field of its own; Django's default of 1000 is for the rest of it.
DATA_UPLOAD_MAX_NUMBER_FIELDS = FLOWSCHED_MAX_COMPONENTS_PER_RACK + 1000
FLOWSCHED_HISTORY_DAYS = env.int("FLOWSCHED_HISTORY_DAYS", default=90, minimum=7)

# Execution ------------------------------------------------------------------------------------------------------
FLOWSCHED_WORKER_CONCURRENCY = env.int("FLOWSCHED_WORKER_CONCURRENCY", default=8)
FLOWSCHED_EFFECT_LOG = env.path("FLOWSCHED_EFFECT_LOG", default=DATA_DIR / "effects.jsonl")

# Engine, runs and the simulated executor ------------------------------------------------------------------------
FLOWSCHED_ENGINE = env.str("FLOWSCHED_ENGINE", default="tasks.engines.procrastinate.ProcrastinateEngine")
FLOWSCHED_RUN_BACKOFF = [
    env.seconds("FLOWSCHED_RUN_BACKOFF_FIRST", default=1.0),
    env.seconds("FLOWSCHED_RUN_BACKOFF_SECOND", default=4.0),
]
# A JSON file that makes simulated components slow or faulty, see tasks/executors/simulated.py; none is fine.
FLOWSCHED_SIMULATED = env.path("FLOWSCHED_SIMULATED", default=DATA_DIR / "simulated.json")
FLOWSCHED_SIMULATED_LATENCY = env.seconds("FLOWSCHED_SIMULATED_LATENCY", default=0.05)  # a component

# HTTP calls -----------------------------------------------------------------------------------------------------
FLOWSCHED_CALL_CONNECTIONS = env.int("FLOWSCHED_CALL_CONNECTIONS", default=8)
FLOWSCHED_CALL_SKIPS_LIMIT = env.int("FLOWSCHED_CALL_SKIPS_LIMIT", default=5)
FLOWSCHED_CALL_NO_EFFECT_LIMIT = env.int("FLOWSCHED_CALL_NO_EFFECT_LIMIT", default=5)
# JSON, or the path of a file of it; read by tasks/http/endpoints.py when the process starts, and refused there.
FLOWSCHED_ENDPOINTS = env.str("FLOWSCHED_ENDPOINTS")

# Run history in ClickHouse --------------------------------------------------------------------------------------
# Unset: PostgreSQL alone keeps history, for FLOWSCHED_HISTORY_DAYS. The same for every process of an installation.
FLOWSCHED_CLICKHOUSE_URL = env.address("FLOWSCHED_CLICKHOUSE_URL")
FLOWSCHED_CLICKHOUSE_CA = env.file("FLOWSCHED_CLICKHOUSE_CA")

# The gRPC door -------------------------------------------------------------------------------------------------
FLOWSCHED_GRPC_THREADS = env.int("FLOWSCHED_GRPC_THREADS", default=10)
FLOWSCHED_GRPC_DEADLINE = env.seconds("FLOWSCHED_GRPC_DEADLINE", default=30.0)
FLOWSCHED_GRPC_CERT = env.file("FLOWSCHED_GRPC_CERT")
FLOWSCHED_GRPC_KEY = env.file("FLOWSCHED_GRPC_KEY")
FLOWSCHED_GRPC_CLIENT_CA = env.file("FLOWSCHED_GRPC_CLIENT_CA")
FLOWSCHED_GRPC_USERS = env.pairs("FLOWSCHED_GRPC_USERS")
FLOWSCHED_GRPC_REFLECTION = env.bool("FLOWSCHED_GRPC_REFLECTION", default=not PRODUCTION)

# What the build wrote into the environment; Version answers it.
FLOWSCHED_BUILD_TIME = env.str("FLOWSCHED_BUILD_TIME", default="unknown")
FLOWSCHED_GIT_COMMIT = env.str("FLOWSCHED_GIT_COMMIT", default="unknown")
