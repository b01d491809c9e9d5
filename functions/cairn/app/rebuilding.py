"""Building the index anew from the region's own bucket, beside live traffic.

    make the next generation's tables -> every fold goes to both -> list the bucket, fold each key -> switch -> drop

From the start until the switch the serving generation says that it is not complete: what it knows it serves, what it
does not know it answers with 503. Every step can be repeated; a rebuild that died is taken up where it stopped.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from cairn.app.indexing import LOCAL_PREFIX, Indexing, Malformed
from cairn.app.region import Region, View
from cairn.core.errors import Busy, Unavailable
from cairn.core.rows import Attributes, CompletenessRow, ControlRow, RowKey
from cairn.ports import errors as port_errors
from cairn.ports.index import Change, Query, Tables
from cairn.ports.queue import Queue

KEYS_PER_BATCH = 50
BATCHES_PER_SEND = 100
PAUSE_S = 0.5


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a rebuild is; `stage` is what it does now."""

    stage: str
    batches_done: int = 0
    batches: int = 0


class Rebuild:
    """Drives a rebuild of one region's index; run by an operator, or by a function on demand."""

    def __init__(self, region: Region, tables: Tables, queue: Queue, longest_life_s: float) -> None:
        self._region = region
        self._tables = tables
        self._queue = queue
        self._longest_life_s = longest_life_s

    def run(self, report: Callable[[Progress], None]) -> int:
        """Rebuilds the index; the number of the generation that serves afterwards.

        A run that died after the switch is brought to its end. One that died before it is begun again, in the tables
        that it made: its batches, which may be under way still, do not count for this run.

        Raises:
            Unavailable: a port does not answer; run it again. Busy: somebody else changed the generations meanwhile.
        """
        control, attributes = self._control()
        if control.retired is not None:
            control, attributes = self._retire(control, report)
            if control.complete:
                return control.serving
        report(Progress("making tables"))
        generation = control.building or control.serving + 1
        if control.run is not None:
            self._forget(control.run)
        self._tables.make(generation)
        building = replace(control, building=generation, complete=False, run=self._region.new_id("run"))
        self._set(attributes, building)
        report(Progress("waiting for calls under way to end"))
        self._region.clock.pause(self._longest_life_s)
        batches = self._send_all(building, report)
        self._wait(building, batches, report)
        switched = ControlRow(serving=generation, complete=True, run=building.run, retired=control.serving)
        self._set(building.to_attributes(), switched)
        return self._retire(switched, report)[0].serving

    def _retire(self, control: ControlRow, report: Callable[[Progress], None]) -> tuple[ControlRow, Attributes]:
        """Drops what served before, once no call can be reading it any more."""
        report(Progress("switched; dropping the old tables"))
        self._region.clock.pause(self._longest_life_s)
        if control.run is not None:
            self._forget(control.run)
        if control.retired is not None:
            self._tables.drop(control.retired)
            with _control_table():
                gone = CompletenessRow.key(control.retired)
                self._region.index.commit([Change(gone, None, None, unconditional=True)])
        alone = replace(control, run=None, retired=None)
        self._set(control.to_attributes(), alone)
        return alone, alone.to_attributes()

    def _control(self) -> tuple[ControlRow, Attributes | None]:
        index = self._region.index
        attributes = self._region.read(index, [ControlRow.KEY]).get(ControlRow.KEY)
        if attributes is None:
            return ControlRow(serving=index.generation, complete=False), None
        return ControlRow.from_attributes(attributes), attributes

    def _set(self, before: Attributes | None, row: ControlRow) -> None:
        after = row.to_attributes()
        if before == after:
            return
        try:
            self._region.index.commit([Change(ControlRow.KEY, before, after)])
        except port_errors.Contended as error:
            raise Busy("another rebuild is under way in this region") from error
        except port_errors.PortError as error:
            raise Unavailable("the control table does not answer; run the rebuild again") from error

    def _send_all(self, building: ControlRow, report: Callable[[Progress], None]) -> int:
        batches, waiting = 0, []
        for keys in self._batches():
            batch = {"generation": building.building, "run": building.run, "batch": batches, "keys": keys}
            waiting.append(json.dumps({"rebuild": batch}))
            batches += 1
            if len(waiting) == BATCHES_PER_SEND:
                self._send(waiting)
                waiting = []
                report(Progress("listing the bucket", 0, batches))
        self._send(waiting)
        return batches

    def _send(self, messages: list[str]) -> None:
        try:
            self._queue.send(messages)
        except port_errors.PortError as error:
            raise Unavailable("the rebuild queue does not answer; run the rebuild again") from error

    def _batches(self) -> Iterator[list[str]]:
        after: str | None = None
        while True:
            try:
                page = self._region.objects.list("", after=after)
            except port_errors.PortError as error:
                raise Unavailable("the bucket does not answer; run the rebuild again") from error
            keys = [key for key in page.keys if not key.startswith(LOCAL_PREFIX)]
            for start in range(0, len(keys), KEYS_PER_BATCH):
                yield keys[start : start + KEYS_PER_BATCH]
            if page.next_after is None:
                return
            after = page.next_after

    def _wait(self, building: ControlRow, batches: int, report: Callable[[Progress], None]) -> None:
        """Until every batch of this run is done. Raises Busy when another run has taken over."""
        with _control_table():
            while (done := self._region.index.count("control", _batch_partition(building.run))) < batches:
                if self._control()[0] != building:
                    raise Busy("another rebuild is under way in this region")
                report(Progress("folding", done, batches))
                self._region.clock.pause(PAUSE_S)

    def _forget(self, run: str) -> None:
        with _control_table():
            while found := self._region.index.query(Query("control", _batch_partition(run))):
                self._region.index.commit([Change(one.key, one.attributes, None) for one in found])


@contextmanager
def _control_table() -> Iterator[None]:
    try:
        yield
    except port_errors.PortError as error:
        raise Unavailable("the control table does not answer; run the rebuild again") from error


class BatchFolder:
    """Folds one batch of a rebuild: the indexer's part of it."""

    def __init__(self, region: Region, indexing: Indexing) -> None:
        self._region = region
        self._indexing = indexing

    def fold(self, payload: Mapping[str, Any]) -> list[Malformed]:
        """Folds the batch's keys into the generation that is being built, and notes that it is done. Repeatable.

        What cannot be read comes back; it never stops the others. A batch of a run that is over or given up is nothing.

        Raises:
            Unavailable, OutcomeUnknown: try the batch again.
        """
        generation, run = int(payload["generation"]), str(payload["run"])
        attributes = self._region.read(self._region.index, [ControlRow.KEY]).get(ControlRow.KEY)
        if attributes is None or ControlRow.from_attributes(attributes).run != run:
            return []
        view = View(self._region.index.at(generation), {}, complete=False, building=None)
        malformed: list[Malformed] = []
        for key in payload["keys"]:
            try:
                self._indexing.fold_object(view, key, journal=False)
            except Malformed as error:
                malformed.append(error)
        key = RowKey("control", _batch_partition(run), f"{int(payload['batch']):010d}")
        try:
            self._region.index.commit([Change(key, None, {"done": True}, unconditional=True)])
        except port_errors.PortError as error:
            raise Unavailable("the control table does not answer; try the batch again") from error
        return malformed


def _batch_partition(run: str | None) -> str:
    return f"rebuild#{run}"
