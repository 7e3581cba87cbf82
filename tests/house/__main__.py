"""House rules that no other tool keeps: file length, documented public names, sources, no stray paths."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("qtheory", "sim", "validation")
MOST_LINES = 300
STRAY = re.compile(
    r"/(?:wor[k]|roo[t]|far[m])/|/tm[p]/|pyp[i]\.org|pythonhoste[d]|npmj[s]\.org|debia[n]\.org"
)


def _tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [ROOT / name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def _too_long(file: Path, text: str) -> list[str]:
    n = text.count("\n")
    return [f"{n} lines, at most {MOST_LINES}"] if file.suffix == ".py" and n > MOST_LINES else []


def _stray(file: Path, text: str) -> list[str]:
    return [f"line {text[: hit.start()].count(chr(10)) + 1}: {hit.group()}" for hit in STRAY.finditer(text)]


def _undocumented(file: Path, text: str) -> list[str]:
    """Public names (in ``__all__``) that are defined here without a docstring."""
    tree = ast.parse(text)
    public: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(getattr(t, "id", "") == "__all__" for t in node.targets):
            public = {str(item) for item in ast.literal_eval(node.value)}
    faults = [] if ast.get_docstring(tree) else ["no module docstring"]
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name in public:
            text = ast.get_docstring(node) or ""
            if not text:
                faults.append(f"{node.name}: no docstring")
    return faults


def main() -> int:
    """Print each breach as ``file: what``; 1 if there is any."""
    faults: list[str] = []
    for file in _tracked():
        name = file.relative_to(ROOT)
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found = _stray(file, text)
        if file.suffix == ".py":
            found += _too_long(file, text)
            if name.parts[0] in PACKAGES:
                found += _undocumented(file, text)
        faults += [f"{name}: {what}" for what in found]
    print("\n".join(faults) if faults else "house rules kept")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
