"""Which build answers (F-183)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from django.conf import settings

from flowsched import __version__
from rpc.call import Call, Method
from rpc.proto.flow_pb2 import BuildInfo


def _version(_call: Call, _request: Any) -> BuildInfo:
    return BuildInfo(
        version=__version__, build_time=settings.FLOWSCHED_BUILD_TIME, git_commit=settings.FLOWSCHED_GIT_COMMIT
    )


METHODS: Final[Mapping[str, Method]] = {"Version": Method("", _version)}
