"""`python -m tests.history.server FOLDER PORT`: ClickHouse's engine behind ClickHouse's HTTP, as a process.

No ClickHouse server can be had where these tests run: the package indexes hold clients only, and the one package of an
operating system is of 2018, knows neither DateTime64 nor what clickhouse-connect asks of it when it connects. What
they do hold is chdb, the same engine as a library. So the tables, FINAL, merges and the SQL here are ClickHouse's own;
the HTTP in front of it is this file, as much as clickhouse-connect's real client speaks. What that leaves untested:
users, TLS, replication, a server's own limits.

The engine does not survive a fork, and takes one process a folder: hence a process of its own. What was acknowledged
is on disk: it may be killed, and another one started on the same folder. With STANDIN_USER=user:password nobody
else is let in.
"""

from __future__ import annotations

import base64
import email
import os
import re
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import chdb
import lz4.frame
from clickhouse_connect.driver.compression import _zstd_decompress as unzstd

INSERT = re.compile(r"\s*(INSERT INTO .+?)\s+FORMAT Native\s*", re.IGNORECASE | re.DOTALL)
DECODE = {"lz4": lz4.frame.decompress, "zstd": unzstd, "": bytes}


def statement(words: dict[str, str], body: bytes) -> tuple[str, bytes]:
    """The SQL, and what an INSERT's text is followed by."""
    if "query" in words:
        return words["query"], body
    head, mark, data = body.partition(b"FORMAT Native\n")
    return ((head + mark).decode(), data) if body.lstrip()[:6].upper() == b"INSERT" else (body.decode(), b"")


def form(content_type: str, body: bytes) -> dict[str, str]:
    """The fields of a form."""
    message = email.message_from_bytes(f"Content-Type: {content_type}\r\n\r\n".encode() + body)
    parts = message.get_payload()
    return {
        part.get_param("name", header="Content-Disposition"): part.get_payload(decode=True).decode() for part in parts
    }


class Engine:
    """One statement at a time."""

    def __init__(self, folder: str) -> None:
        self._connection = chdb.connect(folder)
        self._lock = threading.Lock()

    def answer(self, sql: str, data: bytes, database: str, given: dict[str, str]) -> tuple[bytes, str]:
        """The answer's bytes and their format."""
        with self._lock:
            self._connection.query(f"USE `{database or 'default'}`", "TabSeparated")
            if found := INSERT.fullmatch(sql):
                return self._insert(found[1], data), "TabSeparated"
            named = re.search(r"\bFORMAT\s+(\w+)\s*;?\s*$", sql, re.IGNORECASE)
            shape = named[1] if named else "TabSeparated"
            return self._connection.query(sql, shape, params=given).bytes(), shape

    def _insert(self, sql: str, data: bytes) -> bytes:
        with tempfile.NamedTemporaryFile(suffix=".native") as file:
            file.write(data)
            file.flush()
            return self._connection.query(f"{sql} FROM INFILE '{file.name}' FORMAT Native", "TabSeparated").bytes()


class Handler(BaseHTTPRequestHandler):
    """POST and GET as clickhouse-connect sends them."""

    protocol_version = "HTTP/1.1"
    engine: Engine

    def do_GET(self) -> None:
        """/ping, and queries."""
        self._serve()

    def do_POST(self) -> None:
        """Queries, and data after INSERT."""
        self._serve()

    def _serve(self) -> None:
        body = self._body()
        url = urlsplit(self.path)
        if url.path == "/ping":
            self._send(200, b"Ok.\n")
            return
        if not self._known():
            self._send(403, b"Code: 516. DB::Exception: Authentication failed (AUTHENTICATION_FAILED)", code="516")
            return
        words = dict(parse_qsl(url.query, keep_blank_values=True))
        if self.headers.get_content_type() == "multipart/form-data":  # how long parameters travel
            words |= form(self.headers["Content-Type"], body)
        given = {name.removeprefix("param_"): text for name, text in words.items() if name.startswith("param_")}
        try:
            sql, data = statement(words, body)
            answer, shape = self.engine.answer(sql, data, words.get("database", ""), given)
        except Exception as error:  # noqa: BLE001  whatever the engine says is the client's
            text = str(error)
            found = re.search(r"Code: (\d+)", text)
            self._send(500, text.encode(), code=found[1] if found else "1002")
            return
        self._send(200, answer, shape=shape)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") == "chunked":
            data = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        return DECODE[self.headers.get("Content-Encoding", "")](data)

    def _known(self) -> bool:
        wanted = os.environ.get("STANDIN_USER", "")
        if not wanted:
            return True
        return self.headers.get("Authorization") == "Basic " + base64.b64encode(wanted.encode()).decode()

    def _send(self, status: int, data: bytes, *, shape: str = "", code: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("X-ClickHouse-Timezone", "UTC")
        if shape:
            self.send_header("X-ClickHouse-Format", shape)
        if code:
            self.send_header("X-ClickHouse-Exception-Code", code)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_words: object) -> None:
        """Nothing: queries would drown what matters."""


def main() -> None:
    """Serve until killed; prints the port when it listens."""
    Handler.engine = Engine(str(Path(sys.argv[1])))
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler)
    server.daemon_threads = True
    print(server.server_port, flush=True)  # noqa: T201  whoever started it waits for this line
    server.serve_forever()


if __name__ == "__main__":
    main()
