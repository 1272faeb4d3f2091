"""Reading settings from the environment: typed, bounded, and refused with the variable's name when they make no sense.

A setting that is silently misread (`FLOWSCHED_DEBUG=ture`, an interval of zero) shows itself weeks later as a
scheduler that spins or a page that leaks; here it stops the process at its start, saying what to set instead. The
file and lists are read by django-environ. Its numbers and switches are not used, since they take `ture` for off and
`10,5` for 10.5, nor its `$` references, since a key may begin with that character.

`Environment.load` also reads the developer's file that `bin/up` writes, so that commands typed in a clone work with
nothing exported. That file switches DEBUG on, so it must never reach a real deployment: as soon as the environment
itself names a secret key or a database, or asks for tests, the file is left alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any, TypeAlias

import environ
from django.core.exceptions import ImproperlyConfigured
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from flowsched.address import Address

REPOSITORY = Path(__file__).resolve().parent.parent
LINE = re.compile(r"(export )?[A-Za-z_0-9]+=")
YES = frozenset({"1", "true", "yes", "on"})
NO = frozenset({"0", "false", "no", "off", ""})
# Any of these in the environment itself: whoever started this process configured it, and the file stays unread.
CONFIGURED_BY = ("FLOWSCHED_SECRET_KEY", "DATABASE_URL", "FLOWSCHED_TESTING")

# The methods below are called like the types they give, which hides those types' names inside the class.
Text: TypeAlias = str
Number: TypeAlias = float
Whole: TypeAlias = int
Switch: TypeAlias = bool
Words: TypeAlias = list[str]


class Environment:
    """Typed reads of a mapping of variables; every complaint names the variable."""

    def __init__(self, variables: Mapping[Text, str]) -> None:
        self._variables = dict(variables)

    @classmethod
    def load(cls, developer_file: Path, variables: Mapping[Text, str] | None = None) -> Environment:
        """The process's environment, over the developer's file where that applies."""
        own = dict(os.environ if variables is None else variables)
        asked_for_debug = own.get("FLOWSCHED_DEBUG", "").strip().lower() in YES
        if any(own.get(name) for name in CONFIGURED_BY) and not asked_for_debug:
            return cls(own)
        return cls(read_file(developer_file) | own)

    def __contains__(self, name: Text) -> Switch:
        return bool(self._variables.get(name, "").strip())

    def str(self, name: Text, default: Text = "") -> Text:
        """The text of a variable; set but empty is as good as not set."""
        return self._variables.get(name, "").strip() or default

    def choice(self, name: Text, default: Text, choices: Sequence[Text]) -> Text:
        """One of a few words."""
        value = self.str(name, default)
        if value not in choices:
            raise ImproperlyConfigured(f"{name} is {value!r}; it must be one of: {', '.join(choices)}.")
        return value

    def bool(self, name: Text, default: Switch = False) -> Switch:
        """A switch."""
        value = self.str(name, "1" if default else "0").lower()
        if value not in YES | NO:
            raise ImproperlyConfigured(f"{name} is {value!r}; it must be 1 or 0.")
        return value in YES

    def int(self, name: Text, default: Whole, *, minimum: Whole = 1) -> Whole:
        """A whole number, at least `minimum`."""
        text = self.str(name, str(default))
        try:
            value = int(text)
        except ValueError:
            raise ImproperlyConfigured(f"{name} is {text!r}; it must be a whole number.") from None
        if value < minimum:
            raise ImproperlyConfigured(f"{name} is {value}; it must be at least {minimum}.")
        return value

    def float(self, name: Text, default: Number, *, above: Number = 0.0) -> Number:
        """A number greater than `above`, and finite."""
        text = self.str(name, str(default))
        try:
            value = float(text)
        except ValueError:
            raise ImproperlyConfigured(f"{name} is {text!r}; it must be a number.") from None
        if not above < value < float("inf"):
            raise ImproperlyConfigured(f"{name} is {text}; it must be greater than {above:g}.")
        return value

    def seconds(self, name: Text, default: Number) -> timedelta:
        """A length of time, given in seconds, greater than zero."""
        try:
            value = timedelta(seconds=self.float(name, default))
        except OverflowError:
            raise ImproperlyConfigured(f"{name} is too long; give seconds.") from None
        if not value:
            raise ImproperlyConfigured(f"{name} is below a microsecond; give seconds.")
        return value

    def list(self, name: Text, default: Sequence[Text] = ()) -> Words:
        """Words divided by commas."""
        words: Words = [word.strip() for word in environ.Env.parse_value(self.str(name), list) if word.strip()]
        return words or list(default)

    def path(self, name: Text, default: Path) -> Path:
        """An absolute path. A relative one counts from the repository, so that every process means the same folder."""
        return REPOSITORY / Path(self.str(name, str(default))).expanduser()

    def file(self, name: Text) -> Path | None:
        """A path as above, of a file that need not be named."""
        return REPOSITORY / Path(self.str(name)).expanduser() if name in self else None

    def pairs(self, name: Text) -> dict[Text, Text]:
        """`this=that` pairs divided by commas; `this` may hold more equal signs."""
        found: dict[Text, Text] = {}
        for word in self.list(name):
            this, equals, that = (part.strip() for part in word.rpartition("="))
            if not (equals and this and that) or this in found:
                raise ImproperlyConfigured(f"{name}: {word!r} is no name=value, or its name is there twice.")
            found[this] = that
        return found

    def address(self, name: Text) -> Address | None:
        """The URL of a service that need not be named."""
        return Address.parse(self.str(name), name=name) if name in self else None

    def database(self, name: Text) -> dict[Text, object]:
        """A postgresql:// URL as Django's NAME, USER, PASSWORD, HOST, PORT and OPTIONS; libpq's own rules decide."""
        url = self.str(name)
        if not url.startswith(("postgresql://", "postgres://")):
            scheme = url.partition(":")[0]
            raise ImproperlyConfigured(f"{name} starts with {scheme!r}; it must be postgresql://user@host/database.")
        try:
            parts = conninfo_to_dict(url)
        except ProgrammingError as error:
            # The text of the error never repeats the URL, which holds a password.
            raise ImproperlyConfigured(f"{name} cannot be read: {str(error).split(chr(34))[0].strip()}.") from None
        if not parts.get("dbname"):
            raise ImproperlyConfigured(f"{name} names no database; it must be postgresql://user@host/database.")
        named = {"NAME": "dbname", "USER": "user", "PASSWORD": "password", "HOST": "host", "PORT": "port"}
        found: dict[Text, object] = {key: Text(parts.pop(part, None) or "") for key, part in named.items()}
        return found | {"OPTIONS": parts}


def read_file(path: Path) -> dict[str, str]:
    """The NAME=value lines of a file; none where there is no file or it is not ours to read."""
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, PermissionError):
        return {}
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() and not line.startswith("#") and not LINE.match(line):
            raise ImproperlyConfigured(f"{path}, line {number}: expected NAME=value.")
    reader: Any = type("DeveloperFile", (environ.Env,), {"ENVIRON": {}})  # not os.environ, which it would write to
    reader.read_env(StringIO(text))
    return dict(reader.ENVIRON)
