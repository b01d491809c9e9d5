"""The sources of a write: versions of the same store that its text was made of, whose least class it has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memolith.app.auth.authorizer import StoreAccess
from memolith.core import ids
from memolith.core.errors import InvalidRequest, Unavailable
from memolith.core.limits import SOURCES_MAX
from memolith.core.rows.base import RowKey
from memolith.core.rows.content import VersionRow
from memolith.core.trust import USER, least


@dataclass(frozen=True, slots=True)
class Origin:
    """What a text is made of: `sources`, versions of the same store, or one that is restored, of class `at_most`.

    `restored` says that the text is one that the memory had before.
    """

    sources: Sequence[str] = ()
    at_most: str | None = USER
    restored: bool = False


OWN = Origin()
"""The origin of a text that its writer does not derive from anything."""


def source_keys(store_id: str, sources: Sequence[str]) -> list[RowKey]:
    """Return the rows of the sources, to be read with a write's first batch. Raises InvalidRequest."""
    if len(sources) > SOURCES_MAX:
        raise InvalidRequest("sources", f"must have at most {SOURCES_MAX} versions")
    malformed = next((n for n, source in enumerate(sources) if ids.VERSION.fullmatch(source) is None), None)
    if malformed is not None:
        raise InvalidRequest(f"sources.{malformed}", "must be the id of a version")
    return [VersionRow.key(store_id, source) for source in sources]


def class_of(access: StoreAccess, here: str, origin: Origin) -> str | None:
    """Return the class of a text of this origin that the caller writes; `access` has the sources' rows. No call.

    Raises:
        InvalidRequest: one that the store's home does not know. Unavailable: one that has not arrived `here`.
    """
    classes: list[str | None] = [origin.at_most]
    for number, source in enumerate(origin.sources):
        attributes = access.view.rows.get(VersionRow.key(access.store.store_id, source))
        row = None if attributes is None else VersionRow.from_attributes(attributes)
        if row is None or row.memory_id is None:
            if access.store.home == here and access.view.complete:
                raise InvalidRequest(f"sources.{number}", "must be a version of this store")
            raise Unavailable(f"version {source} has not arrived in this region yet; try again", region=here)
        classes.append(row.trust)
    return least(classes, access.trust)
