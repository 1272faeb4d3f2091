"""`python -m tests.http_servers.bin`: httpbin as a process. Prints its port when it listens, on 127.0.0.1."""

from __future__ import annotations

from httpbin import app
from werkzeug.serving import make_server


def main() -> None:
    """Serve until killed."""
    server = make_server("127.0.0.1", 0, app, threaded=True)
    print(server.server_port, flush=True)  # noqa: T201  whoever started it waits for this line
    server.serve_forever()


if __name__ == "__main__":
    main()
