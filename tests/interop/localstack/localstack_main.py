"""LocalStack's process, without Docker: functions as processes of this machine, tables in another emulator.

Runs in LocalStack's own virtual environment, with its settings in the environment, and two of ours:

``MEMOLITH_FUNCTION_PYTHON``  the interpreter of the functions
``MEMOLITH_TABLES``           the endpoint of a DynamoDB, since LocalStack would fetch Amazon's from outside

LocalStack asks its runtime executor, a plugin, for everything that it does with a function; ours is handed to it here.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
from pathlib import Path
from typing import IO, Any

from localstack import config
from localstack.services.lambda_.invocation import runtime_executor
from localstack.services.lambda_.invocation.lambda_models import FunctionVersion, InvocationResult

PROGRAM = Path(__file__).with_name("function_process.py")
KEPT = ("PATH", "LANG", "TMPDIR")


class Processes(runtime_executor.RuntimeExecutor):
    """One execution environment: a process that lives until LocalStack stops the environment."""

    def __init__(self, id: str, function_version: FunctionVersion) -> None:
        super().__init__(id, function_version)
        self._process: subprocess.Popen[str] | None = None
        self._answers: IO[str] | None = None
        self._log = Path(os.environ["TMPDIR"]) / f"{function_version.id.function_name}-{id}.log"

    def start(self, env_vars: dict[str, str]) -> None:
        """Start the process, with nothing of this one's environment but what every program needs."""
        settings = self.function_version.config
        code = settings.code.get_unzipped_code_location() if settings.code else self.function_version.config.code
        reads, writes = os.pipe()
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [os.environ["MEMOLITH_FUNCTION_PYTHON"], str(PROGRAM), str(code), settings.handler],
                env={**kept, **{name: str(value) for name, value in env_vars.items()}, "MEMOLITH_ANSWERS": str(writes)},
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                pass_fds=[writes],
                text=True,
            )
        os.close(writes)
        self._answers = os.fdopen(reads, encoding="utf-8")

    def stop(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def invoke(self, payload: dict[str, str]) -> InvocationResult:
        """Hand over one event; after the function's timeout its process is ended, as Lambda ends it."""
        if self._process is None or self._process.stdin is None or self._answers is None:
            raise runtime_executor.LambdaRuntimeException("the function's process was not started")
        limit = threading.Timer(float(self.function_version.config.timeout), self._process.kill)
        limit.start()
        try:
            self._process.stdin.write(json.dumps(payload) + "\n")
            self._process.stdin.flush()
            line = self._answers.readline()
        except BrokenPipeError:
            line = ""
        finally:
            limit.cancel()
        answer: dict[str, Any] = (
            json.loads(line)
            if line
            else {"error": {"errorType": "Runtime.ExitError", "errorMessage": "the function's process ended"}}
        )
        failed = "error" in answer
        said = json.dumps(answer["error"] if failed else answer["result"]).encode()
        return InvocationResult(payload["invoke-id"], said, failed, self.get_logs()[-4_000:])

    def get_logs(self) -> str:
        """Return what the function has printed."""
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    def get_address(self) -> str:
        return "127.0.0.1"

    def get_endpoint_from_executor(self) -> str:
        return "127.0.0.1"

    def get_runtime_endpoint(self) -> str:
        return f"http://127.0.0.1:{config.GATEWAY_LISTEN[0].port}/_localstack_lambda/{self.id}"

    @classmethod
    def prepare_version(cls, function_version: FunctionVersion) -> None:
        """Unpack the code."""
        if function_version.config.code:
            function_version.config.code.prepare_for_execution()

    @classmethod
    def cleanup_version(cls, function_version: FunctionVersion) -> None:
        """Leave the code: LocalStack removes it with the function."""


def use_tables_of(endpoint: str) -> None:
    """Send what LocalStack would ask its DynamoDB Local to `endpoint`."""
    from localstack.aws.forwarder import AwsRequestProxy
    from localstack.services.dynamodb.server import DynamodbServer

    made = DynamodbServer.__init__

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        made(self, *args, **kwargs)
        self.proxy = AwsRequestProxy(endpoint)

    DynamodbServer.__init__ = init
    DynamodbServer.url = property(lambda self: endpoint)
    DynamodbServer.start_dynamodb = lambda self: True
    DynamodbServer.stop_dynamodb = lambda self: None


def main() -> None:
    """Serve until SIGTERM."""
    if os.environ.get("MEMOLITH_FUNCTION_PYTHON"):
        runtime_executor.get_runtime_executor = lambda: Processes
    if endpoint := os.environ.get("MEMOLITH_TABLES"):
        use_tables_of(endpoint)
    from localstack.runtime.main import main as serve

    serve()


if __name__ == "__main__":
    main()
