"""The product's settings with FLOWSCHED_TESTING on, whatever the shell they are read from exports.

For pytest and for the type checker's Django plugin: both must work in a fresh clone with nothing configured.
"""

import os

os.environ["FLOWSCHED_TESTING"] = "1"
for _name in ("FLOWSCHED_SECRET_KEY", "FLOWSCHED_ALLOWED_HOSTS", "FLOWSCHED_DEBUG"):
    os.environ.pop(_name, None)

from flowsched.settings import *  # noqa: E402, F403
