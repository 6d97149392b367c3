"""Pages about an experiment's config versions: all, one, and what differs between two."""

from typing import Annotated

from fastapi import Path, Query, Request
from starlette.responses import HTMLResponse

from app.experiments import service, views
from app.experiments.contexts import DiffPage, VersionPage, VersionsPage
from app.experiments.loading import load_head
from app.recipes import service as recipes
from app.routing import Router
from app.runs import service as runs
from app.web.config_table import config_groups, find_recipe
from app.web.deps import ExperimentReader, Store
from app.web.paging import Cursor, pager
from app.web.templating import page

router = Router()
PAGE_SIZE = 50
_TAB = "Versions"
_Number = Annotated[int, Query(ge=1, lt=2**31)]


@router.get("/experiments/{slug}/versions")
async def list_versions(
    request: Request, slug: str, store: Store, viewer: ExperimentReader, cursor: Cursor = None
) -> HTMLResponse:
    async with store.read() as session:
        experiment, head = await load_head(session, slug, viewer, tab=_TAB)
        found = await service.list_versions(session, experiment, limit=PAGE_SIZE, cursor=cursor)
        counts = await runs.count_by_version(session, experiment)
    rows = [
        views.version_row(experiment, config, changes, counts.get(config.version or 0, 0))
        for config, changes in found.items
    ]
    url = f"/experiments/{slug}/versions"
    context = VersionsPage(
        head=head,
        rows=rows,
        pager=pager(url, {}, cursor=cursor, next_cursor=found.next_cursor),
        newest=head.experiment.version or 0,
    )
    return page(request, "experiments/versions.html", context)


@router.get("/experiments/{slug}/versions/{version}")
async def show_version(
    request: Request,
    slug: str,
    version: Annotated[int, Path(ge=1, lt=2**31)],
    store: Store,
    viewer: ExperimentReader,
) -> HTMLResponse:
    async with store.read() as session:
        experiment, head = await load_head(session, slug, viewer, tab=_TAB)
        config = await service.get_version(session, experiment, version)
        changes = await service.changes_of(session, experiment, config)
        yaml = await service.find_yaml(session, config)
        counts = await runs.count_by_version(session, experiment)
    recipe = find_recipe(config.recipe)
    since = recipes.diff((recipe, {}), (recipe, config.values)) if recipe else []
    context = VersionPage(
        head=head,
        version=views.version_row(
            experiment, config, changes, counts.get(version, 0), most=len(changes)
        ),
        recipe=f"{config.recipe} v{config.recipe_version}",
        recipe_changes=views.change_rows(since),
        knows_recipe=recipe is not None,
        yaml=yaml or "",
        earlier=version - 1 or (2 if (head.experiment.version or 0) > 1 else 0),
        groups=config_groups(config.values, recipe),
    )
    return page(request, "experiments/version.html", context)


@router.get("/experiments/{slug}/diff")
async def show_diff(
    request: Request,
    slug: str,
    store: Store,
    viewer: ExperimentReader,
    before: Annotated[_Number | None, Query(alias="from")] = None,
    after: Annotated[_Number | None, Query(alias="to")] = None,
) -> HTMLResponse:
    """Without numbers: the newest version against the one before it."""
    async with store.read() as session:
        experiment, head = await load_head(session, slug, viewer, tab=_TAB)
        newest = head.experiment.version or 1
        later = after or newest
        earlier = before or max(1, later - 1)
        one, other, changes = await service.compare(session, experiment, earlier, later)
        texts = [await service.find_yaml(session, each) for each in (one, other)]
    context = DiffPage(
        head=head,
        before=earlier,
        after=later,
        newest=newest,
        swap_url=f"/experiments/{slug}/diff?from={later}&to={earlier}",
        changes=views.change_rows(changes),
        words=views.differing_lines(*texts),
    )
    return page(request, "experiments/diff.html", context)
