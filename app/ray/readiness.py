"""How far a starting head has come."""

from dataclasses import dataclass
from pathlib import Path

import httpx

from app.outgoing.client import Limits, embedded_client
from app.ray.client import RayClient
from app.ray.errors import RayUnreachable
from app.ray.gateway import ClusterInfo
from app.ray.head_launch import NODE_ADDRESS
from app.ray.head_state import HeadState

_PROBE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Progress:
    """`cluster` is given once jobs can be submitted; until then `message` says what is missing."""

    message: str
    cluster: ClusterInfo | None = None


async def look(state: HeadState, client: RayClient) -> Progress:
    """One look at the head. Raises `RayNotSignedIn` if another Ray has taken its port."""
    if not (state.temp_dir / "session_latest").exists():
        return Progress("starting Ray head")
    try:
        cluster, nodes = await client.cluster(), await client.nodes()
    except RayUnreachable:
        return Progress("waiting for dashboard")
    is_complete = [node.is_alive for node in nodes] == [True] and _is_current(state)
    if not is_complete or not await _has_agent(state):
        return Progress("waiting for job agent")
    return Progress("ready", cluster)


def _is_current(state: HeadState) -> bool:
    """Whether Ray has noted this head as its folder's cluster.

    Job supervisors look there for their cluster; without the note they join any Ray on the machine.
    """
    note = Path(state.temp_dir, "ray_current_cluster")
    return note.is_file() and note.read_text() == f"{NODE_ADDRESS}:{state.ports['port']}"


async def _has_agent(state: HeadState) -> bool:
    """Submits go through the node's agent, which comes up last."""
    limits = Limits(connect_seconds=_PROBE_SECONDS, read_seconds=_PROBE_SECONDS)
    async with embedded_client(state.agent_address, limits=limits) as http:
        try:
            answer = await http.get("/api/local_raylet_healthz")
        except httpx.HTTPError:
            return False
    return answer.is_success
