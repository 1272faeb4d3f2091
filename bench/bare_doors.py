"""The peers of `bench.doors`: a DRF view and a grpcio method that do nothing but answer.

No caller, no database, no checks: what is left is what the frameworks take for a request under the same server with
the same workers and threads. `gunicorn bench.bare_doors:application`, `python -m bench.bare_doors HOST:PORT THREADS`.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import django
import grpc
from django.conf import settings

ANSWER = {"id": "3f6c1f5e-6d0c-4f0e-9d3c-0d6f0f3d1a11", "name": "bare", "enabled": True}


def _application() -> Any:
    settings.configure(
        SECRET_KEY="bare",
        ALLOWED_HOSTS=["*"],
        ROOT_URLCONF=__name__,
        INSTALLED_APPS=["rest_framework"],
        REST_FRAMEWORK={
            "DEFAULT_AUTHENTICATION_CLASSES": [],
            "DEFAULT_PERMISSION_CLASSES": [],
            "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
            "UNAUTHENTICATED_USER": None,
        },
    )
    django.setup()
    from django.core.wsgi import get_wsgi_application  # noqa: PLC0415  after setup
    from django.urls import path  # noqa: PLC0415
    from rest_framework.response import Response  # noqa: PLC0415
    from rest_framework.views import APIView  # noqa: PLC0415

    class Bare(APIView):
        def get(self, request: Any) -> Response:
            return Response(ANSWER)

    globals()["urlpatterns"] = [path("bare/", Bare.as_view())]
    return get_wsgi_application()


def serve(address: str, threads: int) -> None:
    """One unary method that answers bytes."""
    server = grpc.server(ThreadPoolExecutor(threads))
    handler = grpc.unary_unary_rpc_method_handler(lambda request, _context: request)
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("Bare", {"Echo": handler})])
    server.add_insecure_port(address)
    server.start()
    server.wait_for_termination()


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
elif not settings.configured:  # under gunicorn
    application = _application()
