"""What can be said of a draft before it is launched: findings, GPUs, differences, files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app.access.permissions import Permission
from app.clusters import service as clusters
from app.editor import launching
from app.editor.draft import AGAINST, CLUSTER, PROJECT, YAML, Draft
from app.errors import Invalid, NotFound
from app.experiments import service as experiments
from app.models import Cluster, ClusterKind, Config, Experiment, Run, RunStatus
from app.projects import service as projects
from app.recipes import service as recipes
from app.recipes.diff import Change
from app.recipes.model import Finding, Findings, Recipe
from app.runs import policy, queue
from app.runs import service as runs
from app.runs.path_users import list_path_users
from app.secrets import service as secrets
from app.web.cluster_line import ClusterLine, cluster_line
from app.web.deps import Viewer

STEPS = "trainer.max_training_steps"
_HISTORY = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Previous:
    """The newest version of the experiment that the draft names.

    `against` is the version that the changes are shown against, and `since` what they are then.
    """

    name: str
    slug: str
    version: int
    changes: Sequence[Change]
    against: int
    since: Sequence[Change]


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """`config` as typed, `values` and `gpus` as in `recipes.Examined`.

    `cluster_gpus` by node; None while nobody has seen the cluster's nodes.
    `like` are finished runs of the same recipe.
    """

    findings: Findings
    config: Mapping[str, Any]
    values: dict[str, Any] | None
    gpus: dict[str, int] | None
    clusters: Sequence[Cluster]
    cluster: Cluster
    cluster_gpus: tuple[int, ...] | None
    line: ClusterLine
    changes: Sequence[Change]
    previous: Previous | None
    like: Sequence[Run] = field(default_factory=list)


async def look(session: AsyncSession, viewer: Viewer, draft: Draft) -> tuple[Draft, Look]:
    """All about a draft; the draft comes back without the secrets that were typed into it."""
    known = await secrets.masker(session, readable(viewer))
    masked = draft.masked(known.text)
    told = await _secret_findings(session, viewer, draft) if masked != draft else []
    offered = await _offered(session)
    cluster = _chosen(offered, draft)
    gpus = clusters.gpus_by_node(cluster)
    config = masked.config
    others = await list_path_users(
        session, draft.recipe, config, cluster, projects=viewer.principal.projects(Permission.READ)
    )
    found = _examined(masked, config, told, policy.place_on(cluster, others))
    loads = await queue.loads(session)
    return masked, Look(
        findings=_with_barriers(found.findings, masked, config, cluster),
        config=config,
        values=found.values,
        gpus=found.gpus,
        clusters=offered,
        cluster=cluster,
        cluster_gpus=(0,) if cluster.kind is ClusterKind.EMBEDDED else gpus or None,
        line=cluster_line(cluster, loads.get(cluster.id, queue.ClusterLoad())),
        changes=recipes.diff((draft.recipe, {}), (draft.recipe, config)),
        previous=await _previous(session, viewer, masked, config),
        like=await _like(session, viewer, draft.recipe),
    )


def readable(viewer: Viewer) -> list[UUID] | None:
    """The projects that the viewer may read; None: all."""
    found = viewer.principal.projects(Permission.READ)
    return None if found is None else list(found)


def project_slug(viewer: Viewer, draft: Draft) -> str:
    """The project that the draft goes into: as typed, else the default one or the only one."""
    slugs = [each.slug for each in viewer.projects if viewer.may(Permission.WRITE, each.project_id)]
    usual = projects.DEFAULT if projects.DEFAULT in slugs else slugs[0] if slugs else ""
    return draft.naming.get(PROJECT) or usual


def _examined(
    draft: Draft, config: Mapping[str, Any], told: Sequence[Finding], place: recipes.Place
) -> recipes.Examined:
    """What is wrong with the config, and with the typing of it."""
    if draft.fault is not None:
        fault = Finding(rule="yaml", fields=(YAML,), message=str(draft.fault))
        refusal = recipes.embedded_refusal(draft.recipe) if place.is_embedded else None
        refused = (refusal,) if refusal else ()
        return recipes.Examined(findings=Findings(errors=(fault, *told, *refused)))
    found = recipes.examine(draft.recipe, config, place)
    typing = (*told, *draft.findings())
    if not typing:
        return found
    errors = (*typing, *found.findings.errors)
    return replace(found, findings=replace(found.findings, errors=errors), values=None)


def _with_barriers(
    found: Findings, draft: Draft, config: Mapping[str, Any], cluster: Cluster
) -> Findings:
    """With what the cluster does not allow, where nothing is said of the same field yet."""
    said = {each.fields for each in found.errors}
    barriers = tuple(
        Finding(rule=each.rule, fields=(each.field,), message=each.message, fix=each.fix)
        for each in policy.barriers(cluster, draft.recipe.name, config)
        if (each.field,) not in said
    )
    return replace(found, errors=found.errors + barriers)


async def _secret_findings(session: AsyncSession, viewer: Viewer, draft: Draft) -> list[Finding]:
    texts = {**draft.config, **draft.naming, "yaml": draft.yaml}
    try:
        await secrets.refuse_values(session, readable(viewer), texts)
    except Invalid as error:
        return [
            Finding(rule=each.rule, fields=(each.field,), message=each.message)
            for each in error.problems
        ]
    return []


async def _offered(session: AsyncSession) -> list[Cluster]:
    found = list(await clusters.list_all(session))
    return found or [clusters.not_yet_started()]


def _chosen(offered: Sequence[Cluster], draft: Draft) -> Cluster:
    """As typed, else the first that runs such recipes."""
    by_slug = {each.slug: each for each in offered}
    typed = draft.naming.get(CLUSTER, "")
    if typed in by_slug:
        return by_slug[typed]
    return policy.first_that_runs(offered, draft.recipe)


async def _previous(
    session: AsyncSession, viewer: Viewer, draft: Draft, config: Mapping[str, Any]
) -> Previous | None:
    try:
        project = await projects.get(session, project_slug(viewer, draft))
        if not viewer.may(Permission.READ, project.id):
            return None
        experiment = await launching.find(session, project, draft)
    except (NotFound, Invalid):
        return None
    newest = await experiments.newest_config(session, experiment) if experiment else None
    if experiment is None or newest is None or newest.version is None:
        return None
    chosen = await _chosen_version(session, experiment, newest, draft)
    return Previous(
        name=experiment.name,
        slug=experiment.slug,
        version=newest.version,
        changes=_since(newest, draft.recipe, config),
        against=chosen.version or newest.version,
        since=_since(chosen, draft.recipe, config),
    )


async def _chosen_version(
    session: AsyncSession, experiment: Experiment, newest: Config, draft: Draft
) -> Config:
    """The version that the draft is compared with: the newest for what is none of them."""
    wanted = recipes.find_whole_number(draft.naming.get(AGAINST, ""))
    if wanted is None or not 1 <= wanted < (newest.version or 0):
        return newest
    try:
        return await experiments.get_version(session, experiment, wanted)
    except NotFound:
        return newest


def _since(newest: Config, recipe: Recipe, config: Mapping[str, Any]) -> Sequence[Change]:
    try:
        before = recipes.get(newest.recipe)
    except NotFound:
        # An upgrade dropped it: nobody knows its defaults, but a version holds all of its values.
        before = recipe
    return recipes.diff((before, newest.values), (recipe, config))


async def _like(session: AsyncSession, viewer: Viewer, recipe: Recipe) -> list[Run]:
    """Finished runs of the recipe, if it says how many steps a run has."""
    if STEPS not in recipe.fields():
        return []
    recent = await runs.list_page(
        session,
        projects=viewer.principal.projects(Permission.READ),
        limit=_HISTORY,
        statuses=(RunStatus.SUCCEEDED,),
        sort="-ended_at",
    )
    return [run for run in recent.items if run.config.recipe == recipe.name]
