"""The worker process: all control loops over one database, until SIGINT or SIGTERM."""

import asyncio
import gc
import logging
import signal
import sys
from datetime import timedelta
from typing import Any

from app.adapters import destinations
from app.clusters import service as clusters
from app.db import Database
from app.endpoints import service as endpoints
from app.episodes.endpoint_models import EndpointModels
from app.errors import StartError
from app.observability.logging import configure as configure_logging
from app.observability.logging import log_crashes
from app.outgoing.allow_list import AllowList
from app.ray.connect import Connector, guarded_clients
from app.schema import require_current
from app.secrets.startup import require_keys
from app.secrets.vault import attach
from app.settings import Settings, load_settings
from app.storage.local_adapters import LocalAdapterStore
from worker.cleanup import keep_clean
from worker.presence import stay_present
from worker.reconciler import Loop, Reconciler
from worker.reconcilers.attempts import AttemptsReconciler
from worker.reconcilers.checkpoints import CheckpointsReconciler
from worker.reconcilers.checks import ChecksReconciler
from worker.reconcilers.clusters import ClustersReconciler
from worker.reconcilers.endpoints import EndpointsReconciler
from worker.reconcilers.evaluations import EvaluationsReconciler
from worker.reconcilers.gateways import Gateways, OpenGateways
from worker.reconcilers.job_code import Packages
from worker.reconcilers.job_tracking import Addresses
from worker.reconcilers.logs import LogsReconciler
from worker.reconcilers.promotions import Place, PromotionsReconciler
from worker.reconcilers.way_back import WayBack

log = logging.getLogger("worker")


def main() -> int:
    """Runs until a signal; returns the exit status."""
    try:
        settings = load_settings()
        configure_logging(settings.log_level, settings.log_format)
        log_crashes()
        # What stands until the end is not searched for garbage: that held all loops up for 0.2 s.
        gc.collect()
        gc.freeze()
        asyncio.run(_work(settings))
    except StartError as error:
        sys.stderr.write(f"skydeck worker: {error.message}\n")
        return 1
    return 0


async def _work(settings: Settings) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await require_current(settings.url)
    database = Database(settings.url)
    make_client = guarded_clients(AllowList(database))
    connector = Connector(make_client, session_name=settings.aws_session_name)
    gateways = OpenGateways(settings.home, connector)
    attach(database, settings.secret_keys)
    try:
        async with database.write() as session:
            await require_keys(session, settings.secret_keys, makes=False)
            await clusters.ensure_embedded(session)
            await endpoints.ensure_embedded(session)
        log.info("worker started")
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(stay_present(database, stop))
            tasks.create_task(keep_clean(database, gateways, stop, home=settings.home))
            for loop in loops(settings, database, gateways, connector):
                tasks.create_task(loop.run(stop))
    finally:
        await gateways.aclose()
        await database.close()
    log.info("worker stopped")


def loops(
    settings: Settings, database: Database, gateways: Gateways, connector: Connector
) -> list[Loop[Any, Any]]:
    """One loop for each reconciler there is."""
    poll = timedelta(seconds=settings.poll_seconds)
    addresses = Addresses(settings.home, settings.public_url)
    reconcilers: list[Reconciler[Any, Any]] = [
        ClustersReconciler(gateways, home=settings.home, poll=poll),
        ChecksReconciler(gateways, connector, WayBack(addresses)),
        AttemptsReconciler(
            gateways,
            Packages(database, settings.home),
            addresses=addresses,
            runs_dir=settings.runs_dir,
            poll=poll,
        ),
        LogsReconciler(gateways, home=settings.home, runs_dir=settings.runs_dir, poll=poll),
        CheckpointsReconciler(runs_dir=settings.runs_dir),
        PromotionsReconciler(database, _places(settings), runs_dir=settings.runs_dir),
        EndpointsReconciler(AllowList(database), home=settings.home),
        EvaluationsReconciler(database, EndpointModels(database, settings)),
    ]
    return [
        Loop(
            database,
            reconciler,
            lease_seconds=settings.lease_seconds,
            concurrency=reconciler.concurrency,
        )
        for reconciler in reconcilers
    ]


def _places(settings: Settings) -> dict[str, Place]:
    """The destinations that this worker can reach, with what stores files there."""
    embedded = destinations.get(destinations.EMBEDDED)
    return {embedded.name: Place(embedded, LocalAdapterStore(settings.adapters_dir))}


if __name__ == "__main__":
    sys.exit(main())
