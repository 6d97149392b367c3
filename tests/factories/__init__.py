"""Factories: each makes one thing with sensible values, over the services that make it for real."""

from tests.factories.runs import RECIPE, make_experiment, make_external_run, make_run

__all__ = ["RECIPE", "make_experiment", "make_external_run", "make_run"]
