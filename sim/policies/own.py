"""A person's own policy: loaded from a file or an entry point, put together, and watched over."""

from __future__ import annotations

import inspect
import sys
import traceback
from dataclasses import fields, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError, ServingError
from qtheory.basics.files import read_text
from qtheory.system.own_scheduler import OwnName, entry_point, own_name
from qtheory.system.scheduler import SchedulerSpec

from ._guard import MOST_CPU_S, Guard
from ._guarded import guarded
from .policy import Policy

__all__ = ["own_policy", "policy_of", "watched"]

_ROLES = {"fill": "composition", "arrange": "ordering", "key": "ordering", "choose": "victim"}
_ROLES |= {"tokens": "admission", "is_late": "shed"}
_PIECES = ("ordering", "composition", "admission", "victim", "shed")
_WANTED = "a Policy, or something with key, arrange, fill, choose, tokens or is_late"
_MOST_BYTES = 1_000_000
_LOADED: dict[tuple[str, int, int], ModuleType] = {}
_OPTIONS = {item.name for item in fields(Policy)}


def own_policy(spec: SchedulerSpec) -> Policy:
    """The policy behind a name such as ``my_file.py:Mine`` or ``my_file.py:Mine(limit_s=5)``.

    Parameters
    ----------
    spec : SchedulerSpec
        Its name says where the policy is and what it is given; its options win over the policy's own.

    Raises
    ------
    ConfigError
        If the file, the name in it or an option is wrong, or what it makes is no policy.

    Examples
    --------
    >>> own_policy(SchedulerSpec(name="lost.py:Mine"))
    Traceback (most recent call last):
    ...
    qtheory.basics.errors.ConfigError: scheduler: lost.py: cannot be read: no such file
    """
    own = own_name(spec.name)
    if own is None:
        raise ConfigError(f"scheduler: {checks.shown(spec.name)} is not FILE.py:NAME")
    found, file = _found(own)
    made = _made(own, found, spec, file)
    policy = policy_of(made, name=spec.name)
    return watched(_limited(policy, spec), file=file)


def policy_of(value: Any, *, name: str) -> Policy:
    """A policy made of ``value``: one as it is, or the pieces that a value has beside chunked prefill.

    Parameters
    ----------
    value : Policy, or object with some of ``key``, ``arrange``, ``fill``, ``choose``, ``tokens``, ``is_late``
        What it has stands for ordering, composition, victim, admission and shedding.
    name : str
        For messages and reports.

    Raises
    ------
    ConfigError
        If it is neither.

    Examples
    --------
    >>> class Longest:
    ...     def key(self, job):
    ...         return (-job.prompt_tokens,)
    >>> policy_of(Longest(), name="longest").max_seqs
    128
    """
    if isinstance(value, Policy):
        return replace(value, name=name)
    roles = {role for part, role in _ROLES.items() if callable(getattr(value, part, None))}
    if not roles or isinstance(value, type):
        raise ConfigError(f"scheduler: {name}: is {checks.shown(value)}; it must be {_WANTED}")
    guard = Guard(name)
    pieces: dict[str, Any] = {role: guarded(role, value, guard) for role in roles}
    return Policy(name=name, **pieces)


def watched(
    policy: Policy, *, file: str = "", most_cpu_s: float = MOST_CPU_S, is_test: bool = False
) -> Policy:
    """The policy with every piece that is not of this package between guards.

    They let it see what it may see, and turn whatever goes wrong in it into a `PlanError` of one line.

    Parameters
    ----------
    policy : Policy
    file : str
        Where its code stands, for the number of the line.
    most_cpu_s : float
        CPU seconds of a call at most, > 0.
    is_test : bool
        Whether pieces of this package are watched over too.

    Examples
    --------
    >>> watched(Policy(name="plain")) == Policy(name="plain")
    True
    """
    known = [getattr(getattr(policy, role), "_guard", None) for role in _PIECES]
    file = file or next((guard.file for guard in known if guard is not None), "")
    guard = Guard(policy.name, file, most_cpu_s)
    pieces: dict[str, Any] = {}
    for role in _PIECES:
        piece = getattr(policy, role)
        inner = getattr(piece, "_own", piece)
        pieces[role] = guarded(role, inner, guard, always=is_test)
    return replace(policy, **pieces)


def _limited(policy: Policy, spec: SchedulerSpec) -> Policy:
    """The policy under the options that were given with its name."""
    from .registry import GATES, VICTIMS  # which imports this module
    from .shedding import Shedding

    given = spec.options()
    words: dict[str, Any] = {name: value for name, value in given.items() if name in _OPTIONS}
    if "admission" in words:
        words["admission"] = GATES[words["admission"]]
    if "victim" in words:
        words["victim"] = VICTIMS[words["victim"]]
    if "shed" in words:
        words["shed"] = Shedding(words["shed"])
    return replace(policy, **words)


def _found(own: OwnName) -> tuple[Any, str]:
    """What the name stands for, and the file in which it stands."""
    if own.file:
        module = _module(own.file)
        if not hasattr(module, own.what):
            near = checks.nearest(own.what, [name for name in vars(module) if not name.startswith("_")])
            raise ConfigError(f"scheduler: {own.file}: has no {own.what!r}{near}")
        return getattr(module, own.what), own.file
    point = entry_point(own.what)
    if point is None:
        raise ConfigError(f"scheduler: no installed package offers {own.what!r}")
    try:
        return point.load(), ""
    except Exception as error:
        raise ConfigError(f"scheduler: {own.what}: {_said(error)}") from None


def _module(file: str) -> ModuleType:
    """The file, run once as long as it does not change."""
    try:
        source = read_text(file, most_bytes=_MOST_BYTES, wanted="a Python file")
    except ConfigError as error:
        raise ConfigError(f"scheduler: {error}") from None
    stat = Path(file).stat()
    key = (str(Path(file).resolve()), stat.st_mtime_ns, stat.st_size)
    if key in _LOADED:
        return _LOADED[key]
    module = ModuleType(f"own_scheduler_{len(_LOADED)}", f"Of {file}.")
    module.__file__ = file
    sys.modules[module.__name__] = module  # where data classes look for their types
    folder = str(Path(file).resolve().parent)
    sys.path.insert(0, folder)
    try:
        exec(compile(source, file, "exec"), vars(module))
    except ServingError as error:
        raise ConfigError(f"scheduler: {file}: {error}") from None
    except (Exception, SystemExit) as error:
        raise ConfigError(f"scheduler: {file}: line {_line(error, file)}: {_said(error)}") from None
    finally:
        sys.path.remove(folder)
    _LOADED[key] = module
    return module


def _made(own: OwnName, found: Any, spec: SchedulerSpec, file: str) -> Any:
    """What it makes, if it is a class or a function; else itself."""
    options = _options(own)
    is_maker = isinstance(found, type) or inspect.isfunction(found)
    if not is_maker:
        if options:
            raise ConfigError(
                f"scheduler: {own.label}: takes no options, as it is neither class nor function"
            )
        return found
    guard = Guard(own.label, file)
    try:
        takes_spec = "spec" in inspect.signature(found).parameters
    except (TypeError, ValueError):
        takes_spec = False
    try:
        made = guard.call(own.what, found, *([spec] if takes_spec else []), **options)
    except ServingError as error:
        said = str(error).removeprefix(f"policy {own.label!r}: ")
        raise ConfigError(f"scheduler: {own.label}: {said}") from None
    if made is None:
        raise ConfigError(f"scheduler: {own.label}: returns nothing; it must return {_WANTED}")
    return made


def _options(own: OwnName) -> dict[str, Any]:
    from qtheory.laws import Call, parse_call  # slow to import, so only here

    if not own.inside.strip():
        return {}
    try:
        call = parse_call(f"options({own.inside})", where="scheduler")
    except ConfigError:
        call = None
    if not isinstance(call, Call) or call.args:
        raise ConfigError(f"scheduler: {own.label}: {checks.shown(own.inside)} is not option=value, ...")
    return {name: _plain(value) for name, value in call.named.items()}


def _plain(value: Any) -> Any:
    word = getattr(value, "name", None)
    if not isinstance(word, str):
        return value
    return {"true": True, "false": False}.get(word, word)


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def _line(error: BaseException, file: str) -> int:
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == file and frame.lineno]
    return getattr(error, "lineno", None) or (lines[-1] if lines else 1)
