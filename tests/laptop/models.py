"""An endpoint of OpenAI's chat completions with one model, which answers as the stand-in does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from memolith.adapters.models.extractive import ExtractiveModel
from memolith.ports.model import AnswerForm, Ask, Purpose, Role, Turn


@contextmanager
def service_of_models(known: str) -> Iterator[tuple[str, list[str]]]:
    """Serve one model; yields the address, and the ids of other models that were asked for and refused."""
    refused: list[str] = []

    class Endpoint(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if asked["model"] != known:
                refused.append(asked["model"])
                self.reply(404, {"error": {"code": "model_not_found", "message": "no such model"}})
                return
            name = asked["response_format"]["json_schema"]["name"]
            (form,) = (form for form in AnswerForm if form.value.startswith(name))
            turns = tuple(
                Turn(Role(one["role"]), one["content"]) for one in asked["messages"] if one["role"] != "system"
            )
            text = ExtractiveModel().ask(Ask(system=(), turns=turns, purpose=Purpose.EXTRACT, key="k", form=form)).text
            message = {"role": "assistant", "content": text}
            choice = {"index": 0, "finish_reason": "stop", "message": message}
            usage = {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}
            self.reply(
                200,
                {
                    "id": "c",
                    "object": "chat.completion",
                    "created": 0,
                    "model": known,
                    "choices": [choice],
                    "usage": usage,
                },
            )

        def reply(self, status: int, body: object) -> None:
            sent = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Endpoint) as server:
        thread = Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1", refused
        finally:
            server.shutdown()
            thread.join()
