"""Serves a model over HTTP: python3 serve.py [PORT]. Needs nothing but Python."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from toy import LABELS, predict  # your own: a list of names, and a function from texts to probabilities


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # keeps connections open between requests

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        try:
            texts = json.loads(body)["texts"]
        except (ValueError, KeyError, TypeError) as error:
            return self.answer(400, {"error": f'send {{"texts": [...]}}: {error}'})
        try:
            self.answer(200, {"scores": predict(texts), "labels": LABELS})
        except Exception as error:  # the client shows this to its user
            self.answer(500, {"error": repr(error)})

    def answer(self, status, reply):
        body = json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8000
    print(f"answering at http://127.0.0.1:{port}", file=sys.stderr)
    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
