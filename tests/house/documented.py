"""Public functions and classes say what goes in, what goes wrong, and show one use that runs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import PurePath

__all__ = ["undocumented"]

PACKAGES = ("qtheory", "sim")
EXEMPT = {
    "qtheory/report/": "to be done",
    "qtheory/system/results.py": "to be done",
    "qtheory/system/scenario.py:Scenario": "every field carries its help, which the command line prints",
    "qtheory/system/workload/arrivals.py": "to be done",
    "qtheory/system/workload/loops.py": "to be done",
    "qtheory/system/workload/readers/": "to be done",
    "sim/fast/": "internal to the fast engine, which is reached by sim.engine alone",
    "sim/summary.py": "to be done",
}
"""Path, or path and name, to the reason why the full form is not asked for (yet)."""

Definition = ast.FunctionDef | ast.ClassDef
_SECTION = re.compile(r"^(\w+)\n-{3,}$", re.MULTILINE)
_CHECKERS = {"whole_between", "number_between"}
_WORDING = {"nearest", "shown"}  # of the module checks; these refuse nothing


def undocumented(name: PurePath, text: str) -> list[str]:
    """What the docstrings of the public names of a module leave out, one line each.

    Parameters
    ----------
    name : PurePath
        Path of the module below the root of the project.
    text : str
        Its source.

    Returns
    -------
    list of str
    """
    tree = ast.parse(text)
    faults = [] if ast.get_docstring(tree) else ["no module docstring"]
    in_full = name.parts[0] in PACKAGES and not any(part.startswith("_") for part in name.parts)
    for node in _public(tree):
        if not ast.get_docstring(node):
            faults.append(f"{node.name}: no docstring")
        elif in_full and not _is_exempt(name, node.name):
            faults += [f"{node.name}: {what}" for what in _left_out(node)]
    return faults


def _public(tree: ast.Module) -> Iterator[Definition]:
    """Definitions of the names in ``__all__``."""
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(getattr(t, "id", "") == "__all__" for t in node.targets):
            names = {str(item) for item in ast.literal_eval(node.value)}
    for node in tree.body:
        if isinstance(node, Definition) and node.name in names:
            yield node


def _is_exempt(name: PurePath, defined: str) -> bool:
    file = name.as_posix()
    return f"{file}:{defined}" in EXEMPT or any(file.startswith(path) for path in EXEMPT if ":" not in path)


def _left_out(node: Definition) -> Iterator[str]:
    if isinstance(node, ast.ClassDef):
        methods = (item for item in node.body if isinstance(item, ast.FunctionDef))
        for method in methods:
            if not method.name.startswith("_") and not ast.get_docstring(method) and not _is_overload(method):
                yield f"{method.name}: no docstring"
        if _is_abstract(node):
            return
    text = ast.get_docstring(node) or ""
    sections = _sections(text)
    described = sections.get("Parameters", "") + sections.get("Attributes", "")
    names = " ".join(line.partition(" : ")[0] for line in described.splitlines() if line[:1].strip())
    if "..." not in names:
        for wanted in _inputs(node):
            if not re.search(rf"\b{wanted}\b", names):
                yield f"parameter {wanted!r} is not described"
    if _raises(node) and "Raises" not in sections:
        yield "no Raises section, but it refuses some input"
    if "[1]_" in text and "References" not in sections:
        yield "no References section, but it cites one"
    if ">>>" not in sections.get("Examples", ""):
        yield "no example"


def _is_overload(method: ast.FunctionDef) -> bool:
    """Overloads tell types alone; what they do is said once, by the method itself."""
    return any(ast.unparse(decorator) == "overload" for decorator in method.decorator_list)


def _sections(text: str) -> dict[str, str]:
    parts = _SECTION.split(text)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def _is_abstract(node: ast.ClassDef) -> bool:
    """Protocols are shown by what implements them; enumerations, errors and warnings speak for themselves."""
    bases = {ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases}
    return any(base in ("Protocol", "IntEnum", "StrEnum", "Enum") for base in bases) or any(
        base.endswith(("Error", "Warning", "Exception")) for base in bases
    )


def _inputs(node: Definition) -> list[str]:
    """Names that a caller gives: arguments, or the fields of a data class."""
    if isinstance(node, ast.FunctionDef):
        return _arguments(node)
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and method.name == "__init__":
            return _arguments(method)
    return [
        item.target.id
        for item in node.body
        if isinstance(item, ast.AnnAssign)
        and isinstance(item.target, ast.Name)
        and not item.target.id.startswith("_")
        and "ClassVar" not in ast.unparse(item.annotation)
    ]


def _arguments(node: ast.FunctionDef) -> list[str]:
    given = node.args
    every = [*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg]
    return [arg.arg for arg in every if arg is not None and arg.arg not in ("self", "cls")]


def _raises(node: Definition) -> bool:
    """Whether a call, or building an instance, refuses input by itself."""
    bodies: list[ast.AST] = [node]
    if isinstance(node, ast.ClassDef):
        makers = ("__init__", "__post_init__")
        bodies = [item for item in node.body if isinstance(item, ast.FunctionDef) and item.name in makers]
    return any(_refuses(part) for body in bodies for part in ast.walk(body))


def _refuses(part: ast.AST) -> bool:
    if isinstance(part, ast.Raise):
        return True
    if not isinstance(part, ast.Call):
        return False
    called = part.func
    if isinstance(called, ast.Attribute):
        return (
            isinstance(called.value, ast.Name) and called.value.id == "checks" and called.attr not in _WORDING
        )
    return isinstance(called, ast.Name) and called.id in _CHECKERS
