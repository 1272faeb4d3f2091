"""Servers for this folder's tests, and senders that are closed at the end."""

import pytest

from tasks.http.transport import Sender
from tests.http_servers.servers import authority, httpbin, oauth, sink, tls_sink

__all__ = ["authority", "httpbin", "oauth", "sink", "tls_sink"]


@pytest.fixture
def sender():
    """A sender of this test's own."""
    made = Sender()
    yield made
    made.close()
