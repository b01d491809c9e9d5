"""The lines by which two texts differ."""

from __future__ import annotations

import pytest

from memolith.core.proposals import unified_diff


@pytest.mark.parametrize("mark", ["\u2028", "\u0085", "\f", "\r"], ids=["U+2028", "U+0085", "form feed", "CR"])
def test_a_line_of_a_difference_ends_at_a_line_feed_alone(mark: str) -> None:
    assert unified_diff(f"a{mark}b\n", f"a{mark}c\n", "/n") == f"--- a/n\n+++ b/n\n@@ -1 +1 @@\n-a{mark}b\n+a{mark}c\n"
