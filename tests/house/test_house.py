"""The house rules see what they are for, and nothing else."""

from __future__ import annotations

from pathlib import Path, PurePath

import pytest

from tests.house.documented import EXEMPT, undocumented
from tests.house.shape import EXEMPT as TOO_LARGE
from tests.house.shape import misshapen

SOUND = '''"""A module."""

from qtheory.basics import checks

__all__ = ["Thing", "half", "Kind", "Wrong"]


def half(value: float) -> float:
    """Half of it [1]_.

    Parameters
    ----------
    value : float
        Any, > 0.

    Raises
    ------
    ConfigError
        If it is not above zero.

    References
    ----------
    .. [1] Euclid, "Elements".

    Examples
    --------
    >>> half(3.0)
    1.5
    """
    checks.positive(value=value)
    return value / 2


class Thing:
    """A thing.

    Parameters
    ----------
    size, weight : float
        In units.

    Examples
    --------
    >>> Thing(size=1, weight=2)
    """

    size: float
    weight: float
    kinds: ClassVar[int] = 3
    _hidden: int = 0

    def grow(self) -> None:
        """Larger."""


class Kind(Protocol):
    """What a thing can be."""


class Wrong(ServingError):
    """Not a thing."""


def own(a, b): ...
'''


def test_a_module_that_says_everything_passes() -> None:
    assert undocumented(PurePath("sim/x.py"), SOUND) == []


@pytest.mark.parametrize(
    ("cut", "put", "fault"),
    [
        ('"""A module."""', "", "no module docstring"),
        ('    """A thing.\n', '    x = """A thing.\n', "Thing: no docstring"),
        ('        """Larger."""', "        ...", "Thing: grow: no docstring"),
        ("    size, weight : float", "    size : float", "Thing: parameter 'weight' is not described"),
        ("    value : float\n", "    number : float\n", "half: parameter 'value' is not described"),
        ("    Raises\n    ------\n", "", "half: no Raises section, but it refuses some input"),
        ("    References\n    ----------\n", "", "half: no References section, but it cites one"),
        (">>> half", "half", "half: no example"),
        ('    """What a thing can be."""', "    ...", "Kind: no docstring"),
    ],
)
def test_what_a_docstring_leaves_out_is_named(cut: str, put: str, fault: str) -> None:
    assert cut in SOUND
    assert undocumented(PurePath("sim/x.py"), SOUND.replace(cut, put, 1)) == [fault]


def test_private_modules_and_the_top_floor_need_a_docstring_alone() -> None:
    bare = '"""M."""\n__all__ = ["f"]\ndef f(x):\n    """Short."""\n'
    assert undocumented(PurePath("sim/_x.py"), bare) == undocumented(PurePath("validation/x.py"), bare) == []
    assert len(undocumented(PurePath("sim/x.py"), bare)) == 2


def test_every_exemption_names_something_that_exists() -> None:
    root = Path(__file__).parents[2]
    for entry in EXEMPT | TOO_LARGE:
        path, _, name = entry.partition(":")
        assert (root / path).exists(), entry
        assert not name or name in (root / path).read_text(encoding="utf-8"), entry


def test_large_files_and_functions_are_named() -> None:
    long = "def f(a, b):\n" + "    a += b\n" * 40
    many = "def g(self, a, b, c, d, e, f): ...\n"
    assert misshapen(PurePath("sim/x.py"), long) == ["f: 41 lines without its docstring, at most 40"]
    assert misshapen(PurePath("sim/x.py"), many) == ["g: 6 arguments without a name, at most 5"]
    assert misshapen(PurePath("sim/x.py"), "x = 1\n" * 301) == ["301 lines, at most 300"]
    assert misshapen(PurePath("sim/x.py"), long.replace("    a += b\n", "", 1)) == []
