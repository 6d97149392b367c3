"""Opens the connection to a server of models."""

import httpx

from app.llm.limits import USUAL, ChatLimits
from app.outgoing.client import RuleSource, embedded_client, guarded_client


def connect(
    base_url: str, key: str | None, *, rules: RuleSource | None, limits: ChatLimits = USUAL
) -> httpx.AsyncClient:
    """`rules` None: for the endpoint that we started ourselves, whose address comes from us.

    Redirects are not followed: they would turn the key over. Raises `BadAddress`.
    """
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    if rules is None:
        return embedded_client(base_url, headers=headers, limits=limits.outgoing())
    return guarded_client(rules, base_url=base_url, headers=headers, limits=limits.outgoing())
