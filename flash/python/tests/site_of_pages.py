"""Web sites for crawls: site_of_pages.py PAGES. Prints its port. Each path above a number is a site of PAGES pages. `/counts` says how
often each page was asked for, and `/total` how many pages were. `/to5` leads to `/5`."""

import asyncio
import collections
import json
import sys

pages = int(sys.argv[1])
counts = collections.Counter()


class Page(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        # Requests are small and wait for their answers, so each comes in one piece.
        path, status = data.split(b" ", 2)[1].decode(), "200 OK"
        if path == "/counts":
            body = json.dumps(counts)
        elif path == "/total":
            body = str(len(counts))
        elif "/to" in path:
            counts[path] += 1
            body, status = "", f"302 Found\r\nLocation: {path.replace('/to', '/')}"
        else:
            number = int(path.rpartition("/")[2])
            counts[path] += 1
            # A tree, so that each page is reached, and links across it.
            to = [2 * number + 1, 2 * number + 2, number * 7 % pages]
            body = "".join(f"<a href='{n}'>{n}</a>" for n in to if n < pages)
        self.transport.write(f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())


async def serve():
    server = await asyncio.get_running_loop().create_server(Page, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(serve())
