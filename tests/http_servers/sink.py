"""`python -m tests.http_servers.sink LOG`: a target that knows what it was asked, and misbehaves as the path says.

Prints its port when it listens, on 127.0.0.1. Each request that reaches it whole is one line of JSON in LOG, on disk
before a byte of the answer leaves: {key, method, path, query, headers, body, status}. What is counted is that file.
Modes are the first parts of the path, so that one process serves all tests; what follows makes it a test's own.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import socket
import socketserver
import ssl
import struct
import sys
import threading
import time
from urllib.parse import unquote, urlsplit

REASONS = {200: "OK", 202: "Accepted", 204: "No Content", 401: "Unauthorized"}
LIMIT = 20 * 1024 * 1024  # bytes of a request
BLOCK = b"x" * 65536


class Log:
    """The file."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._lock = threading.Lock()

    def append(self, record: dict) -> None:
        line = json.dumps(record).encode() + b"\n"
        with self._lock:
            os.write(self._file, line)
            os.fsync(self._file)


class Handler(socketserver.BaseRequestHandler):
    """One connection, one request."""

    seen: set[str] = set()
    lock = threading.Lock()

    def handle(self) -> None:
        with contextlib.suppress(OSError):  # the client has gone
            if self.server.context is not None:
                self.request = self.server.context.wrap_socket(self.request, server_side=True)
            self.request.settimeout(120)
            self._serve()
            with contextlib.suppress(OSError):
                self.request.shutdown(socket.SHUT_WR)

    def _serve(self) -> None:
        asked = read_request(self.request)
        if asked is None:
            return
        parts = [unquote(part) for part in asked["path"].split("/")[1:]]
        mode, argument = parts[0], parts[1] if len(parts) > 1 else ""
        act = getattr(self, f"mode_{mode.replace('-', '_')}", None)
        if act is None:
            self._log(asked, 404)
            self._answer(404)
        else:
            act(asked, argument)

    def _log(self, asked: dict, status: int | None) -> None:
        self.server.log.append(asked | {"key": asked["headers"].get("idempotency-key"), "status": status})

    def _answer(self, status: int, body: bytes = b"", headers: str = "") -> None:
        length = "" if status == 204 else f"Content-Length: {len(body)}\r\n"
        head = f"HTTP/1.1 {status} {REASONS.get(status, 'Status')}\r\n{length}Connection: close\r\n{headers}\r\n"
        self.request.sendall(head.encode() + (b"" if status == 204 else body))

    def _reset(self) -> None:
        self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.request.close()

    def mode_ok(self, asked: dict, _argument: str) -> None:
        self._log(asked, 200)
        self._answer(200, b'{"ok": true}', "Content-Type: application/json\r\n")

    def mode_status(self, asked: dict, argument: str) -> None:
        """/status/503: and Retry-After where the query says retry_after=…"""
        self._log(asked, int(argument))
        after = dict(part.partition("=")[::2] for part in asked["query"].split("&")).get("retry_after")
        self._answer(int(argument), b"status", f"Retry-After: {unquote(after)}\r\n" if after else "")

    def mode_say(self, asked: dict, argument: str) -> None:
        """/say/200/7b7d: that body, in hexadecimal."""
        self._log(asked, int(argument))
        body = bytes.fromhex(asked["path"].split("/")[3])
        self._answer(int(argument), body, "Content-Type: application/json\r\n")

    def mode_slow(self, asked: dict, argument: str) -> None:
        """/slow/2.5: acted on at once, answered after so many seconds."""
        self._log(asked, 200)
        time.sleep(float(argument))
        self._answer(200, b"slow")

    def mode_drip_headers(self, asked: dict, _argument: str) -> None:
        self._log(asked, 200)
        self._drip(b"HTTP/1.1 200 OK\r\nX-Long: " + b"h" * 3600 + b"\r\nContent-Length: 0\r\n\r\n")

    def mode_drip_body(self, asked: dict, _argument: str) -> None:
        self._log(asked, 200)
        self.request.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 3600\r\n\r\n")
        self._drip(b"b" * 3600)

    def _drip(self, data: bytes) -> None:
        for byte in data:
            self.request.sendall(bytes([byte]))
            time.sleep(1)

    def mode_hang(self, asked: dict, _argument: str) -> None:
        """Acted on, never answered; ends when the client does."""
        self._log(asked, None)
        self.request.settimeout(3600)
        self.request.recv(1)

    def mode_reset_before_apply(self, asked: dict, _argument: str) -> None:
        self._reset()

    def mode_reset_after_apply(self, asked: dict, _argument: str) -> None:
        self._log(asked, None)
        self._reset()

    def mode_reset_in_body(self, asked: dict, _argument: str) -> None:
        self._log(asked, 200)
        self.request.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 3600\r\n\r\nhalf of it")
        time.sleep(0.2)
        self._reset()

    def mode_redirect(self, asked: dict, argument: str) -> None:
        """/redirect/302?to=http://…: also with a body that says where."""
        self._log(asked, int(argument))
        to = unquote(asked["query"].removeprefix("to="))
        self._answer(int(argument), to.encode(), f"Location: {to}\r\n")

    def mode_huge(self, asked: dict, _argument: str) -> None:
        """10 GB, or as much as the client takes."""
        self._log(asked, 200)
        self.request.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n")
        for _ in range(10_000_000_000 // len(BLOCK)):
            self.request.sendall(BLOCK)

    def mode_bomb(self, asked: dict, argument: str) -> None:
        """/bomb/gzip: 64 MiB of zeros, packed, although it was asked for plain."""
        self._log(asked, 200)
        packed = io.BytesIO()
        with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=9) as file:
            for _ in range(1024):
                file.write(bytes(65536))
        self._answer(200, packed.getvalue(), f"Content-Encoding: {argument or 'gzip'}\r\n")

    def mode_many_headers(self, asked: dict, argument: str) -> None:
        """/many-headers/10000: so many of 6 bytes."""
        self._log(asked, 200)
        self._answer(200, b"many", "".join(f"h{i % 10}: v\r\n" for i in range(int(argument))))

    def mode_endless_1xx(self, asked: dict, _argument: str) -> None:
        self._log(asked, None)
        for _ in range(10_000_000):
            self.request.sendall(b"HTTP/1.1 102 Processing\r\n\r\n" * 500)

    def mode_echo(self, asked: dict, argument: str) -> None:
        """/echo/200: what arrived, credentials included, in body and headers."""
        self._log(asked, int(argument or 200))
        said = json.dumps(asked)
        shown = asked["headers"].get("authorization", "")
        head = f"Content-Type: application/json; charset=utf-8\r\nX-Echo: {shown}\r\nSet-Cookie: echo={shown[-20:]}\r\n"
        self._answer(int(argument or 200), said.encode(), head)

    def mode_echo_raw(self, asked: dict, _argument: str) -> None:
        """Not HTTP at all: the request's own headers as the status line."""
        self._log(asked, None)
        self.request.sendall(json.dumps(asked["headers"]).encode() + b"\r\n\r\n")

    def mode_401_then_ok(self, asked: dict, _argument: str) -> None:
        """The first request of a path is refused, the others are not."""
        with self.lock:
            first = asked["path"] not in self.seen
            self.seen.add(asked["path"])
        self._log(asked, 401 if first else 200)
        self._answer(401 if first else 200, b"401" if first else b"ok")


def read_request(sock: socket.socket) -> dict | None:
    """The request, or None if the client went away before it was whole."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = sock.recv(65536)
        if not more or len(data) > LIMIT:
            return None
        data += more
        if not data[:1].isalpha():  # TLS, for one, where none is spoken
            sock.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
            return None
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    while len(body) < min(int(headers.get("content-length", 0)), LIMIT):
        more = sock.recv(65536)
        if not more:
            return None
        body += more
    method, target, _ = first.split(" ")
    url = urlsplit(target)
    text = body.decode("utf-8", errors="backslashreplace")
    return {"method": method, "path": url.path, "query": url.query, "headers": headers, "body": text}


class Server(socketserver.ThreadingTCPServer):
    """A thread a connection."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 512

    def __init__(self, log: Log, context: ssl.SSLContext | None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.log = log
        self.context = context

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is what is tested here."""


def main(log: str, certificate: str = "", key: str = "") -> None:
    """Serve until killed; TLS with a certificate and its key."""
    context = None
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
    server = Server(Log(log), context)
    print(server.server_address[1], flush=True)  # noqa: T201  whoever started it waits for this line
    server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
