"""Predictions: from step times and a workload, latency and goodput of a scheduler at a rate."""

from .predict import MODELLED_SCHEDULERS, TIERS, limit_rps, predict, sweep
from .prediction import Prediction

__all__ = ["MODELLED_SCHEDULERS", "TIERS", "Prediction", "limit_rps", "predict", "sweep"]
