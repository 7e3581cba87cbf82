"""Where a result comes from."""

from __future__ import annotations

from importlib import metadata

import pytest

from qtheory.system import provenance
from qtheory.system.provenance import Provenance, version


def test_a_result_carries_the_version_that_is_installed() -> None:
    assert Provenance().version == version() == metadata.version("queueserve")


def test_a_bare_checkout_says_that_it_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(provenance.metadata, "version", missing)
    version.cache_clear()
    assert version() == "unknown"
    version.cache_clear()


def test_scenarios_are_not_shared_between_results() -> None:
    Provenance().scenario["hardware"] = "h100"
    assert Provenance().scenario == {}
