"""Reading what a failed call says besides its status: google.rpc details, and the refusals of a call that went well."""

from __future__ import annotations

from typing import Any, Self

import grpc
import pytest
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status

REFUSALS = "flowsched-refusals-bin"


class Details:
    """The details of a status, by kind."""

    def __init__(self, details: Any) -> None:
        self.infos: list[error_details_pb2.ErrorInfo] = []
        self.violations: dict[str, str] = {}
        for detail in details:
            self._read(detail)

    def _read(self, detail: any_pb2.Any) -> None:
        info, request = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
        if detail.Unpack(info):
            self.infos.append(info)
        elif detail.Unpack(request):
            self.violations |= {one.field: one.description for one in request.field_violations}

    @property
    def reasons(self) -> list[str]:
        return [info.reason for info in self.infos]


def details_of(error: grpc.RpcError) -> Details:
    """The details that came with an error; none where it has none."""
    status = rpc_status.from_call(error)
    return Details(status.details if status else ())


def refusals_of(call: grpc.Call) -> Details:
    """The racks that a successful call names as refused (D-13)."""
    for key, value in call.trailing_metadata() or ():
        if key == REFUSALS:
            return Details(status_pb2.Status.FromString(value).details)
    return Details(())


class Refused:
    """`with refused("NOT_FOUND") as it:` then `it.error`, `it.details`."""

    def __init__(self, code: str) -> None:
        self.code = grpc.StatusCode[code]
        self._raises = pytest.raises(grpc.RpcError)

    def __enter__(self) -> Self:
        self._info = self._raises.__enter__()
        return self

    def __exit__(self, *happened: object) -> bool:
        self._raises.__exit__(*happened)
        assert self.error.code() is self.code, (self.error.code(), self.error.details())
        assert self.error.details(), "a status without a word"
        return True

    @property
    def error(self) -> Any:
        return self._info.value

    @property
    def details(self) -> Details:
        return details_of(self.error)


refused = Refused
