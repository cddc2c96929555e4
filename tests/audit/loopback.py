"""A real HTTP server on this machine that answers as a test says."""

import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

# Status, body (bytes as they are, else as JSON), seconds to wait, headers.
Answer = tuple[int, Any, float, dict[str, str]]
Answers = Callable[[str, dict[str, Any], dict[str, str]], Answer]


class Loopback:
    """Answers each POST by a function of its path, its JSON body and its headers.

    Attributes:
        host: with the port.
        url: of the API, as an OpenAI-compatible endpoint has it.
    """

    def __init__(self, answers: Answers) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                code, told, delay, headers = answers(self.path, body, dict(self.headers))
                time.sleep(delay)
                raw = told if isinstance(told, bytes) else json.dumps(told).encode()
                try:
                    self.send_response(code)
                    for name, value in {**headers, "content-length": str(len(raw))}.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(raw)
                except OSError:
                    pass  # who asked did not wait

            def log_message(self, *args: object) -> None:
                """Stay quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        self.host = f"127.0.0.1:{self._server.server_address[1]}"
        self.url = f"http://{self.host}/v1"

    def close(self) -> None:
        """Stop, and wait until it has."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
