"""Factories: each makes one thing with sensible values, over the services that make it for real."""

from tests.factories.checkpoints import make_checkpoint, make_promotion
from tests.factories.code import SMALL_ZIP, make_upload
from tests.factories.runs import ADA, RECIPE, make_experiment, make_external_run, make_run

__all__ = [
    "ADA",
    "RECIPE",
    "SMALL_ZIP",
    "make_checkpoint",
    "make_experiment",
    "make_external_run",
    "make_promotion",
    "make_run",
    "make_upload",
]
