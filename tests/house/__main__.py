"""House rules that no other tool keeps: sizes of files and functions, documented names, no stray paths."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.house.documented import undocumented
from tests.house.shape import misshapen

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("qtheory", "sim", "validation", "papers")
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


def _stray(text: str) -> list[str]:
    return [f"line {text[: hit.start()].count(chr(10)) + 1}: {hit.group()}" for hit in STRAY.finditer(text)]


def main() -> int:
    """Print each breach as ``file: what``; 1 if there is any."""
    faults: list[str] = []
    for file in _tracked():
        name = file.relative_to(ROOT)
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found = _stray(text)
        if file.suffix == ".py":
            found += misshapen(name, text)
            if name.parts[0] in PACKAGES:
                found += undocumented(name, text)
        faults += [f"{name}: {what}" for what in found]
    print("\n".join(faults) if faults else "house rules kept")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
