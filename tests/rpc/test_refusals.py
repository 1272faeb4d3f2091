"""Refusals as details: each names its rack, and all of them together fit into what a client takes."""

from __future__ import annotations

import base64
import uuid

import pytest
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status

from flowsched.errors import Refusal
from rpc.refusals import KEY, refusal_infos, refusals_status, trail_refusals
from tests.rpc.calls import Context

A_CLIENT_TAKES = 8 * 1024


def refusal(number, name="rack", reason="rack is busy"):
    return Refusal(uuid.UUID(int=number + 1), f"{name}-{number}", "rejected", "rack_busy", reason)


def infos(status):
    found = []
    for detail in status.details:
        info = ErrorInfo()
        assert detail.Unpack(info)
        found.append(info)
    return found


def test_d13_one_detail_a_rack():
    """D-13."""
    rackless = Refusal(None, "", "failed", "", "no rack")
    named, other = infos(refusals_status([refusal(0), rackless]))
    metadata = {
        "rack_id": "00000000-0000-0000-0000-000000000001",
        "rack_name": "rack-0",
        "outcome": "rejected",
        "reason": "rack is busy",
    }
    assert (named.reason, named.domain, dict(named.metadata)) == ("RACK_BUSY", "flowsched", metadata)
    assert (other.reason, dict(other.metadata)) == (
        "FAILED",
        {"rack_name": "", "outcome": "failed", "reason": "no rack"},
    )


@pytest.mark.parametrize("count", [1, 20, 5000])
@pytest.mark.parametrize(("name", "reason"), [("r", "busy"), ("ж" * 250, "ж" * 5000), ("rack", "x" * 300)])
def test_d13_what_is_sent_fits_and_the_rest_is_counted(count, name, reason):
    """D-13, TH-12: in base64, beside the other things of a trailer."""
    context = Context()
    trail_refusals(context, [refusal(number, name, reason) for number in range(count)])
    [(key, data)] = context.trailer
    assert len(key) + len(base64.b64encode(data)) + 32 < A_CLIENT_TAKES - 512
    status = Status.FromString(data)
    *named, last = infos(status)
    if last.reason != "MORE_REFUSALS":
        assert len(status.details) == count
        return
    assert len(named) + int(last.metadata["count"]) == count
    assert named, "the first always fits"
    assert [info.metadata["rack_id"] for info in named] == [str(uuid.UUID(int=n + 1)) for n in range(len(named))]
    assert status.message == f"{count} racks refused"


def test_d13_no_detail_is_left_out_that_would_fit():
    """The room is used: one more would not fit, and where all fit no room is kept for a count."""
    many = [refusal(number) for number in range(1000)]
    size = refusals_status(many[:1]).ByteSize()
    *named, more = refusal_infos(many, room=3000)
    assert more.reason == "MORE_REFUSALS"
    assert (len(named) + 1) * size > 3000 - 160 - size
    ten = refusals_status(many[:10])
    assert infos(refusals_status(many[:10], room=ten.ByteSize() + 20)) == infos(ten)
    assert infos(refusals_status(many[:10], room=ten.ByteSize() - 8))[-1].reason == "MORE_REFUSALS"


def test_nothing_refused_adds_nothing():
    context = Context()
    trail_refusals(context, ())
    assert context.trailer == ()
    context.trailer = None  # what a server's context says before anything is set
    trail_refusals(context, [refusal(1)])
    assert [key for key, _ in context.trailer] == [KEY]
