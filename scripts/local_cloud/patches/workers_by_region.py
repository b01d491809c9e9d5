"""Deploying a function in one region leaves the calls of its twin in another alone.

When CloudFormation makes a function, the emulator kills the running processes of that name in every region. Memolith's
functions have the same name in every region and the stacks deploy in parallel: a custom resource killed like this
never answers, and its stack waits for an hour.
"""

from __future__ import annotations

from scripts.local_cloud.patches import Patch, need


def _apply() -> None:
    from ministack.services import lambda_svc

    need(lambda_svc, "invalidate_worker", "get_account_id", "get_region")
    invalidate = lambda_svc.invalidate_worker

    def in_this_region(
        function: str, qualifier: str | None = None, account: str | None = None, region: str | None = None
    ) -> None:
        invalidate(
            function,
            qualifier=qualifier,
            account=account or lambda_svc.get_account_id(),
            region=region or lambda_svc.get_region(),
        )

    lambda_svc.invalidate_worker = in_this_region


PATCH = Patch("workers_by_region", "deploying to two regions at once can hang for an hour", _apply)
