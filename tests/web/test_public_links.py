"""Links that are given to other people."""

import httpx
from fastapi import FastAPI


async def test_an_invite_starts_with_the_public_url_else_with_the_host_asked(
    app: FastAPI, client: httpx.AsyncClient
) -> None:
    form = {"project": "", "role": "member", "note": ""}
    made = await client.post("/settings/invites", data=form)
    assert "http://skydeck.test/join?token=" in made.text
    app.state.settings = app.state.settings.model_copy(update={"public_url": "https://sky.example"})
    made = await client.post("/settings/invites", data=form)
    assert made.status_code == 201
    assert "https://sky.example/join?token=" in made.text
    assert "skydeck.test/join" not in made.text
