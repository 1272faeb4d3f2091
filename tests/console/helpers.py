"""Reading pages: links, forms, budgets, and whether a GET left the database alone."""

from __future__ import annotations

import html
import re

from django.db import connection
from django.test.utils import CaptureQueriesContext

TABLES = ("task_schedule", "task_schedule_scope", "firing", "firing_scope", "task", "run", "rack", "audit_entry")
BUDGET = 14  # fewer than 15 queries a page


def text_of(response) -> str:
    """The page's text, without tags."""
    body = re.sub(r"<(script|style|svg).*?</\1>", " ", response.content.decode(), flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())


def hidden(response) -> dict[str, str]:
    """The hidden inputs of the confirmation form."""
    body = response.content.decode()
    form = body[body.index('class="confirm"') :]
    found = re.findall(r'<input type="hidden" name="(seen|nonce)" value="([^"]*)"', form)
    return dict(found)


def stored() -> str:
    """A digest of every row of the product's tables."""
    with connection.cursor() as cursor:
        sums = []
        for table in TABLES:
            cursor.execute(f"SELECT md5(COALESCE(string_agg(t::text, '|' ORDER BY t::text), '')) FROM {table} t")
            sums.append(cursor.fetchone()[0])
    return " ".join(sums)


def queries_of(client, path: str) -> int:
    """How many statements a GET takes."""
    with CaptureQueriesContext(connection) as queries:
        assert client.get(path).status_code == 200
    return len(queries)
