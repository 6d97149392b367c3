"""The contracts of imports in pyproject.toml know every package of the app."""

import tomllib
from typing import Any

from app.settings import ROOT

APP = ROOT / "app"


def test_the_maze_may_know_no_part_of_the_app() -> None:
    forbidden = _contract("The maze knows nothing else")["forbidden_modules"]
    parts = {f"app.{path.stem}" for path in APP.iterdir() if not path.name.startswith("_")}
    assert parts - {"app.maze"} <= set(forbidden)


def test_queries_are_asked_by_their_own_feature_alone() -> None:
    protected = {name for each in _contracts() for name in each.get("protected_modules", ())}
    assert _modules("*/repository.py") - {"app.access.repository"} <= protected


def test_features_are_layered() -> None:
    layered = _contract("In a feature: routes and api, then service, then repository")["containers"]
    features = {name.removesuffix(".service") for name in _modules("*/service.py")}
    assert features - {"app.recipes", "app.up"} <= set(layered)


def test_services_and_queries_know_no_web() -> None:
    parts = {
        name
        for each in _contracts()
        if "fastapi" in each.get("forbidden_modules", ())
        for name in each["source_modules"]
    }
    assert _modules("*/service.py") | _modules("*/repository.py") <= parts


def _modules(pattern: str) -> set[str]:
    found = {".".join(path.relative_to(ROOT).with_suffix("").parts) for path in APP.glob(pattern)}
    assert found
    return found


def _contract(name: str) -> dict[str, Any]:
    return next(each for each in _contracts() if each["name"] == name)


def _contracts() -> list[dict[str, Any]]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts: list[dict[str, Any]] = settings["tool"]["importlinter"]["contracts"]
    return contracts
