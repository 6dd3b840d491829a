"""A web site for crawls: site_of_pages.py PAGES. Prints its port. `/counts` says how often each page was asked for."""

import collections
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

pages = int(sys.argv[1])
counts = collections.Counter()


class Page(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/counts":
            body = json.dumps(counts).encode()
        else:
            number = int(self.path[1:])
            counts[number] += 1
            # A tree, so that each page is reached, and links across it.
            to = [2 * number + 1, 2 * number + 2, number * 7 % pages, number // 3, 0]
            body = "".join(f"<a href='/{n}'>{n}</a>" for n in to if n < pages).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Site(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


site = Site(("127.0.0.1", 0), Page)
print(site.server_port, flush=True)
site.serve_forever()
