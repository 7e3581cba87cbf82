"""What all tests share: hypothesis without surprises, the folder of shared data, and less work done twice."""

from __future__ import annotations

import copy
import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from cyclopts import App
from hypothesis import settings

from validation.answer import workers

settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in background jobs
    signal.signal(signal.SIGINT, signal.default_int_handler)

_ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("SHARED_DATA", _ROOT.parent / "shared"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection() -> None:
    """Nothing that is collected is garbage, so nobody looks for it meanwhile."""
    gc.disable()


def pytest_collection_finish() -> None:
    """What was collected stays to the end: later searches for garbage leave it out."""
    gc.freeze()
    gc.enable()


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


@pytest.fixture(scope="session", autouse=True)
def _one_core() -> Iterator[None]:
    """Cores are shared out among the processes of the tests; a command that wants more says ``--jobs``."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workers, "n_cores", lambda: 1)
        yield


@pytest.fixture(scope="session", autouse=True)
def _flags_are_read_once() -> Iterator[None]:
    """A command's flags are worked out from its signature once, not at each of the hundreds of calls.

    Each call gets a copy of its own, since the words of the call are written into it.
    """
    assemble, made = App.assemble_argument_collection, {}

    def copied(app: App, **options: object) -> object:
        key = (app.default_command, *sorted(options.items()))
        if key not in made:
            made[key] = assemble(app, **options)
        fixed = [x for one in made[key] for x in (one.parameter, one.field_info, *one._lookup.values())]
        return copy.deepcopy(made[key], {id(x): x for x in fixed})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(App, "assemble_argument_collection", copied)
        yield
