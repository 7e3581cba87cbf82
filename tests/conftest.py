"""What all tests share: a steady hypothesis profile, and the folder of shared data where there is one."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in background jobs
    signal.signal(signal.SIGINT, signal.default_int_handler)

_ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("SHARED_DATA", _ROOT.parent / "shared"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs the shared data where they are missing."""
    if (SHARED / "data").is_dir():
        return
    for item in items:
        if item.get_closest_marker("shared"):
            item.add_marker(pytest.mark.skip(reason="no shared data beside the checkout"))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared data (with ``data`` and ``design``)."""
    return SHARED
