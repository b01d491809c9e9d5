"""The core's own promises about itself."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import fields
from pathlib import Path
from typing import get_args

from memolith.core import commands, errors, limits, tables
from memolith.core.log_position import Epoch, LogKey, Slot
from memolith.core.object_keys import LOCAL_PREFIX, ObjectKey, parse_key
from memolith.core.objects import dream_step, search_pack, witness
from memolith.core.objects.entry import Entry
from memolith.core.rows.content import LogRow, MemoryRow, PathRow, VersionRow
from memolith.core.rows.control import CompletenessRow, ControlRow, ReconcileRow
from memolith.core.rows.identity import ApiKeyRow, StoreRow
from memolith.core.rows.journal import SHARDS_MAX, SHARDS_MIN, JournalRow, JournalStateRow, PeriodRow


def test_errors_repeat_no_content_and_say_what_to_do() -> None:
    assert "held" in errors.PathConflict("/a", "mem_x").message
    assert "read it again" in errors.PreconditionFailed().message
    assert errors.InvalidRequest("", "rule").message == "rule"
    assert errors.NotFound("memory", "mem_x").message == "memory mem_x was not found"


def test_the_error_tree_in_the_docstring_is_the_error_tree() -> None:
    drawn = re.findall(r"^    ( *│? *)[├└]── (\w+)", errors.__doc__ or "", re.M)
    ours = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.MemolithError)]
    below = {kind.__name__ for kind in ours if kind.__base__ is errors.MemolithError}
    assert {name for indent, name in drawn if not indent.strip()} == below
    assert {name for _, name in drawn} == {kind.__name__ for kind in ours} - {"MemolithError"}


def test_architecture_lists_the_form_of_every_kind_of_key() -> None:
    page = (Path(__file__).parents[3] / "docs" / "architecture.md").read_text()
    listed = re.search(r"^Keys of objects .*?```\n(.*?)```", page, re.DOTALL | re.MULTILINE)
    assert listed is not None
    digits = {"{path_hash}": "0" * 64, "{epoch}": "0001-0", "{shard}": "000", "{period}": "0" * 12, "{part}": "0" * 5}
    digits |= {"{sequence}": "0" * 10, "{step}": "0" * 10}
    forms = [line.split()[0] for line in listed[1].splitlines()]
    keys = [re.sub(r"\{\w+\}", lambda name: digits.get(name[0], "x"), one) for one in forms]
    assert {type(parse_key(key)) for key in keys if not key.startswith(LOCAL_PREFIX)} == set(get_args(ObjectKey))
    local = {f"local/{key.split('/')[1]}/" for key in keys if key.startswith(LOCAL_PREFIX)}
    assert local == {dream_step.PREFIX, search_pack.PREFIX, witness.WITNESS_PREFIX}


def test_every_row_has_a_table_and_every_index_an_attribute() -> None:
    names = {field.name for field in fields(VersionRow)}
    for table in tables.TABLES:
        for index in table.indexes:
            assert {index.partition_key, index.sort_key} <= names | {tables.PARTITION_KEY}
    keys = [
        MemoryRow.key("s", "m"),
        LogRow.key("s", "h"),
        PathRow.key("s", "/a"),
        VersionRow.key("s", "v"),
        StoreRow.key("s"),
        StoreRow.listing_key("w", 1, "s"),
        ApiKeyRow.key("w", "k"),
        JournalRow.key("us-east-1", 1, 0, "x" * 20),
        PeriodRow.key("us-east-1", 1, 0),
        JournalStateRow.key("us-east-1"),
        ControlRow.KEY,
        CompletenessRow.key(1),
        ReconcileRow.KEY,
    ]
    assert {key.table for key in keys} | {"verdicts"} == set(tables.BY_NAME)


def test_tables_of_a_generation_carry_its_number_and_the_others_do_not() -> None:
    assert tables.BY_NAME["memories"].physical_name("memolith-dev", 3) == "memolith-dev-memories-g3"
    assert tables.BY_NAME["journal"].physical_name("memolith-dev", 3) == "memolith-dev-journal"


def test_a_period_is_spread_over_all_of_its_partitions() -> None:
    keys = [f"us-east-1/log/s/h/0001-0.{number:010d}" for number in range(200)]
    assert {JournalRow.shard_of(key, SHARDS_MIN) for key in keys} == set(range(SHARDS_MIN))


def test_creations_at_different_paths_are_spread_over_the_partitions_of_a_period() -> None:
    keys = [f"us-east-1/log/s/{number:032x}/0001-0.0000000001" for number in range(640)]
    shards = Counter(JournalRow.shard_of(key, SHARDS_MAX) for key in keys)
    assert len(shards) == SHARDS_MAX and max(shards.values()) < 30


def test_stores_are_listed_in_the_order_of_their_birth() -> None:
    births = [StoreRow.listing_key("w", instant, "s").sk for instant in (5, 50, 500, 10**15)]
    assert births == sorted(births)


def test_a_renames_attempts_have_ids_of_their_own_and_nothing_else_does() -> None:
    rename = commands.UpdateMemory("s", "m", "memver_" + "0" * 26, "a:b", path="/b")
    update = commands.UpdateMemory("s", "m", "memver_" + "0" * 26, "a:b", content="x")
    assert len(set(commands.version_ids(rename))) == limits.WRITE_ATTEMPTS
    assert commands.version_ids(rename)[0] == rename.version_id
    assert commands.version_ids(update) == [update.version_id]


def test_entries_of_a_store_stand_under_the_region_that_wrote_them() -> None:
    key = LogKey("memstore_useast1_x", "0" * 64, Slot(Epoch(1, "us-east-1"), 42))
    assert str(key) == f"us-east-1/log/memstore_useast1_x/{'0' * 64}/0001-0.0000000042"
    assert parse_key(str(key)) == key
    assert Entry.__dataclass_params__.frozen  # type: ignore[attr-defined]  # every dataclass has it
