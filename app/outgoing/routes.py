"""The page of outgoing hosts: allow one, take one away, try an address."""

import re
from collections.abc import Mapping
from typing import Annotated

from fastapi import Depends, Form, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from app.db import Database
from app.errors import Invalid
from app.outgoing import service
from app.outgoing.contexts import AddressRow, HostRow, OutgoingPage, TrialCard
from app.outgoing.resolve import Resolver, system_resolver
from app.outgoing.service import Trial
from app.routing import Router
from app.web.deps import Admin, Store
from app.web.flash import flash
from app.web.forms import FormField
from app.web.templating import page

router = Router()
URL = "/settings/outgoing"
Dns = Annotated[Resolver, Depends(system_resolver)]
_USERINFO = re.compile(r"://[^/?#]*@")


@router.get(URL)
async def list_hosts(request: Request, store: Store, _viewer: Admin) -> HTMLResponse:
    return page(request, "outgoing/list.html", await _page(store))


@router.post(URL)
async def allow_host(
    request: Request,
    store: Store,
    viewer: Admin,
    host: Annotated[str, Form()] = "",
    reason: Annotated[str, Form()] = "",
) -> Response:
    try:
        async with store.write() as session:
            await service.allow(session, viewer.principal.actor, host=host, reason=reason)
    except Invalid as error:
        problems = {problem.field: problem.message for problem in error.problems}
        context = await _page(store, {"host": host, "reason": reason}, problems)
        return page(request, "outgoing/list.html", context, status=422)
    return flash(RedirectResponse(URL, 303), "host-allowed")


@router.post(URL + "/try")
async def try_address(
    request: Request,
    store: Store,
    resolver: Dns,
    _viewer: Admin,
    address: Annotated[str, Form()] = "",
) -> HTMLResponse:
    """Shows the verdict; nothing is called and nothing is kept."""
    problem = _typing_problem(address)
    # A password that was typed along is not shown again.
    values = {"address": _USERINFO.sub("://", address)}
    if problem:
        context = await _page(store, values, {"address": problem})
        return page(request, "outgoing/list.html", context, status=422)
    trial = await service.try_address(store, resolver, address)
    context = await _page(store, values, trial=_card(trial))
    return page(request, "outgoing/list.html", context)


@router.post(URL + "/{slug}/remove")
async def remove_host(slug: str, store: Store, viewer: Admin) -> Response:
    async with store.write() as session:
        await service.refuse(session, viewer.principal.actor, slug)
    return flash(RedirectResponse(URL, 303), "host-removed")


async def _page(
    store: Database,
    values: Mapping[str, str] | None = None,
    problems: Mapping[str, str] | None = None,
    *,
    trial: TrialCard | None = None,
) -> OutgoingPage:
    async with store.read() as session:
        rows = await service.list_hosts(session)
    hosts = [HostRow(r.slug, r.host, r.reason, r.created_by, r.created_at) for r in rows]
    fields = _fields(values or {}, problems or {})
    return OutgoingPage(hosts, fields[:2], fields[2], trial)


def _fields(values: Mapping[str, str], problems: Mapping[str, str]) -> list[FormField]:
    return [
        FormField(
            name,
            label,
            "text",
            values.get(name, ""),
            help=text,
            placeholder=example,
            problem=problems.get(name, ""),
        )
        for name, label, text, example in (
            (
                "host",
                "Host",
                "A name, *.suffix, an IP address or a network such as 10.0.0.0/24; "
                "a port behind it (:8265) allows that port alone.",
                "ray.internal:8265",
            ),
            ("reason", "Reason", "What runs there, and who asked for it.", ""),
            (
                "address",
                "Address",
                "Asks DNS and the rules. The address itself is not called.",
                "https://llm.example.com/v1",
            ),
        )
    ]


def _typing_problem(address: str) -> str:
    if not address.strip():
        return "Type the address to try."
    if len(address) > service.ADDRESS_LENGTH:
        return f"At most {service.ADDRESS_LENGTH:,} characters."
    return ""


def _card(trial: Trial) -> TrialCard:
    return TrialCard(
        shown=str(trial.target) if trial.target else "This address",
        is_allowed=trial.refusal is None,
        reason=trial.refusal.message if trial.refusal else "",
        addresses=[
            AddressRow(
                str(each.address),
                each.zone,
                each.is_open,
                each.rule.text if each.rule else "",
            )
            for each in trial.addresses
        ],
    )
