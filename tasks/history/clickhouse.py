"""The way to ClickHouse: clickhouse-connect's HTTP client, and one kind of error for whatever goes wrong with it.

The library is loaded when ClickHouse is configured, and not before: it brings numpy along.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from django.conf import settings

from flowsched.address import Address
from flowsched.errors import FlowschedError, PreconditionFailed, Unavailable

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

CONNECT_SECONDS = 2
# What ClickHouse answers where `clickhouse_init` is what helps: no such database, no such table, no such column.
_NOT_MADE = frozenset({16, 47, 60, 81})
_REFUSED = frozenset({192, 193, 194, 497, 516})


class ClickHouseAway(Unavailable):
    """ClickHouse does not answer, or not with what was asked for. What PostgreSQL holds is there all the same."""


def configured() -> Address:
    """The address that is configured; PreconditionFailed where none is."""
    address: Address | None = settings.FLOWSCHED_CLICKHOUSE_URL
    if address is None:
        raise PreconditionFailed("no ClickHouse is configured: set FLOWSCHED_CLICKHOUSE_URL", reason="NO_CLICKHOUSE")
    return address


def connect(address: Address, *, seconds: int, database: bool = True) -> Client:
    """A client whose answers may take `seconds`; it asks the server a few things at once. Raises ClickHouseAway.

    No proxy of the environment's is used: it would be told our password. Answers carry no session, so that threads
    may share a client.
    """
    import clickhouse_connect  # noqa: PLC0415  see the module
    from clickhouse_connect.driver import httputil  # noqa: PLC0415

    ca = settings.FLOWSCHED_CLICKHOUSE_CA
    with told(address):
        return clickhouse_connect.get_client(
            interface=address.scheme,
            host=address.host,
            port=address.port,
            username=address.user,
            password=address.password,
            database=address.database if database else None,
            connect_timeout=CONNECT_SECONDS,
            send_receive_timeout=seconds,
            query_limit=0,
            query_retries=0,
            autogenerate_session_id=False,
            client_name="flowsched",
            tz_mode="aware",
            pool_mgr=httputil.get_pool_manager(ca_cert=str(ca) if ca else None, maxsize=4, num_pools=1),
        )


@contextmanager
def told(address: Address) -> Iterator[None]:
    """Turn whatever clickhouse-connect raises into ClickHouseAway: where, what, what to do, never the password.

    Whatever: of a worker's chores this is the least, and must not end it.
    """
    try:
        yield
    except FlowschedError:
        raise
    except Exception as error:
        code = getattr(error, "code", None)
        if code in _NOT_MADE:
            raise ClickHouseAway(
                f"ClickHouse at {address} lacks what is written there: run manage.py clickhouse_init"
            ) from error
        if code in _REFUSED:
            message = f"ClickHouse at {address} does not let {address.user} do this (code {code})"
            raise ClickHouseAway(message) from error
        raise ClickHouseAway(f"ClickHouse at {address}: {_said(error, address)}") from error


def _said(error: Exception, address: Address) -> str:
    """The first words of an error, for one line of a log."""
    inner = error.__cause__ or error
    reason = getattr(inner, "reason", None)  # of urllib3's, that all attempts failed
    said = reason if isinstance(reason, Exception) else inner
    text = " ".join(str(said).split()) or type(said).__name__
    if address.password:
        text = text.replace(address.password, "[password]")
    return text if len(text) <= 300 else f"{text[:300]}…"  # noqa: PLR2004  a line of a log
