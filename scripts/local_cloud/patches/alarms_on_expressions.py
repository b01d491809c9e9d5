"""A stack may have an alarm on an expression over several metrics.

The emulator's CloudFormation refuses such an alarm, and the stack with it. Here it is made, with its description, its
actions and its threshold; it is never evaluated and stays at INSUFFICIENT_DATA. The template stays the one for AWS.
"""

from __future__ import annotations

from typing import Any

from scripts.local_cloud.patches import Patch, need

EXPRESSION = {"Namespace": "Expression", "MetricName": "Expression"}
"""What stands for the expression where the emulator wants one metric; nothing is ever counted under that name."""


def _apply() -> None:
    from ministack.services.cloudformation import provisioners

    need(provisioners, "_cw_metric_alarm_record")
    record = provisioners._cw_metric_alarm_record

    def with_expression(name: str, properties: dict[str, Any]) -> Any:
        if not properties.get("Metrics"):
            return record(name, properties)
        return record(name, {**properties, **EXPRESSION, "Metrics": None})

    provisioners._cw_metric_alarm_record = with_expression


PATCH = Patch("alarms_on_expressions", "a stack with an alarm on several metrics is refused", _apply)
