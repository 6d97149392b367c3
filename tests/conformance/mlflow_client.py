"""Runs with the real `mlflow` package, in an environment of its own: `mlflow_client.py URL`.

`MLFLOW_TRACKING_TOKEN` is the token. Prints what it read back, as JSON. With `own` as the second
argument it is a job's client, which gets the run that its token is of.
"""

# mypy: disable-error-code="import-not-found,no-any-return"

import json
import math
import sys

import mlflow
from mlflow.entities import Metric, Param, RunTag
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient

KEY = "eval/all/pass_at_1"
LARGE = {f"trainer.part_{n}.value": "x" * 300 for n in range(150)}


def main(url: str, *, is_own: bool) -> dict[str, object]:
    mlflow.set_tracking_uri(url)
    run_id = skyrl("maze project", "seed 3")
    client = MlflowClient()
    run = client.get_run(run_id)
    found: dict[str, object] = {
        "run_id": run_id,
        "name": run.info.run_name,
        "status": run.info.status,
        "params": len(run.data.params),
        "lr": run.data.params["trainer.lr"],
        "last": run.data.metrics[KEY],
        "history": [[m.step, str(m.value)] for m in client.get_metric_history(run_id, KEY)],
    }
    return found | (again(client, run_id) if is_own else everyday(client, run_id))


def skyrl(project: str, name: str) -> str:
    """The calls of SkyRL's own `_MlflowLoggingAdapter`."""
    experiment = mlflow.set_experiment(project)
    run = mlflow.start_run(experiment_id=experiment.experiment_id, run_name=name)
    mlflow.log_params({"trainer.lr": 3e-6, "trainer.seed": 3, **LARGE})
    for step in range(1, 4):
        data = {KEY: step / 4, "reward/pass@8": 1.0, "loss": math.nan if step == 2 else 0.5}
        results = {key.replace("@", "_at_"): value for key, value in data.items()}
        mlflow.log_metrics(metrics=results, step=step)
    mlflow.log_metric(KEY, math.inf, step=4)
    mlflow.end_run()
    return str(run.info.run_id)


def again(client: MlflowClient, first: str) -> dict[str, object]:
    """A job that was resumed: its config may say something else, and it starts a run again."""
    experiment = mlflow.set_experiment("of another name")
    with mlflow.start_run(experiment_id=experiment.experiment_id, tags={"team": "rl"}) as run:
        mlflow.log_params({"trainer.lr": 1e-6, "nested": {"a": {"b": [1, None]}}})
        mlflow.log_metric(KEY, 0.9, step=5)
    with mlflow.start_run(run_id=first):
        mlflow.log_metrics({KEY: 0.95}, step=6)
    read = client.get_run(first)
    return {
        "is_same": run.info.run_id == first,
        "lr": read.data.params["trainer.lr"],
        "nested": read.data.params["nested"],
        "team": read.data.tags["team"],
        "newest": read.data.metrics[KEY],
        "artifact": refused(lambda: mlflow.log_text("x", "x.txt", run_id=first)),
        "delete": refused(lambda: client.delete_run(first)),
    }


def everyday(client: MlflowClient, first: str) -> dict[str, object]:
    experiment = client.get_experiment_by_name("maze project")
    run = client.create_run(experiment.experiment_id, run_name="by hand", tags={"team": "rl"})
    run_id = run.info.run_id
    metrics = [Metric("loss", 1 / (n + 1), 1_790_000_000_000 + n, n) for n in range(2_500)]
    for start in range(0, 2_500, 1_000):
        client.log_batch(run_id, metrics=metrics[start : start + 1_000])
    client.log_batch(run_id, params=[Param("seed", "7")], tags=[RunTag("note", "<b>")])
    client.set_tag(run_id, "note", "second")
    client.delete_tag(run_id, "team")
    paged = [Metric("paged", n, 1_790_000_000_000, n) for n in range(12_500)]
    for start in range(0, len(paged), 1_000):
        client.log_batch(run_id, metrics=paged[start : start + 1_000])
    client.set_terminated(run_id, "FAILED")
    history = client.get_metric_history(run_id, "loss")
    back = client.get_run(run_id)
    filtered = client.search_runs(
        [experiment.experiment_id], "params.seed = '7' and metrics.loss < 0.5 and status = 'FAILED'"
    )
    ordered = client.search_runs([experiment.experiment_id], order_by=["metrics.`loss` DESC"])
    table = mlflow.search_runs(experiment_names=["maze project"], output_format="list")
    errors = [refused(lambda: client.get_run("run-nothing"))]
    errors.append(refused(lambda: client.log_param(run_id, "seed", "8")))
    errors.append(refused(lambda: client.search_runs([experiment.experiment_id], "tags.x = 'y'")))
    client.delete_run(run_id)
    client.restore_run(run_id)
    return {
        "paged": [point.step for point in client.get_metric_history(run_id, "paged")]
        == list(range(12_500)),
        "steps": [history[0].step, history[-1].step, len(history)],
        "time": history[-1].timestamp,
        "value": history[-1].value,
        "tags": {k: v for k, v in back.data.tags.items() if not k.startswith("mlflow.")},
        "end": back.info.status,
        "filtered": [each.info.run_id == run_id for each in filtered],
        "ordered": [each.info.run_id for each in ordered] == [first, run_id],
        "table": len(table),
        "experiments": [each.name for each in client.search_experiments()],
        "errors": errors,
    }


def refused(call: object) -> str:
    try:
        call()  # type: ignore[operator]
    except MlflowException as error:
        return error.error_code
    return "no error"


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(sys.argv[1], is_own="own" in sys.argv[2:])) + "\n")
