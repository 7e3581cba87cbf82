"""What is wrong with a command line, in one line that names the word and what would be right."""

from __future__ import annotations

from cyclopts import (
    CoercionError,
    CycloptsError,
    MissingArgumentError,
    RepeatArgumentError,
    UnknownOptionError,
)
from cyclopts.exceptions import UnknownCommandError, UnusedCliTokensError

from qtheory.basics.checks import nearest

__all__ = ["complaint"]

_FOUND = ("--rate", "--rate-rps", "--rates")
"""Flags of other commands that `knee` has no use for: it finds what they say."""


def _help_hint(error: CycloptsError) -> str:
    return f"see sched-sim {' '.join([*(error.command_chain or ()), '--help'])}"


def complaint(error: CycloptsError) -> str:
    """One line for an error of the command-line library.

    Parameters
    ----------
    error : CycloptsError
        As raised by the parser.

    Returns
    -------
    str
    """
    if isinstance(error, UnknownCommandError):
        word = (error.unused_tokens or ["?"])[0]
        if word.startswith("-"):
            return f"{word}: flags stand behind a command, as in sched-sim run {word}"
        commands = [name for name in error.app or () if not name.startswith("-")]
        return f"{word}: unknown command{nearest(word, commands)}; one of {', '.join(commands)}"
    if isinstance(error, UnknownOptionError):
        word = error.token.keyword or error.token.value
        if tuple(error.command_chain or ()) == ("knee",) and word in _FOUND:
            return f"{word}: this command finds the rate itself; leave it out ({_help_hint(error)})"
        flags = [name for argument in error.argument_collection if argument.parse for name in argument.names]
        return f"{word}: unknown flag{nearest(word, flags)}; {_help_hint(error)}"
    if isinstance(error, UnusedCliTokensError):
        word = (error.unused_tokens or ["?"])[0]
        return f"{word!r}: nothing is expected here; lists have commas and no blanks; {_help_hint(error)}"
    if isinstance(error, RepeatArgumentError):
        return f"{error.token.keyword}: given more than once"
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        name = error.keyword or error.argument.name
        what = "a value is missing behind it" if error.argument.tokens or name.startswith("-") else "missing"
        return f"{name}: {what}; {_help_hint(error)}"
    if isinstance(error, CoercionError) and error.token is not None:
        where = error.token.keyword or (error.argument.name if error.argument else "value")
        return f"{where}: {error.msg or f'{error.token.value!r} is not of the right kind'}"
    return str(error)
