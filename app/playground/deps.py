"""What routes of the playground ask for."""

from typing import Annotated

from fastapi import Depends, Request

from app.playground.under_way import UnderWay


def under_way(request: Request) -> UnderWay:
    found: UnderWay = request.app.state.under_way
    return found


Texts = Annotated[UnderWay, Depends(under_way)]
"""What models of this server say at the moment."""
