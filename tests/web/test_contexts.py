"""A page's context is a contract: nothing in it that no template reads, and none undocumented.

That templates read nothing else is seen to by StrictUndefined on each page test.
"""

import dataclasses
import inspect
import re
from types import ModuleType

import pytest

from app.adapters import contexts as adapters
from app.audit import contexts as audit
from app.checkpoints import contexts as checkpoints
from app.clusters import contexts as clusters
from app.code import contexts as code
from app.compare import contexts as compare
from app.editor import contexts as editor
from app.endpoints import contexts as endpoints
from app.evaluations import contexts as evaluations
from app.experiments import contexts as experiments
from app.metrics import contexts as metrics
from app.outgoing import contexts as outgoing
from app.playground import contexts as playground
from app.projects import contexts as projects
from app.runs import contexts as runs
from app.runs import table_contexts as runs_table
from app.secrets import contexts as secrets
from app.settings import ROOT
from app.sharing import contexts as sharing
from app.sweeps import contexts as sweeps
from app.users import contexts as users
from app.web import (
    chart_board,
    cluster_line,
    config_table,
    errors,
    forms,
    paging,
    project_switch,
    run_table,
    svg,
    templating,
)

TEMPLATES = "\n".join(file.read_text() for file in sorted((ROOT / "templates").rglob("*.html")))
FEATURES: tuple[ModuleType, ...] = (
    adapters,
    audit,
    checkpoints,
    clusters,
    code,
    compare,
    editor,
    endpoints,
    evaluations,
    experiments,
    metrics,
    outgoing,
    playground,
    projects,
    runs,
    runs_table,
    secrets,
    sharing,
    sweeps,
    users,
)
CLASSES = [
    context
    for module in (
        *FEATURES,
        *(
            chart_board,
            cluster_line,
            config_table,
            errors,
            forms,
            paging,
            project_switch,
            run_table,
            svg,
            templating,
        ),
    )
    for _, context in inspect.getmembers(module, inspect.isclass)
    if context.__module__ == module.__name__ and dataclasses.is_dataclass(context)
]


@pytest.mark.parametrize("context", CLASSES, ids=lambda context: context.__qualname__)
def test_each_field_is_read_by_a_template(context: type) -> None:
    assert dataclasses.is_dataclass(context)
    # A property reads fields on a template's behalf.
    readers = TEMPLATES + inspect.getsource(context)
    for field in dataclasses.fields(context):
        assert re.search(rf"\.{field.name}\b", readers), field.name


@pytest.mark.parametrize("context", CLASSES, ids=lambda context: context.__qualname__)
def test_each_context_says_what_it_is(context: type) -> None:
    written = inspect.getdoc(context) or ""
    assert written
    assert not written.startswith(f"{context.__name__}(")


def test_all_context_modules_are_looked_at() -> None:
    files = (ROOT / "app").glob("*/*contexts.py")
    assert {".".join(file.relative_to(ROOT).with_suffix("").parts) for file in files} == {
        module.__name__ for module in FEATURES
    }
