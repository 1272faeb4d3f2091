"""Settings under which bin/up's dispatcher and worker are stand-ins that do as the test says."""

from flowsched.settings import *  # noqa: F403
from flowsched.settings import INSTALLED_APPS as _APPS

INSTALLED_APPS = ["tests.ground.stubs", *_APPS]
