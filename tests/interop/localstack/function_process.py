"""A function in a process of its own, as Lambda runs one: code is loaded once, then one event is handled at a time.

``python function_process.py CODE HANDLER``. A line of JSON in is an invocation, a line out on the descriptor named by
MEMOLITH_ANSWERS is its answer. What the function prints goes to the process's own output.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
import traceback


class Context:
    """What a handler is told of its invocation.

    Source: AWS Lambda Developer Guide, "Using the Lambda context object to retrieve Python function information".
    """

    def __init__(self, invocation: dict[str, str]) -> None:
        self.aws_request_id = invocation["invoke-id"]
        self.invoked_function_arn = invocation["invoked-function-arn"]
        self.function_name = os.environ["AWS_LAMBDA_FUNCTION_NAME"]
        self.function_version = os.environ["AWS_LAMBDA_FUNCTION_VERSION"]
        self.memory_limit_in_mb = os.environ["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"]
        self.log_group_name = os.environ["AWS_LAMBDA_LOG_GROUP_NAME"]
        self.log_stream_name = os.environ["AWS_LAMBDA_LOG_STREAM_NAME"]
        self._ends = time.monotonic() + float(os.environ["AWS_LAMBDA_FUNCTION_TIMEOUT"])

    def get_remaining_time_in_millis(self) -> int:
        return max(0, int((self._ends - time.monotonic()) * 1000))


def main() -> None:
    code, handler = sys.argv[1:3]
    answers = os.fdopen(int(os.environ.pop("MEMOLITH_ANSWERS")), "w", encoding="utf-8")
    sys.path.insert(0, code)
    os.chdir(code)
    module, _, function = handler.rpartition(".")
    failed, handle = None, None
    try:
        handle = getattr(importlib.import_module(module.replace("/", ".")), function)
    except BaseException as error:  # noqa: BLE001 an import that fails is what every invocation is answered with
        failed = _described(error)
    for line in sys.stdin:
        invocation = json.loads(line)
        answer = failed
        if handle is not None:
            try:
                answer = {"result": handle(json.loads(invocation["payload"] or "null"), Context(invocation))}
            except Exception as error:  # noqa: BLE001 as Lambda does
                answer = _described(error)
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _described(error: BaseException) -> dict[str, object]:
    trace = traceback.format_tb(error.__traceback__)
    traceback.print_exception(error)
    return {"error": {"errorType": type(error).__name__, "errorMessage": str(error), "stackTrace": trace}}


if __name__ == "__main__":
    main()
