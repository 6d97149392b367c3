"""What several pages about runs read first."""

from app.clusters import service as clusters
from app.db import ReadSession
from app.models import Run
from app.runs import service, views
from app.runs.contexts import RunHead
from app.runs.service import ClusterLoad
from app.web.cluster_line import ClusterLine, cluster_line, load_of


async def load_head(session: ReadSession, slug: str, *, tab: str = "") -> tuple[Run, RunHead]:
    """A run and the top of its pages. Raises `NotFound`."""
    run = await service.get(session, slug)
    load = load_of(run, await service.loads(session))
    return run, views.run_head(run, load=load, tab=tab, pushed_step=await pushed_step(session, run))


async def pushed_step(session: ReadSession, run: Run) -> int | None:
    """The newest step of the points of a run fed from outside; None for the runs of a worker."""
    return (await service.pushed_steps(session, [run])).get(run.id)


async def embedded_line(session: ReadSession) -> ClusterLine | None:
    """The cluster that runs go to unless told otherwise; None before the worker made its row."""
    loads = await service.loads(session)
    for cluster in await clusters.list_all(session):
        if cluster.slug == clusters.EMBEDDED:
            return cluster_line(cluster, loads.get(cluster.id, ClusterLoad()))
    return None
