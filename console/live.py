"""The part of a page that changes while somebody looks at it: the server's half of `flowsched.js`.

The script asks the page's own address again; the answer is the region alone, or 204 where nothing a person would see
has changed since the digest sent along. Every page with such a region stands on `LivePage`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

from console.frame import frame
from console.moments import moment
from console.pages import Page

REGION: Final = "live"  # the element's id
SEEN: Final = "X-Seen"

# What differs between two renderings of the same facts: "in 3 min", which the script keeps up by itself, and the
# masked token of a form.
_FLEETING: Final = re.compile(r'(data-relative="[^"]*">)[^<]*|(name="csrfmiddlewaretoken" value=")[^"]*')


class LivePage(Page):
    """A page with a live region."""

    def live(
        self, template: str, *, live_template: str, region: Mapping[str, Any], active: bool, **context: Any
    ) -> HttpResponse:
        """The page `template` around its region, or, asked by the script, the region alone.

        The template includes `console/live.html`. `region` is what `live_template` shows beside the frame's names;
        `active` says that something is under way, so that the script asks every few seconds instead of every minute.
        """
        names = frame(self.request, self.viewer)
        shown = render_to_string(live_template, {**names, **region}, self.request)
        banners = render_to_string("console/banners.html", {**names, "out_of_band": True}, self.request)
        digest = digest_of(shown + banners)
        if is_tick(self.request):
            return self._tick(shown + banners, digest, active=active)
        return self.render(
            template,
            live_html=shown,
            live_hash=digest,
            live_active=active,
            live_url=self.request.get_full_path(),
            **context,
        )

    def _tick(self, shown: str, digest: str, *, active: bool) -> HttpResponse:
        """The region, with the banners about the system that stand outside of it; 204 where it has been seen."""
        same = self.request.headers.get(SEEN, "") == digest
        response = HttpResponse(status=HTTPStatus.NO_CONTENT) if same else HttpResponse(shown)
        as_of = moment(self.viewer.now, zone=self.viewer.zone, now=self.viewer.now, seconds=True)
        response["X-Hash"] = digest
        response["X-Active"] = "1" if active else "0"
        response["X-As-Of"] = as_of.iso
        response["X-As-Of-Text"] = as_of.text
        response["Vary"] = "HX-Request, Cookie"
        return response


def is_tick(request: HttpRequest) -> bool:
    """Whether the script asks for the region alone."""
    return request.headers.get("HX-Target") == REGION


def digest_of(html: str) -> str:
    """A digest of what a person sees of this."""
    return hashlib.sha256(_FLEETING.sub(r"\1\2", html).encode()).hexdigest()[:32]
