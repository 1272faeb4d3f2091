"""The web doors for a WSGI server: `gunicorn flowsched.wsgi`."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "flowsched.settings")

application = get_wsgi_application()
