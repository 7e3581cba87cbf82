"""Speed, as ratios within one run: nothing here is a test."""

from __future__ import annotations

import os

# one thread for small matrices: threads that share them wait for each other; read when numpy comes in
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
