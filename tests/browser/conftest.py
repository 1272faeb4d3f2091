"""A real browser on a real server: Debian's Chromium, the product's own pages, the test's own database.

Whatever the page logs as an error, asks for elsewhere or fails to get fails the test.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore

from tests.console.calls import configure
from tests.console.conftest import staff

os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "1")  # the browser's driver runs a loop of its own in this thread
ZONE = "America/New_York"
# How the browser and htmx report an answer of 4xx.
REFUSED = ("the server responded with a status of", "Response Status Error Code")


@pytest.fixture(autouse=True)
def endpoints(settings, monkeypatch):
    """What schedules of HTTP calls may call; nobody listens there."""
    configure(settings, monkeypatch)


@pytest.fixture(scope="module")
def chromium():
    """The browser, started once a module. There is no skipping: without one the tests fail.

    No longer than that: its driver keeps an event loop running in this thread, in which others cannot start theirs.
    """
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  its import is slow, and only these tests need it

    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    assert path, "no Chromium: run bin/browser, or name one in CHROMIUM"
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        )
        yield browser
        browser.close()


@dataclass
class Watched:
    """A page that notes whatever goes wrong on it. `allowed` are answers a test expects to be refused with."""

    page: object
    site: str
    troubles: list[str] = field(default_factory=list)
    allowed: set[int] = field(default_factory=set)

    def goto(self, path: str):
        """Open a page of the site."""
        return self.page.goto(self.site + path)

    def watch(self) -> None:
        """Note console errors, page errors, failed and foreign requests."""

        def answered(response) -> None:
            if response.status >= 400 and response.status not in self.allowed:
                self.troubles.append(f"{response.status} {response.url}")

        def said(message) -> None:
            refused = any(words in message.text for words in REFUSED)
            if message.type == "error" and not (refused and self.allowed):
                self.troubles.append(f"console: {message.text}")

        def asked(request) -> None:
            if not request.url.startswith((self.site, "data:", "blob:")):
                self.troubles.append(f"asked elsewhere: {request.url}")

        def failed(request) -> None:
            if request.failure != "net::ERR_ABORTED":  # a newer request took its place
                self.troubles.append(f"failed: {request.url} {request.failure}")

        self.page.on("console", said)
        self.page.on("pageerror", lambda error: self.troubles.append(f"error: {error}"))
        self.page.on("response", answered)
        self.page.on("request", asked)
        self.page.on("requestfailed", failed)


@pytest.fixture
def open_as(chromium, live_server, transactional_db) -> Iterator:
    """Open a browser signed in as a role; what went wrong on any of its pages fails the test at its end."""
    contexts, opened = [], []

    def opening(role: str | None = "admin", *, width: int = 1280, scheme: str = "light", zone: str = ZONE) -> Watched:
        context = chromium.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, timezone_id=zone, reduced_motion="reduce"
        )
        contexts.append(context)
        if role:
            context.add_cookies(
                [{"name": settings.SESSION_COOKIE_NAME, "value": _session(role), "url": live_server.url}]
            )
            context.add_cookies([{"name": "fs_tz", "value": zone, "url": live_server.url}])
        page = context.new_page()
        page.set_default_timeout(10_000)
        watched = Watched(page, live_server.url)
        watched.watch()
        opened.append(watched)
        return watched

    yield opening
    for context in contexts:
        context.close()
    troubles = [trouble for watched in opened for trouble in watched.troubles]
    assert not troubles, troubles


def _session(role: str) -> str:
    user = staff(role)
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.create()
    return session.session_key
