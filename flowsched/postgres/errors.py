"""The embedded database's one error."""

from django.db import OperationalError


class StartFailed(OperationalError):
    """No server could be started; the message says why and what to do.

    A kind of OperationalError, so that whatever survives a database that is away survives this too.
    """
