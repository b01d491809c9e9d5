"""``make sbom``: what the licenses of components come to, and whether what is installed is what is locked."""

from __future__ import annotations

from typing import Any

import pytest

from scripts import sbom


def component(*stated: dict[str, Any]) -> dict[str, Any]:
    return {"name": "one", "version": "1", "licenses": list(stated)}


def named(name: str) -> dict[str, Any]:
    return {"license": {"name": name}}


@pytest.mark.parametrize(
    "license",
    [
        {"license": {"id": "MIT"}},
        {"expression": "Apache-2.0 OR GPL-3.0-only"},
        {"expression": "MPL-2.0 AND (Apache-2.0 OR MIT)"},
        named("License :: OSI Approved :: BSD License"),
    ],
)
def test_a_component_under_an_allowed_license_is_passed(license: dict[str, Any]) -> None:
    assert list(sbom.wrong_licenses([component(license)])) == []


@pytest.mark.parametrize(
    "license",
    [
        {"license": {"id": "GPL-3.0-only"}},
        {"expression": "MIT AND GPL-3.0-only"},
        {"expression": "(MIT OR Apache-2.0) AND AGPL-3.0-only"},
        {"expression": "MIT GPL-3.0-only"},
        {"expression": "AND"},
        named("License :: OSI Approved"),
        named(""),
    ],
)
def test_a_component_under_no_allowed_license_is_named_with_what_it_says(license: dict[str, Any]) -> None:
    (found,) = sbom.wrong_licenses([component(license)])
    assert found.startswith("one 1: ")


def test_one_of_several_statements_is_enough_and_none_at_all_is_not() -> None:
    assert list(sbom.wrong_licenses([component(named("License :: OSI Approved"), {"license": {"id": "ISC"}})])) == []
    assert list(sbom.wrong_licenses([component()])) == ["one 1: no license"]


def test_what_is_installed_is_compared_with_the_lock_whatever_the_spelling_of_names() -> None:
    components = [{"name": "Some.Thing", "version": "1"}, {"name": "other", "version": "2"}]
    assert sbom.not_as_locked(components, "some-thing==1 \\\n    --hash=sha256:x\nother==2 \\\n") == []
    assert sbom.not_as_locked(components, "some_thing==1 \\\nthird==3\n") == [
        "third==3 is locked and not installed",
        "other==2 is installed and not locked",
    ]


def test_the_checkout_is_no_part_of_itself_though_it_is_installed() -> None:
    bill = {"metadata": {"component": {"name": "memolith"}}, "components": [{"name": "Memolith"}, {"name": "other"}]}
    assert sbom.without_itself(bill)["components"] == [{"name": "other"}]
