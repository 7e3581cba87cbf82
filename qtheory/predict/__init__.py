"""Predictions: from step times and a workload, latency and goodput of a scheduler at a rate."""

from ._models import REJECTED_NOTE
from .closed_loop import CLOSED_LOOP_SCHEDULERS, predict_closed_loop
from .over_time import predict_over_time, sweep_over_time
from .pools import POOL_ROUTERS, PoolPlan, best_pools, predict_pools
from .predict import (
    MODELLED_SCHEDULERS,
    OVERLOAD_SCHEDULERS,
    REPLICA_SCHEDULERS,
    TIERS,
    limit_rps,
    predict,
    sweep,
)
from .prediction import Prediction
from .replicas import SPLIT_ROUTERS, predict_replicas, predict_replicas_over_time
from .stretches import MOST_STRETCHES, USUAL_STRETCHES, Overload, OverTime, Stretch

__all__ = [
    "CLOSED_LOOP_SCHEDULERS",
    "MODELLED_SCHEDULERS",
    "MOST_STRETCHES",
    "OVERLOAD_SCHEDULERS",
    "POOL_ROUTERS",
    "REJECTED_NOTE",
    "REPLICA_SCHEDULERS",
    "SPLIT_ROUTERS",
    "TIERS",
    "USUAL_STRETCHES",
    "OverTime",
    "Overload",
    "PoolPlan",
    "Prediction",
    "Stretch",
    "best_pools",
    "limit_rps",
    "predict",
    "predict_closed_loop",
    "predict_over_time",
    "predict_pools",
    "predict_replicas",
    "predict_replicas_over_time",
    "sweep",
    "sweep_over_time",
]
