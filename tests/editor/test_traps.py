"""Each trap that costs runs is named on the form with the user's numbers, and mended by one click.

A page is asked as a browser without JavaScript does it: the value is typed, Check is pressed, then
the finding's own Fix.
"""

from typing import Any

import httpx
import pytest

from app.db import Database
from app.recipes import service as recipes
from app.web.filters import sentence
from app.web.forms import as_text
from tests.editor.forms import SKYRL, Pairs, filled, opened, send
from tests.recipes.test_other_runs import add_run
from tests.web.html import Element, parse

pytestmark = pytest.mark.usefixtures("seeded")
SFT = recipes.get(SKYRL)
LORA = "trainer.policy.model.lora"
SHARED = {"trainer.ckpt_path": "/shared/ckpts", f"{LORA}.lora_sync_path": "/shared/lora"}

TRAPS: dict[str, dict[str, Any]] = {
    "trap.lora_cloud_ckpt": {"trainer.ckpt_path": "s3://bucket/ckpts"},
    "trap.saves_at_epoch_end": {"trainer.ckpt_interval": 7},
    "trap.unseeded_rows": {"job.train_seed_offset": None},
    "seeds_overlap": {"job.train_seed_offset": 10},
    "trap.turns_too_few": {"generator.max_turns": 10},
    "trap.eval_sampling": {"generator.eval_sampling_params.top_p": 0.9},
    "trap.lora_vision_tower": {f"{LORA}.exclude_modules": None},
    "trap.ckpt_node_local": {"trainer.ckpt_path": "/tmp/ckpts"},
    "trap.export_node_local": {"trainer.export_path": "~/exports"},
    "trap.export_cloud": {"trainer.export_path": "s3://bucket/exports"},
    "trap.lora_sync_local": {f"{LORA}.lora_sync_path": "/tmp/lora"},
    "trap.no_ckpt_interval": {"trainer.ckpt_interval": -1},
    "trap.no_export_interval": {"trainer.hf_save_interval": -1},
    "trap.no_eval_interval": {"trainer.eval_interval": -1},
    "trap.context_of_turns": {"generator.max_turns": 15, "generator.max_input_length": 2500},
    "E11.window": {"generator.inference_engine.engine_init_kwargs.max_model_len": 4096},
    "trap.colocated_memory": {"generator.inference_engine.gpu_memory_utilization": 0.95},
    "trap.prints_examples": {"trainer.print_example_interval": 1},
    "trap.lora_engine_rank": {f"{LORA}.rank": 48},
    "trap.no_dump": {"trainer.dump_eval_results": False},
    "V16.train_divides_mini": {"trainer.train_batch_size": 32},
}
NOTES: dict[str, dict[str, Any]] = {
    "trap.one_sample": {"generator.n_samples_per_prompt": 1, "trainer.train_batch_size": 48},
    "note.learning_rate": {"trainer.policy.optimizer_config.lr": 0.01},
    "note.small_mini_batch": {"trainer.policy_mini_batch_size": 3, "trainer.train_batch_size": 24},
}


def typed(page: Element, config: dict[str, Any]) -> Pairs:
    fields = SFT.fields()
    texts = {key: as_text(value) for key, value in config.items() if key in fields}
    pairs = [(k, texts.get(k, v)) for k, v in filled(page) if not k.startswith("other_")]
    rows = [(key, recipes.write_value(v)) for key, v in config.items() if key not in fields]
    return pairs + [p for k, v in rows for p in (("other_key", k), ("other_value", v))]


def findings_of(page: Element, message: str) -> list[Element]:
    return [each for each in page.by_id("check").all("listitem") if message in each.text]


async def check(client: httpx.AsyncClient, config: dict[str, Any], rule: str) -> Element:
    """The page of a config, on which the rule's finding stands. Gives the finding."""
    found = recipes.validate(SFT, config)
    messages = [
        each.message for each in (*found.errors, *found.warnings, *found.notes) if each.rule == rule
    ]
    assert messages, f"{rule} says nothing of {config}"
    return await said(client, config, sentence(messages[0]))


async def said(client: httpx.AsyncClient, config: dict[str, Any], message: str) -> Element:
    page = await opened(client)
    answer = await send(client, "/runs/new", [*typed(page, config), ("do", "check")])
    page = parse(answer.text)
    finding = findings_of(page, message)
    assert finding, message
    return page


@pytest.mark.parametrize("rule", TRAPS)
async def test_a_trap_is_said_with_numbers_and_fixed_by_one_click(
    client: httpx.AsyncClient, rule: str
) -> None:
    config = TRAPS[rule]
    found = recipes.validate(SFT, config)
    message = sentence(next(e.message for e in (*found.errors, *found.warnings) if e.rule == rule))
    page = await check(client, config, rule)
    numbers = [str(value).lower() for value in config.values() if type(value) in (int, float, str)]
    assert all(number in message.lower() for number in numbers), message
    fix = findings_of(page, message)[0].one("button", "Fix").attributes
    fixed = await send(client, fix["formaction"], [*filled(page), (fix["name"], fix["value"])])
    after = parse(fixed.text)
    assert fixed.status_code == 200
    assert not findings_of(after, message)
    # The recipe's own values are warned of, too: they are the tutorial's.
    before = {e.rule for e in (*found.errors, *found.warnings)} - {rule}
    assert rules_of(after) <= before | {e.rule for e in recipes.validate(SFT, {}).warnings}


def rules_of(page: Element) -> set[str]:
    """Rules of errors and warnings of the config that stands on a page."""
    values = {k: v for k, v in filled(page) if k in SFT.fields()}
    others = [v for k, v in filled(page) if k.startswith("other_")]
    rows = dict(zip(others[::2], others[1::2], strict=True))
    config = recipes.read_texts(SFT, values | {k: v for k, v in rows.items() if k})
    found = recipes.validate(SFT, config)
    return {each.rule for each in (*found.errors, *found.warnings)}


@pytest.mark.parametrize("rule", NOTES)
async def test_what_has_no_single_remedy_says_so_without_a_button(
    client: httpx.AsyncClient, rule: str
) -> None:
    found = recipes.validate(SFT, NOTES[rule])
    message = next(e.message for e in (*found.warnings, *found.notes) if e.rule == rule)
    page = await check(client, NOTES[rule], rule)
    assert not findings_of(page, sentence(message))[0].all("button")


@pytest.mark.parametrize(("key", "path"), SHARED.items())
async def test_a_folder_of_another_run_is_said_and_fixed(
    client: httpx.AsyncClient, sqlite_database: Database, key: str, path: str
) -> None:
    async with sqlite_database.write() as session:
        await add_run(session, "their run", {key: path})
    page = await said(client, {key: path}, "is also that of their run")
    fix = findings_of(page, "is also that of their run")[0].one("button", "Fix").attributes
    fixed = await send(client, fix["formaction"], [*filled(page), (fix["name"], fix["value"])])
    after = parse(fixed.text)
    assert not findings_of(after, "is also that of")
    assert "{run_id}" in dict(filled(after))[key]
