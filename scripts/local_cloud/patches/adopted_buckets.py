"""A stack can take over a bucket that an earlier one left behind, as on AWS (``--import-existing-resources``).

Memolith's buckets outlive their stack. The emulator knows how to import them, but an earlier check of its own refuses
every name that is taken and does not ask whether it is being imported. A name that is taken and not imported is still
refused when the bucket is made.
"""

from __future__ import annotations

from scripts.local_cloud.patches import Patch, need


def _apply() -> None:
    from ministack.services.cloudformation import provisioners

    need(provisioners, "s3_bucket_name_conflict")
    provisioners.s3_bucket_name_conflict = lambda _name: None


PATCH = Patch("adopted_buckets", "a stack cannot take over the buckets of a destroyed one", _apply)
