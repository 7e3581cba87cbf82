"""The models of this package under their names, in the order of the list."""

from __future__ import annotations

from ._batch import BATCH
from ._multi import MULTI
from ._network import NETWORK
from ._priority import PRIORITY
from ._single import SINGLE

__all__ = ["TABLES"]

TABLES = (SINGLE, MULTI, BATCH, PRIORITY, NETWORK)
