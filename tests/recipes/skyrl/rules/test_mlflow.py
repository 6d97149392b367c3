"""A config that logs by MLflow is told where nobody may hear it."""

from dataclasses import replace

import pytest

from app.recipes.skyrl.rules import Context, check
from tests.recipes.skyrl.rules.tutorial import CLUSTER, parse

RULE = "trap.mlflow_unheard"


def warnings(*overrides: str, **known: object) -> list[str]:
    found = check(parse(*overrides).full, context=Context(**known)).warnings  # type: ignore[arg-type]
    return [each.message for each in found if each.rule == RULE]


@pytest.mark.parametrize(
    ("reaches_us", "words"),
    [(None, "nobody has checked yet whether jobs on hyperpod"), (False, "do not reach Skydeck")],
)
def test_it_says_what_is_known(reaches_us: bool | None, words: str) -> None:
    cluster = replace(CLUSTER, reaches_us=reaches_us)
    (message,) = warnings("trainer.logger=mlflow", cluster=cluster)
    assert words in message


def test_a_server_of_ones_own_and_an_unknown_cluster_are_no_trouble() -> None:
    own = {"MLFLOW_TRACKING_URI": "https://mlflow.example"}
    assert warnings("trainer.logger=mlflow", cluster=CLUSTER, environment=own) == []
    assert warnings("trainer.logger=mlflow") == []
    assert warnings("trainer.logger=console", cluster=CLUSTER) == []
