"""Documentation that cannot rot: each setting, status and make target appears where it belongs."""

import re

from app.adapters.faults import PromotionFault
from app.episodes.states import LaneStatus, Outcome
from app.models import AdapterStatus, AttemptStatus, ClusterStatus, PromotionStatus, RunStatus
from app.recipes import service as recipes
from app.settings import PREFIX, ROOT, Settings


def page(name: str) -> str:
    return (ROOT / name).read_text()


def test_each_setting_has_a_row_with_its_default() -> None:
    text = page("docs/settings.md")
    for name, field in Settings.model_fields.items():
        default = field.default
        shown = "none" if default is None else str(default)
        shown = shown.lower() if isinstance(default, bool) else shown
        assert f"| `{PREFIX}{name.upper()}` | `{shown}` | {field.description}" in text


def test_no_setting_is_documented_that_does_not_exist() -> None:
    table = page("docs/settings.md").partition("Read by the command line")[0]
    named = set(re.findall(r"\| `SKYDECK_(\w+)`", table))
    assert named == {name.upper() for name in Settings.model_fields}


def test_each_status_is_explained() -> None:
    text = page("docs/statuses.md")
    for status in (*RunStatus, *AttemptStatus, *ClusterStatus, *LaneStatus, *Outcome):
        assert f"`{status}`" in text


def test_each_state_of_an_adapter_and_each_failure_is_explained() -> None:
    text = page("docs/adapters.md")
    for name in (*AdapterStatus, *PromotionStatus, *PromotionFault):
        assert f"`{name}`" in text


def test_the_make_targets_of_the_guide_exist() -> None:
    targets = set(re.findall(r"^([a-z0-9-]+):", page("Makefile"), re.MULTILINE))
    for name in ("README.md", "CONTRIBUTING.md", "docs/quickstart.md", "docs/architecture.md"):
        for line in re.findall(r"make ([a-z0-9-]+)", page(name)):
            assert line in targets, f"{name} names `make {line}`"


def test_each_dependency_has_a_reason() -> None:
    text = page("docs/architecture.md")
    wanted = re.findall(
        r'^  "([a-z0-9-]+)', page("pyproject.toml").partition("[project.opt")[0], re.M
    )
    assert len(wanted) > 10
    assert [name for name in wanted if f"`{name}`" not in text] == []


def test_the_first_page_leads_to_each_page() -> None:
    first = page("README.md")
    assert [f.name for f in (ROOT / "docs").glob("*.md") if f"(docs/{f.name})" not in first] == []


def test_links_between_pages_lead_somewhere() -> None:
    for file in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")):
        for target in re.findall(r"\]\(([^)#]+)", file.read_text()):
            assert (file.parent / target).exists(), f"{file.name} links to {target}"


def test_each_recipe_and_each_job_key_is_explained() -> None:
    text = page("docs/recipes.md")
    for recipe in recipes.list_all():
        assert f"`{recipe.name}`" in text
        for key in recipe.fields():
            assert not key.startswith("job.") or f"`{key}`" in text
