"""Skydeck as one more tool of the peer benchmark: `tests/bench/bench_peers.py` puts it there.

Lists are the fragment that the page of runs asks for every few seconds; charts are the request of
the comparison. Both answer compressed, as to a browser.
"""

# It runs in the benchmark's world, which has no types.
# mypy: ignore-errors

import json
import os
import re
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

# The writer's interpreter knows only the benchmark's own folder.
ROOT = os.environ["BENCH_SKYDECK_ROOT"]
sys.path.insert(0, ROOT)

import workload as W  # noqa: E402
from adapters import Base  # noqa: E402

KEY = "eval/m0"
POINTS = 320
"""As many as MLflow's page asks for."""
VALUES_A_CALL, RUNS_A_CALL = 90_000, 100
FRAGMENT = {"HX-Request": "true", "HX-Request-Type": "partial"}
LISTS = ("many", "crowd")


class Adapter(Base):
    name = "skydeck"
    imports = ("app.client", "app.client_log")
    ready_path = "/healthz"
    needs_server_to_write = True

    def env(self):
        return {
            "SKYDECK_HOME": os.path.join(self.work, "home"),
            "SKYDECK_REQUESTS_PER_MINUTE": "10000000",
            "SKYDECK_LOG_LEVEL": "error",
            "OPENBLAS_NUM_THREADS": "1",
        }

    def data_paths(self):
        return [os.path.join(self.work, "home")]

    def server_argv(self, full=False):
        # The server is started in a folder of its own, by an interpreter that may know another
        # checkout.
        code = f"import sys; sys.path.insert(0, {ROOT!r}); from app.cli import main; main()"
        return [self.bin("python"), "-c", code, "web", "--port", str(self.port)]

    def prepare(self):
        if not os.path.exists(self._file()):
            environ = dict(os.environ, **self.env())
            argv = [self.bin("python"), "-m", "tests.bench.peers.prepare", self._file()]
            subprocess.run(argv, env=environ, cwd=ROOT, check=True)

    def write_normal(self, case, first=0):
        ids = []
        with self._client() as skydeck:
            for i in range(first, first + case.runs):
                if self.expired():
                    break
                run = self._run(skydeck, case, i)
                for s, row in W.steps(case, i):
                    skydeck.log(run, row, step=s)
                skydeck.flush()
                skydeck.finish(run)
                ids.append(run)
        return ids

    def write_batch(self, case, first=0):
        """Whole runs, as many a call as it takes; no case has a run that is too long for one."""
        ids, gathered = [], []
        most = min(RUNS_A_CALL, VALUES_A_CALL // (case.points // case.runs))
        with self._client() as skydeck:
            for i in range(first, first + case.runs):
                if self.expired():
                    break
                gathered.append(self._whole(case, i))
                if len(gathered) == most:
                    ids += [made["id"] for made in skydeck.import_runs(gathered)]
                    gathered = []
            if gathered:
                ids += [made["id"] for made in skydeck.import_runs(gathered)]
        return ids

    def _whole(self, case, i):
        rows = list(W.steps(case, i))
        columns = {"step": [s for s, _ in rows]}
        for name in case.metric_names():
            columns[name] = [row[name] for _, row in rows]
        return {
            "name": W.run_name(i),
            "experiment": W.PROJECT,
            "config": W.params(i, case.params),
            "status": "succeeded",
            "metrics": columns,
        }

    def write_many(self, case, first=0):
        """The crowd is made of the runs of another case, which are copied in the database."""
        if case.name != "crowd":
            return self.write_batch(case, first)
        from tests.bench.peers.multiply import multiply

        ids = self.write_batch(W.CASES["many"], first)
        count = multiply(Path(self.env()["SKYDECK_HOME"]), case.runs)
        # Only how many there are is asked of these.
        return (ids * (count // len(ids)))[:count]

    def list_ops(self, case, ids):
        flt = f'config("{W.FILTER_PARAM}") = {W.FILTER_VALUE}'
        return {
            "list_page_newest": lambda m: self._page(m),
            "list_page_sorted_by_metric": lambda m: self._page(m, sort=f"-metric:{KEY}:best"),
            "list_page_filtered_by_param": lambda m: self._page(m, filter=flt),
        }

    def chart_ops(self, case, ids):
        if case.name in LISTS:
            return self.list_ops(case, ids)
        ops = {}
        for n in (20, 100):
            if len(ids) >= n:
                ops[f"chart_{n}_sampled"] = self._chart(ids[:n], max_points=POINTS, digits=6)
                ops[f"chart_{n}_full"] = self._chart(ids[:n], max_points=10_000)
                ops[f"chart_{n}_poll_nothing_new"] = self._poll(ids[:n])
        return ops

    @contextmanager
    def _client(self):
        """`BENCH_WAITS` names a folder for how long the longest request took."""
        from app.client import Client

        folder = os.environ.get("BENCH_WAITS")
        transport = _timed_transport() if folder else None
        with Client(self.url, self._secrets()["token"], transport=transport) as skydeck:
            yield skydeck
        if folder:
            found = {"requests": len(transport.seconds), "longest_s": max(transport.seconds)}
            with open(os.path.join(folder, f"{os.getpid()}.json"), "w") as file:
                json.dump(found, file)

    def _run(self, skydeck, case, i):
        made = skydeck.create_external_run(
            W.run_name(i), experiment=W.PROJECT, config=W.params(i, case.params)
        )
        return made["id"]

    def _page(self, meter, **query):
        headers = dict(FRAGMENT, Cookie=f"skydeck_session={self._secrets()['session']}")
        path = "/runs" + (f"?{urlencode(query)}" if query else "")
        body = meter.send("GET", path, headers=headers)
        return len(re.findall(rb'<tr id="run-', body))

    def _chart(self, runs, **query):
        def go(meter):
            got = self._series(meter, runs, query)
            return sum(len(each["step"]) for each in got)

        return go

    def _poll(self, runs):
        since = {}

        def go(meter):
            if not since:
                since["since"] = self._ask(meter, runs, {"max_points": POINTS})["cursor"]
                meter.reset()
            return len(self._ask(meter, runs, since)["series"])

        return go

    def _series(self, meter, runs, query):
        return self._ask(meter, runs, query)["series"]

    def _ask(self, meter, runs, query):
        text = urlencode({"run": runs, "key": KEY, **query}, doseq=True)
        headers = {"Authorization": f"Bearer {self._secrets()['token']}"}
        return meter.json("GET", f"/api/v1/series?{text}", headers=headers)

    def _file(self):
        return os.path.join(self.work, "secrets.json")

    def _secrets(self):
        if not hasattr(self, "_known"):
            with open(self._file()) as file:
                self._known = json.load(file)
        return self._known


def _timed_transport():
    import httpx

    class Timed(httpx.HTTPTransport):
        """Says how long each answer was waited for, by the wall clock."""

        def __init__(self):
            super().__init__(verify=False)
            self.seconds = []

        def handle_request(self, request):
            started = time.perf_counter()
            try:
                return super().handle_request(request)
            finally:
                self.seconds.append(time.perf_counter() - started)

    return Timed()
