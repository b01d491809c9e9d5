"""A batch of messages is authorised as its single call: what AWS's policies name.

The emulator asks for ``sqs:SendMessageBatch`` (and the like), actions that AWS does not have: a role with
``sqs:SendMessage`` is then refused the batch, and one with a permission that means nothing on AWS is let through.

Source: Amazon SQS developer guide, "Amazon SQS API permissions: Actions and resource reference".
"""

from __future__ import annotations

from typing import Any

from scripts.local_cloud.patches import Patch, need

AUTHORISED_AS = {
    "sqs:SendMessageBatch": "sqs:SendMessage",
    "sqs:DeleteMessageBatch": "sqs:DeleteMessage",
    "sqs:ChangeMessageVisibilityBatch": "sqs:ChangeMessageVisibility",
}


def _apply() -> None:
    from ministack.core import iam_actions

    need(iam_actions, "extract_iam_action")
    extract = iam_actions.extract_iam_action

    def as_on_aws(*args: Any, **kwargs: Any) -> str | None:
        action = extract(*args, **kwargs)
        return None if action is None else AUTHORISED_AS.get(action, action)

    iam_actions.extract_iam_action = as_on_aws


PATCH = Patch("queue_batches", "with --enforce-iam, a function that may send a message is refused a batch", _apply)
