"""A target that costs next to nothing: `python -m bench.http_target PORT MILLISECONDS`.

Answers 200 after so many milliseconds, and never on the paths that begin with /hang.
"""

from __future__ import annotations

import asyncio
import sys

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Type: text/plain\r\n\r\nok"


async def main(port: int, milliseconds: float) -> None:
    """Serve until killed."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                if head.split(b" ", 2)[1].startswith(b"/hang"):
                    await reader.read()
                    break
                await asyncio.sleep(milliseconds / 1000)
                writer.write(ANSWER)
                await writer.drain()
                if b"connection: close" in head.lower():
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", port, backlog=1000)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), float(sys.argv[2])))
