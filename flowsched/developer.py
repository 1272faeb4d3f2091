"""`python -m flowsched.developer`: make the developer's file, so that commands typed in a clone need no exports.

`bin/up` calls it before Django starts. The file switches DEBUG on and holds a key of this clone's own; settings leave
it alone as soon as the environment itself configures a deployment (see flowsched/environment.py).
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from flowsched.environment import CONFIGURED_BY, REPOSITORY

TEXT = """\
# Made by bin/up for this clone, on a developer's machine; not under version control. The environment wins over it, and
# nothing here is read once the environment sets {configured_by}.
FLOWSCHED_DEBUG=1
FLOWSCHED_EXECUTOR=simulated
FLOWSCHED_SECRET_KEY={key}
"""


def make(path: Path) -> bool:
    """Write the file unless it is there; whether it was written."""
    text = TEXT.format(configured_by=" or ".join(CONFIGURED_BY), key=secrets.token_urlsafe(48))
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.link(partial, path)  # of several at once, one wins and the others keep its key
    except FileExistsError:
        return False
    finally:
        partial.unlink()
    return True


if __name__ == "__main__":
    target = REPOSITORY / ".env"
    if not any(os.environ.get(name) for name in CONFIGURED_BY) and not target.exists():
        make(target)
