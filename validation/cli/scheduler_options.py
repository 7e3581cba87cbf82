"""Which options a scheduler takes, in words."""

from __future__ import annotations

from typing import Any

from qtheory.basics.errors import ConfigError
from qtheory.system.scheduler import CHOICES, SchedulerSpec

__all__ = ["scheduler_options"]

_NUMBERS: dict[str, tuple[Any, str]] = {
    "long_prefill_threshold_tokens": (0, "N"),
    "chunked_prefill": (True, "true or false"),
    "watermark_frac": (0.0, "SHARE"),
    "starvation_limit_s": (30.0, "SECONDS"),
    "sharing_tokens": (32, "N"),
    "max_queue": (128, "N"),
    "max_skip": (8, "N"),
    "prompt_weight": (1.0, "NUMBER"),
    "output_weight": (2.0, "NUMBER"),
    "client_weights": ((1.0,), "[NUMBER, ...]"),
}
"""Options that are no words: a value to try, and how it is written."""


def scheduler_options(name: str) -> list[str]:
    """The options of a scheduler, as they stand between its brackets, beside budget and running requests.

    Parameters
    ----------
    name : str
        One of `SCHEDULERS`.

    Examples
    --------
    >>> [option for option in scheduler_options("fair") if "weight" in option]
    ['prompt_weight=NUMBER', 'output_weight=NUMBER', 'client_weights=[NUMBER, ...]']
    """
    forms = {option: (words[0], " | ".join(words)) for option, words in CHOICES.items()} | _NUMBERS
    return [f"{option}={form}" for option, (value, form) in forms.items() if _takes(name, option, value)]


def _takes(name: str, option: str, value: Any) -> bool:
    """Whether it can be given, alone or to one that orders by cached prefix."""
    from sim.policies import make_policy  # slow to import, so only here

    for more in ({}, {"cache_order": "lpm"}):
        try:
            make_policy(SchedulerSpec(name=name, **more | {option: value}))
            return True
        except ConfigError:
            continue
    return False
