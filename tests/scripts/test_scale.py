"""docs/scale.md: what the model adds to counted calls."""

from __future__ import annotations

import pytest

from scripts.costing import scale


@pytest.mark.parametrize("memories", scale.MEMORIES)
def test_a_deployment_costs_the_sum_of_its_parts_and_more_with_each_region(memories: int) -> None:
    bills = [scale.month(memories, regions) for regions in scale.REGIONS]
    for bill in bills:
        assert bill["in all"] == pytest.approx(sum(amount for part, amount in bill.items() if part != "in all"))
    totals = [bill["in all"] for bill in bills]
    assert totals == sorted(set(totals))


def test_what_is_counted_for_three_regions_is_continued_in_a_straight_line() -> None:
    one, two, three, four, eight = (scale.month(10**6, count)["writes"] for count in (1, 2, 3, 4, 8))
    assert three - two == pytest.approx(four - three) == pytest.approx((eight - four) / 4)
    assert one < two


def test_a_thousand_million_versions_are_compared_within_a_day_in_the_parts_that_the_page_names() -> None:
    assert scale.compared_after(10**9, scale.PARTS) < scale.compared_after(2 * 10**9, scale.PARTS) <= 2 * 86_400
    assert scale.compared_after(10**9, scale.PARTS) < 86_400 < scale.compared_after(10**9)


def test_a_comparison_works_for_its_part_of_each_hour() -> None:
    a_day = scale.compared_a_second() * 24 * scale.COMPARING_S / scale.COMPARISONS
    assert scale.compared_after(int(a_day)) == pytest.approx(86_400, rel=0.05)
    assert scale.compared_after(int(10 * a_day)) == pytest.approx(864_000, rel=0.01)


def test_a_rebuild_is_as_fast_as_its_indexers() -> None:
    assert scale.rebuilt_a_second(200) == pytest.approx(10 * scale.rebuilt_a_second(20))


@pytest.mark.parametrize(
    ("seconds", "text"), [(90, "90 seconds"), (600, "10 minutes"), (7_200, "2 hours"), (864_000, "10 days")]
)
def test_a_span_is_told_in_a_unit_that_people_use(seconds: float, text: str) -> None:
    assert scale._span(seconds) == text
