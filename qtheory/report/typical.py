"""Step times of typical loads, and what the learning guide says of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qtheory.basics import checks

if TYPE_CHECKING:
    from qtheory.system.steptime import StepLoad, StepTime

__all__ = ["decodes", "guide_rows", "prompt", "step_rows"]

CONTEXT_TOKENS = 1000  # of a decode, where nothing else is said
# The learning guide "The Schedulers That Power LLM Serving", section 2, for the RTX 3050; it names no model
# and no context.
_GUIDE_PROMPT_TOKENS, _GUIDE_PROMPT_S = 4000, 0.450
_GUIDE_DECODES, _GUIDE_DECODES_S = 5, 0.030


def decodes(n_decodes: int, context_tokens: int = CONTEXT_TOKENS) -> StepLoad:
    """The load of a step in which some requests decode and nothing else happens.

    Parameters
    ----------
    n_decodes : int
        >= 1.
    context_tokens : int
        Tokens that each attends to, the computed one included, >= 1.

    Examples
    --------
    >>> decodes(5).decode_context_tokens
    5000
    """
    from qtheory.system.steptime import StepLoad  # needs numpy, so only here

    checks.integer(n_decodes=n_decodes, context_tokens=context_tokens)
    return StepLoad(
        n_decodes=n_decodes, decode_context_tokens=n_decodes * context_tokens, n_sampled=n_decodes
    )


def prompt(n_tokens: int, *, before_tokens: int = 0, n_decodes: int = 0) -> StepLoad:
    """The load of a step that computes a prompt, or the end of one, beside some decodes.

    Parameters
    ----------
    n_tokens : int
        Prompt tokens computed, >= 1.
    before_tokens : int
        Tokens of the same prompt computed earlier, >= 0.
    n_decodes : int
        Decodes in the same step, >= 0.

    Examples
    --------
    >>> prompt(4000).prefill_work
    8002000.0
    """
    from qtheory.system.steptime import StepLoad  # needs numpy, so only here

    checks.integer(n_tokens=n_tokens)
    checks.at_least(0, before_tokens=before_tokens, n_decodes=n_decodes)
    return StepLoad(
        n_decodes=n_decodes,
        decode_context_tokens=n_decodes * CONTEXT_TOKENS,
        prefill_tokens=n_tokens,
        prefill_work=n_tokens * (before_tokens + (n_tokens + 1) / 2),
        prefill_context_tokens=before_tokens + n_tokens,
        n_sampled=n_decodes + 1,
    )


def step_rows(step_time: StepTime, *, budget_tokens: int) -> list[dict[str, object]]:
    """Seconds of typical steps: 1, 8 and 64 decodes, a prompt of 4,000 tokens, a chunk of the budget.

    Parameters
    ----------
    step_time : StepTime
    budget_tokens : int
        Tokens a step, >= 1; the chunk shares it with 8 decodes where that leaves any.

    Returns
    -------
    list of dict
        With ``step`` (words) and ``step_s``.

    Examples
    --------
    >>> class Fixed:
    ...     def step_s(self, load): return 0.01
    ...     def decode_line(self, n_decodes): return 0.01, 0.0
    >>> step_rows(Fixed(), budget_tokens=512)[-1]
    {'step': 'chunk of 504 tokens beside 8 decodes', 'step_s': 0.01}
    """
    checks.integer(budget_tokens=budget_tokens)
    rows: list[tuple[str, StepLoad]] = [
        (f"{n} decode{'s' if n > 1 else ''} at {CONTEXT_TOKENS:,} tokens of context", decodes(n))
        for n in (1, 8, 64)
    ]
    rows.append((f"prompt of {_GUIDE_PROMPT_TOKENS:,} tokens at once", prompt(_GUIDE_PROMPT_TOKENS)))
    beside = 8 if budget_tokens > 8 else 0
    words = f"chunk of {budget_tokens - beside:,} tokens" + (f" beside {beside} decodes" if beside else "")
    rows.append((words, prompt(budget_tokens - beside, n_decodes=beside)))
    return [{"step": words, "step_s": step_time.step_s(load)} for words, load in rows]


def guide_rows(step_time: StepTime) -> list[dict[str, object]]:
    """What the learning guide says of the RTX 3050 beside what ``step_time`` gives.

    Parameters
    ----------
    step_time : StepTime
        Of that card and the model in question.

    Returns
    -------
    list of dict
        With ``step`` (words), ``guide_s`` and ``step_s``.

    Examples
    --------
    >>> class Fixed:
    ...     def step_s(self, load): return 0.03
    ...     def decode_line(self, n_decodes): return 0.03, 0.0
    >>> guide_rows(Fixed())[1]
    {'step': '5 running decodes', 'guide_s': 0.03, 'step_s': 0.03}
    """
    return [
        {
            "step": f"prompt of {_GUIDE_PROMPT_TOKENS:,} tokens at once",
            "guide_s": _GUIDE_PROMPT_S,
            "step_s": step_time.step_s(prompt(_GUIDE_PROMPT_TOKENS)),
        },
        {
            "step": f"{_GUIDE_DECODES} running decodes",
            "guide_s": _GUIDE_DECODES_S,
            "step_s": step_time.step_s(decodes(_GUIDE_DECODES)),
        },
    ]
