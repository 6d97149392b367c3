"""The command of any framework: long, over several lines, typed into the form."""

import httpx
import pytest

from app.recipes import service as recipes
from tests.editor.forms import opened, press, raw_text
from tests.web.html import parse

pytestmark = pytest.mark.usefixtures("seeded")
VERL = "python3 -m verl.trainer.main_ppo \\\n" + " \\\n".join(
    f"  actor_rollout_ref.rollout.some_group.setting_{n}=value_{n}" for n in range(40)
)


async def test_a_command_of_many_lines_comes_back_as_it_was_typed(
    client: httpx.AsyncClient,
) -> None:
    form = await opened(client, "/runs/new?recipe=command")
    typed = VERL.replace("\n", "\r\n")
    page = parse((await press(client, form, "Check", job__entrypoint=typed)).text)
    control = page.labelled("Command")
    assert control.tag == "textarea"
    assert "aria-invalid" not in control.attributes
    assert raw_text(control).replace("\r\n", "\n") == VERL


def test_a_command_of_many_lines_is_rendered_as_it_is() -> None:
    values = recipes.resolve("command", {"job.entrypoint": VERL})
    script = recipes.render(recipes.get("command"), values).files["train_job.sh"]
    assert f"exec bash -c '{VERL}'\n" in script


@pytest.mark.parametrize(
    ("command", "rule"),
    [("x" * 20_001, "length"), ("a\x1bb", "characters"), (" \n\t", "no_command")],
)
def test_what_is_no_command(command: str, rule: str) -> None:
    found = recipes.validate(recipes.get("command"), {"job.entrypoint": command})
    assert [each.rule for each in found.errors] == [rule]


def test_names_stay_on_one_line() -> None:
    found = recipes.validate(recipes.get("visgym-sft-grpo"), {"trainer.run_name": "a\nb"})
    assert [each.rule for each in found.errors] == ["characters"]
