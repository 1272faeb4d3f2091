"""HTTP calls: one step a task, one request an attempt, and a record of what came back.

Promises what every executor does: nothing is sent before the guard returned, and a request that may have left is never
said not to have. What must not be sent twice ends as `unknown` when its answer is lost, and a person decides (D-16).
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any

from flowsched import clock
from flowsched.errors import InvalidInput, NotFound
from flowsched.faults import fault
from tasks.control import Released
from tasks.executors.base import Capabilities, Interrupted, Step, StepContext, StepResult, StepState
from tasks.http.call import HttpCall, call_parse
from tasks.http.context import context_of
from tasks.http.endpoints import Endpoint, call_check, endpoint_of, request_check
from tasks.http.identity import IdentityError, Token, bearer, discard, known_secrets
from tasks.http.outcome import Verdict, backoff, broken, cancelled, classify, retryable, timed_out
from tasks.http.request import Request, request_render
from tasks.http.scrub import excerpt, scrub
from tasks.http.transport import Broken, Call, Cancelled, Refused, Response, Timeout, sender
from tasks.models import Task
from tasks.states import RunState

_STATES = {
    RunState.SUCCEEDED: StepState.CHANGED,
    RunState.NO_EFFECT: StepState.NO_EFFECT,
    RunState.FAILED: StepState.FAILED,
    RunState.TIMED_OUT: StepState.TIMED_OUT,
    RunState.SKIPPED: StepState.SKIPPED,
    RunState.CANCELLED: StepState.CANCELLED,
    RunState.UNKNOWN: StepState.UNKNOWN,
}


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One request on its way: what it is, where to, and as whom."""

    call: HttpCall
    endpoint: Endpoint
    request: Request
    harmless: bool
    token: Token | None = None

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must appear in no record of it."""
        return known_secrets(self.endpoint)


class HttpExecutor:
    """See the module."""

    name = "http"
    capabilities = Capabilities(progress=False, cancellable=True, honours_idempotency_key=False)

    def attempts(self, task: Task) -> int:
        """As many as the call's policy says."""
        try:
            return call_parse(task.code, task.information).policy.retries + 1
        except InvalidInput:
            return 1

    def pause(self, task: Task, attempt: int, asked: str | None) -> float:
        """The policy's, or what the target asked for, with jitter (D-26)."""
        policy = call_parse(task.code, task.information).policy
        return backoff(policy, attempt, asked, random.Random(), now=clock.now())  # noqa: S311 - jitter

    def harmless(self, task: Task) -> bool:
        """Whether the call may be sent again: by its method, or since its endpoint drops a key it has seen."""
        try:
            call = call_parse(task.code, task.information)
            return _harmless(call, endpoint_of(call.target.endpoint))
        except (InvalidInput, NotFound):
            return False

    def facts(self, task: Task) -> dict[str, Any]:
        """Who calls what: I-54's fields, of which the answer fills in the rest."""
        empty = {"http_status": 0, "response_excerpt": "", "error_type": "", "trace_id": task.id.hex, "actor_name": ""}
        try:
            call = call_parse(task.code, task.information)
        except InvalidInput:
            return empty
        return empty | {
            "endpoint": call.target.endpoint,
            "identity_kind": call.identity.kind,
            "principal_name": call.principal_name,
            "consent_id": call.identity.consent_id,
            "target_kind": call.code,
            "target_summary": call.summary,
            "fired_at": task.attributes.get("fired_at"),
        }

    def plan(self, task: Task) -> list[Step]:
        """The one call, with all that its templates may name."""
        parameters = {"code": task.code, "information": task.information, "context": context_of(task)}
        return [Step(component_id=task.id, name="the call", type="", action=task.code, parameters=parameters)]

    def apply(self, step: Step, context: StepContext) -> StepResult:
        """Send the call, and judge what came back."""
        try:
            call = call_parse(step.parameters["code"], step.parameters["information"])
            endpoint = endpoint_of(call.target.endpoint)
            call_check(call, endpoint)
        except (InvalidInput, NotFound) as error:
            return _result(Verdict(RunState.FAILED, "configuration", error.message))
        try:
            request = _keyed(request_render(call, step.parameters["context"]), endpoint, context)
            request_check(request, endpoint)
        except InvalidInput as error:
            return _result(Verdict(RunState.FAILED, "render", error.message))
        attempt = _Attempt(call, endpoint, request, _harmless(call, endpoint))
        try:
            return self._as_somebody(attempt, context)
        except IdentityError as error:
            return _result(Verdict(RunState.SKIPPED, "skipped", scrub(error.message, attempt.secrets)))

    def _as_somebody(self, attempt: _Attempt, context: StepContext) -> StepResult:
        """With a token; a second one if the target refuses the first, which is no attempt of its own (I-38)."""
        if attempt.call.identity.kind == "none":
            return self._send(attempt, context)
        token = bearer(attempt.endpoint, attempt.call.identity)
        result = self._send(replace(attempt, token=token), context)
        if result.facts.get("http_status") != HTTPStatus.UNAUTHORIZED:
            return result
        discard(attempt.endpoint, attempt.call.identity, token.value)
        token = bearer(attempt.endpoint, attempt.call.identity)
        return self._send(replace(attempt, token=token), context)

    def _send(self, attempt: _Attempt, context: StepContext) -> StepResult:
        context.guard()
        token = attempt.token.value if attempt.token else None
        seconds = attempt.call.policy.timeout
        fault("call.before_send")
        call = sender().start(attempt.endpoint, attempt.request, deadline_seconds=seconds, bearer=token)
        call.on_done(context.stir)
        given_up = ""
        try:
            context.wait_until(call.done)
        except Interrupted:
            _stop(call)
            if not call.sent:
                raise
        except Released:
            _stop(call)
            if not call.sent:
                raise
            if attempt.harmless:
                context.in_doubt()
                raise
            given_up = "the worker was stopped before an answer came"
        except BaseException:
            call.cancel()
            raise
        fault("call.after_answer")
        return self._judged(attempt, call, given_up)

    def _judged(self, attempt: _Attempt, call: Call, given_up: str) -> StepResult:
        seconds, facts = attempt.call.policy.timeout, {"actor_name": attempt.token.actor if attempt.token else ""}
        try:
            response = call.result(0)
        except Timeout as error:
            verdict = timed_out(seconds=seconds, sent=error.sent, idempotent=attempt.harmless)
        except Refused as error:
            verdict = Verdict(RunState.FAILED, "refused", scrub(str(error), attempt.secrets))
        except Cancelled as error:
            if given_up:
                verdict = broken(given_up, sent=error.sent, idempotent=attempt.harmless)
            else:
                verdict = cancelled(sent=error.sent)
        except Broken as error:
            verdict = broken(scrub(str(error), attempt.secrets), sent=error.sent, idempotent=attempt.harmless)
        else:
            return self._answered(attempt, response, facts)
        again = retryable(verdict, 0, idempotent=attempt.harmless or not call.sent)
        return _result(verdict, retryable=again, facts=facts)

    def _answered(self, attempt: _Attempt, response: Response, facts: dict[str, Any]) -> StepResult:
        verdict = classify(attempt.call.code, response.status)
        facts["http_status"] = response.status
        if attempt.endpoint.excerpt:
            facts["response_excerpt"] = excerpt(response.excerpt_bytes, response.charset, attempt.secrets)
        again = retryable(verdict, response.status, idempotent=attempt.harmless)
        return _result(verdict, retryable=again, facts=facts, pause=response.headers.get("retry-after"))


def _harmless(call: HttpCall, endpoint: Endpoint) -> bool:
    """A key of ours goes with every request to an endpoint that honours keys, configured or not (I-92)."""
    return endpoint.honours_idempotency_key or call.idempotent(honours_key=False)


def _keyed(request: Request, endpoint: Endpoint, context: StepContext) -> Request:
    if request.key is None and endpoint.honours_idempotency_key:
        return replace(request, key=context.key)
    return request


def _stop(call: Call) -> None:
    """Interrupt it, and wait until it is known whether it had left."""
    call.cancel()
    call.wait()


def _result(
    verdict: Verdict, *, retryable: bool = False, facts: dict[str, Any] | None = None, pause: str | None = None
) -> StepResult:
    told = {"http_status": 0, "response_excerpt": "", **(facts or {}), "error_type": verdict.error_type}
    return StepResult(_STATES[verdict.state], verdict.message, retryable=retryable, pause=pause, facts=told)
