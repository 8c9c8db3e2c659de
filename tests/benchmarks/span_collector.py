"""Takes spans as a collector for OTLP over HTTP does, and throws them away.

    python -m tests.benchmarks.span_collector

It prints its port; when its input ends, how many spans came.
"""

from __future__ import annotations

import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

# What every span of a run and its stages has once: the key of its run id.
STAGE_OR_RUN = b"jeeves.run_id"


class Discard(BaseHTTPRequestHandler):
    """Counts the spans of a request without reading them."""

    spans = 0

    def do_POST(self) -> None:
        """Answer that they were taken."""
        Discard.spans += self.rfile.read(int(self.headers["Content-Length"])).count(STAGE_OR_RUN)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def main() -> None:
    """Serve until the input ends."""
    server = HTTPServer(("127.0.0.1", 0), Discard)
    Thread(target=server.serve_forever, daemon=True).start()
    _tell(server.server_port)
    sys.stdin.read()
    _tell(Discard.spans)


def _tell(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
