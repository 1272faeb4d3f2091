"""Who calls: a bearer token in the metadata, or a client certificate whose name stands for a user (D-22, TH-13).

A token wins where both are given. It says which user or program speaks; the certificate, which machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from access.callers import Caller, by_token, by_username
from flowsched.errors import Unauthenticated

Metadata = Iterable[tuple[str, str | bytes]]

HEADER: Final = "authorization"
ALTERNATIVE_NAMES: Final = "x509_subject_alternative_name"
_SCHEME: Final = "bearer"
_SHOWN: Final = 3


def caller_of(metadata: Metadata, certificate: Mapping[str, Any], users: Mapping[str, str]) -> Caller:
    """The caller that metadata or certificate name. `users` maps alternative names of certificates to user names.

    Raises Unauthenticated: nothing shown, a token that is not known, a certificate that stands for nobody.
    """
    given = [value for key, value in metadata if key == HEADER]
    if given:
        return by_token(_token(given))
    names = [name.decode(errors="replace") for name in certificate.get(ALTERNATIVE_NAMES, ())]
    if not names:
        raise Unauthenticated(
            "send a token in the metadata as authorization: Bearer <token>; manage.py token create makes one",
            reason="NO_CREDENTIALS",
        )
    found = {users[name] for name in names if name in users}
    if len(found) != 1:
        shown = ", ".join(names[:_SHOWN])
        problem = "stands for several users" if found else "stands for no user"
        raise Unauthenticated(
            f"the client certificate ({shown}) {problem}: map one of its names to one user in FLOWSCHED_GRPC_USERS, "
            "or send a token",
            reason="CERTIFICATE_UNKNOWN",
        )
    return by_username(found.pop())


def _token(given: list[str | bytes]) -> str:
    scheme, _, text = str(given[0]).partition(" ")
    if len(given) > 1 or scheme.lower() != _SCHEME:
        raise Unauthenticated("send one token, as authorization: Bearer <token>", reason="SCHEME")
    return text.strip()
