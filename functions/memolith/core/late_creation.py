"""What keeps a late creation apart though its path is free: what the log of its path says happened since. Pure.

So does a refusal a late text that comes over an erased version, and would list its memory at its path again.

Otherwise what becomes of it would depend on when its event comes, and how often.
"""

from __future__ import annotations

from memolith.core.decide import void
from memolith.core.ids import companion_id
from memolith.core.log_position import LogKey
from memolith.core.objects.entry import Entry, Operation


def is_since(last: Entry, straggler: Entry) -> bool:
    """Tell whether what happened last at a late creation's path, in a later epoch, happened after the creation.

    What was adopted from below it in its own log happened before it.
    """
    before = last.adopts is not None and last.adopts.epoch == straggler.slot.epoch and last.adopts < straggler.slot
    return not before


def refusal(straggler: Entry, key: LogKey, now_us: int) -> Entry:
    """Make the abort entry in the log of a late version's path that says: a memory above or below it was in its way.

    Its id, which is derived from the version's, tells it from other aborts.
    """
    return void(key, companion_id(straggler.version_id), now_us)


def is_refusal(entry: Entry, straggler: Entry) -> bool:
    """Tell whether an entry is the `refusal` of a late version."""
    return entry.operation is Operation.VOID and entry.version_id == companion_id(straggler.version_id)
