"""I-50, I-51, I-52, D-26, D-16: every row of the tables."""

import random
from datetime import UTC, datetime
from itertools import pairwise

import pytest

from tasks.http.call import Policy
from tasks.http.outcome import MAX_WAIT, backoff, broken, cancelled, classify, retryable, timed_out
from tasks.states import TASK_STATUS_OF_RUN, RunState, TaskStatus

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)

# I-50, first to sixth row: code, status, state, error_type, and whether a call that may be repeated is tried again.
ANSWERS = [
    *(("api", status, "succeeded", "", False) for status in (200, 201, 202, 204, 206, 299)),
    *(("api", status, "failed", f"http_{status}", False) for status in (100, 199, 300, 301, 302, 304, 307, 308)),
    *(
        ("api", status, "failed", f"http_{status}", False)
        for status in (400, 401, 403, 404, 408, 409, 422, 425, 451, 499)
    ),
    *(("api", status, "failed", f"http_{status}", True) for status in (429, 500, 501, 502, 503, 504, 599, 600)),
    ("gateway", 202, "succeeded", "", False),
    ("gateway", 204, "no_effect", "", False),
    *(("gateway", status, "failed", f"http_{status}", False) for status in (200, 201, 203, 205, 299)),
    *(("gateway", status, "failed", f"http_{status}", False) for status in (301, 302, 400, 401, 404, 409)),
    *(("gateway", status, "failed", f"http_{status}", True) for status in (429, 500, 503, 599)),
]


@pytest.mark.parametrize(("code", "status", "state", "error_type", "again"), ANSWERS)
def test_i50_i51_answers(code, status, state, error_type, again):
    verdict = classify(code, status)
    assert (verdict.state, verdict.error_type) == (state, error_type)
    assert retryable(verdict, status, idempotent=True) is again
    assert retryable(verdict, status, idempotent=False) is False
    if state == "failed":
        assert str(status) in verdict.message


def test_i95_a_gateway_that_says_200_is_told_apart():
    """Not their empty error_type: the sentence says which statuses are an answer."""
    assert classify("gateway", 200).message == "the target answered 200 (OK): a gateway accepts with 202 or 204"
    assert classify("gateway", 404).message == "the target answered 404 (Not Found)"


# I-50, last two rows, and D-26: what happened, sent, may be repeated; state, error_type, tried again.
FAILURES = [
    ("timeout", False, False, "timed_out", "timeout", False),
    ("timeout", False, True, "timed_out", "timeout", True),
    ("timeout", True, False, "unknown", "timeout", False),
    ("timeout", True, True, "timed_out", "timeout", True),
    ("broken", False, False, "failed", "transport", False),
    ("broken", False, True, "failed", "transport", True),
    ("broken", True, False, "unknown", "transport", False),
    ("broken", True, True, "failed", "transport", True),
]


@pytest.mark.parametrize("row", FAILURES, ids=str)
def test_i50_d26_no_answer(row):
    what, sent, idempotent, state, error_type, again = row
    if what == "timeout":
        verdict = timed_out(seconds=1.5, sent=sent, idempotent=idempotent)
        assert "1.5 s" in verdict.message
    else:
        verdict = broken("connection reset", sent=sent, idempotent=idempotent)
        assert "connection reset" in verdict.message
    assert (verdict.state, verdict.error_type) == (state, error_type)
    assert retryable(verdict, 0, idempotent=idempotent) is again
    assert ("may have been carried out" in verdict.message) is (state == "unknown")


@pytest.mark.parametrize(("sent", "words"), [(True, "may already have been sent"), (False, "nothing was sent")])
def test_i34_cancelled(sent, words):
    verdict = cancelled(sent=sent)
    assert (verdict.state, verdict.error_type) == (RunState.CANCELLED, "cancelled")
    assert words in verdict.message
    assert not retryable(verdict, 0, idempotent=True)


def test_d17_no_verdict_but_unknown_leaves_the_task_open():
    open_states = {state for state, status in TASK_STATUS_OF_RUN.items() if status is TaskStatus.RUNNING}
    assert open_states == {RunState.RUNNING, RunState.UNKNOWN}


class Always(random.Random):
    """Chance that always says the same."""

    def __init__(self, value):
        super().__init__()
        self.value = value

    def random(self):
        return self.value


# I-52: the wait after attempt n, without jitter.
WAITS = [
    *(("none", attempt, 0) for attempt in (1, 2, 10)),
    *(("linear", attempt, attempt) for attempt in (1, 2, 3, 10)),
    *(("exponential", attempt, 2 ** (attempt - 1)) for attempt in (1, 2, 3, 4, 8, 9)),
    # capped: D-26, I-90
    *(("exponential", attempt, 300) for attempt in (10, 11, 5000)),
    ("linear", 301, 300),
]


@pytest.mark.parametrize(("kind", "attempt", "seconds"), WAITS)
def test_i52_waits(kind, attempt, seconds):
    policy = Policy(retry_backoff=kind)
    assert backoff(policy, attempt, None, Always(0.0), now=NOW) == seconds
    assert backoff(policy, attempt, None, Always(1.0), now=NOW) == min(seconds * 1.25, 300)


RETRY_AFTER = [
    ("120", 120),
    (" 7 ", 7),
    ("0", 0),
    ("300", 300),
    ("301", 300),
    ("999999999999999999", 300),
    ("Sun, 01 Mar 2026 12:01:40 GMT", 100),
    ("Sunday, 01-Mar-26 12:01:40 GMT", 100),
    ("Sun Mar  1 12:01:40 2026", 100),
    ("Sun, 01 Mar 2026 13:01:40 +0100", 100),
    ("Sun, 01 Mar 2026 11:00:00 GMT", 0),
    ("Sun, 01 Mar 2099 12:00:00 GMT", 300),
    ("-5", 0),
    ("1.5", 0),
    ("soon", 0),
    ("", 0),
    (None, 0),
    ("9" * 400, 0),
    ("\u0661\u0662", 0),
    ("Sun, 99 Mar 2026 99:99:99 GMT", 0),
    ("Sun, 01 Mar 99999 12:00:00 GMT", 0),
    ("\x00\r\n", 0),
]


@pytest.mark.parametrize(("header", "seconds"), RETRY_AFTER)
def test_d26_retry_after(header, seconds):
    """Seconds or a date, also where the policy waits for nothing; at most five minutes; what is neither is ignored."""
    assert backoff(Policy(retry_backoff="none"), 1, header, Always(0.0), now=NOW) == seconds
    assert backoff(Policy(retry_backoff="exponential"), 6, header, Always(0.0), now=NOW) == max(seconds, 32)


def test_d26_jitter_spreads_and_never_shortens():
    """A thousand calls that failed in the same second do not come back in the same."""
    chance = random.Random(1)
    waits = sorted(backoff(Policy(), 6, None, chance, now=NOW) for _ in range(1000))
    assert waits[0] >= 32
    assert waits[-1] <= 40
    assert max(later - earlier for earlier, later in pairwise(waits)) < 1
    assert max(backoff(Policy(), attempt, "299", chance, now=NOW) for attempt in range(1, 12)) <= MAX_WAIT
