"""Files and functions stay small: lines of a file, lines of a function, arguments without a name."""

from __future__ import annotations

import ast
from pathlib import PurePath

__all__ = ["misshapen"]

MOST_LINES = 300
MOST_FUNCTION_LINES = 40  # signature and body, without the docstring
MOST_POSITIONAL = 5
EXEMPT = {
    "sim/fast/loop.py:_step": "the one loop that every step of the fast engine runs through",
    "sim/fast/loop.py:_decode": "the same: runs of decodes, written for speed",
    "sim/fast/paced_chunked.py:_course": "the pass that most runs spend their time in: calls are the cost",
}
"""Path and name to the reason why a function may be larger (for now)."""


def misshapen(name: PurePath, text: str) -> list[str]:
    """What is too large in a module, one line each.

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
    n_lines = text.count("\n")
    faults = [f"{n_lines} lines, at most {MOST_LINES}"] if n_lines > MOST_LINES else []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and f"{name.as_posix()}:{node.name}" not in EXEMPT:
            faults += [f"{node.name}: {what}" for what in _too_large(node, is_test=name.parts[0] == "tests")]
    return faults


def _too_large(node: ast.FunctionDef, *, is_test: bool) -> list[str]:
    body = node.body[1:] if ast.get_docstring(node) else node.body
    faults = []
    if body and node.end_lineno:
        n_lines = node.body[0].lineno - node.lineno + node.end_lineno - body[0].lineno + 1
        if n_lines > MOST_FUNCTION_LINES:
            faults.append(f"{n_lines} lines without its docstring, at most {MOST_FUNCTION_LINES}")
    given = [*node.args.posonlyargs, *node.args.args]
    n_positional = len([arg for arg in given if arg.arg not in ("self", "cls")])
    if n_positional > MOST_POSITIONAL and not is_test:  # tests take their parameters so
        faults.append(f"{n_positional} arguments without a name, at most {MOST_POSITIONAL}")
    return faults
