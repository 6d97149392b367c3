"""Checks of a connection, one after the other; the first that fails ends them."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from app.ray.errors import RayError
from app.ray.gateway import ClusterInfo, NodeInfo, RayGateway


@dataclass(frozen=True, slots=True)
class Finding:
    """`message` says what was found, or what is wrong and what to do."""

    name: str
    ok: bool
    message: str


async def examine(gateway: RayGateway, address: str) -> list[Finding]:
    """Whether the cluster answers and lets us in, its Ray, its machines, and its jobs."""
    return [finding async for finding in _findings(gateway, address)]


async def _findings(gateway: RayGateway, address: str) -> AsyncIterator[Finding]:
    async def version() -> str:
        info = await gateway.cluster()
        return f"{address} answers and lets us in. {_ray(info)}"

    async def nodes() -> str:
        return _machines(await gateway.nodes())

    async def jobs() -> str:
        count = len(await gateway.list_jobs())
        return f"It remembers {count} {'job' if count == 1 else 'jobs'}."

    steps: tuple[tuple[str, Callable[[], Awaitable[str]]], ...] = (
        ("connection", version),
        ("machines", nodes),
        ("jobs", jobs),
    )
    for name, step in steps:
        try:
            yield Finding(name, ok=True, message=await step())
        except RayError as error:
            yield Finding(name, ok=False, message=error.message)
            return


def _ray(info: ClusterInfo) -> str:
    return f"It runs Ray {info.ray_version}, since {info.session_name}."


def _machines(nodes: list[NodeInfo]) -> str:
    alive = [node for node in nodes if node.is_alive]
    if not alive:
        return "No machine has reported yet."
    cpus = sum(node.cpu_count for node in alive)
    gpus = sum(node.gpu_count for node in alive)
    count = f"{len(alive)} {'machine' if len(alive) == 1 else 'machines'}"
    return f"{count} with {cpus:g} CPUs and {gpus:g} GPUs for Ray."
