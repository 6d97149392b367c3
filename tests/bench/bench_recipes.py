"""How long a config is looked at before a GPU is asked for: `python -m tests.bench.bench_recipes`.

Prints one JSON line per number with the median, its limit and their ratio; exits with 1 if one is
missed. The first lines are what people wait for, in milliseconds of wall time: the whole check of
the tutorial's config, and the answer to a key typed in the editor, from a served application on
SQLite to somebody who is signed in. The others are parts of it, in CPU time.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from urllib.parse import urlencode

import httpx

from app.recipes import service as recipes
from app.recipes.skyrl.overrides import check_values
from app.recipes.skyrl.rules import Context, check
from app.recipes.skyrl.rules.sizes import nearest_batches
from app.recipes.skyrl.tree import load_tree
from app.web.deps import SESSION_COOKIE
from tests.bench.bench_sign_in import Site, serving
from tests.editor.forms import SKYRL, Pairs, filled
from tests.recipes.skyrl.rules.tutorial import CLUSTER, EVALUATION, HEAD, TRAIN, parse
from tests.web import html

REPEATS = 200
TYPED = 60
LIMIT_MS = 5.0
TYPING_LIMIT_MS = 50.0
FAILING_LIMIT_MS = 50.0
_SEED = "trainer.seed"
_FORM = {"Content-Type": "application/x-www-form-urlencoded"}
_KNOWN = Context(train=TRAIN, evaluation=EVALUATION)


def main() -> int:
    """Measures everything. The exit code says whether each limit was held."""
    return int(not all([*_whole(), *_typing(), *_parts()]))


def _whole() -> list[bool]:
    recipe = recipes.get(SKYRL)
    config = recipe.defaults()

    def validate() -> None:
        assert recipes.validate(recipe, config, cluster=CLUSTER).ok

    return [_report("whole check of visgym-sft-grpo, ms", _repeat(validate), LIMIT_MS)]


def _typing() -> list[bool]:
    with TemporaryDirectory(prefix="skydeck-bench-") as folder, serving(Path(folder) / "a") as site:
        return [
            _report("key typed in the form, ms", _typed(site, "/runs/new"), TYPING_LIMIT_MS),
            _report("key typed as YAML, ms", _typed(site, "/runs/new/yaml"), TYPING_LIMIT_MS),
        ]


def _typed(site: Site, view: str) -> list[float]:
    """What the page sends for each key, with another seed each time."""
    cookies = {SESSION_COOKIE: site.secret}
    with httpx.Client(base_url=site.url, cookies=cookies, trust_env=False, timeout=60) as client:
        page = html.parse(client.get(f"{view}?recipe={SKYRL}").text)
        pairs = filled(page)
        seeds = iter(range(100, 100 + TYPED + 1))

        def send() -> float:
            body = urlencode(_with_seed(pairs, next(seeds)))
            started = time.perf_counter()
            answer = client.post("/runs/new/check", content=body, headers=_FORM)
            taken = (time.perf_counter() - started) * 1000
            if answer.status_code != 200 or "from the recipe" not in answer.text:
                raise RuntimeError(f"the editor answered {answer.status_code}")
            return taken

        send()
        return [send() for _ in range(TYPED)]


def _with_seed(pairs: Pairs, seed: int) -> Pairs:
    texts = {"yaml": lambda text: text.replace(f"{_SEED}: 42", f"{_SEED}: {seed}")}
    texts[_SEED] = lambda _: str(seed)
    return [(name, texts.get(name, str)(text)) for name, text in pairs]


def _parts() -> list[bool]:
    parsed, tree = parse(), load_tree(HEAD)
    wrong = parse("trainer.train_batch_size=32", "trainer.policy_mini_batch_size=16").full

    def rules() -> None:
        check(parsed.full, cluster=CLUSTER, context=_KNOWN)

    def keys_types_and_rules() -> None:
        check(check_values(parsed.values, tree).full, cluster=CLUSTER, context=_KNOWN)

    def search() -> None:
        nearest_batches.cache_clear()
        check(wrong, cluster=CLUSTER, context=_KNOWN)

    cpu = time.thread_time
    return [
        _report("rules of the tutorial's config, CPU ms", _repeat(rules, cpu), LIMIT_MS),
        _report(
            "keys, types and rules of it, CPU ms", _repeat(keys_types_and_rules, cpu), LIMIT_MS
        ),
        _report(
            "rules and nearest sizes that pass, CPU ms", _repeat(search, cpu), FAILING_LIMIT_MS
        ),
    ]


def _report(name: str, taken: list[float], limit: float) -> bool:
    value = median(taken)
    line = {"name": name, "value": round(value, 3), "n": len(taken)}
    line |= {"limit": limit, "ratio": round(value / limit, 2)}
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()
    return value <= limit


def _repeat(
    work: Callable[[], None], clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """Milliseconds of each repeat; the first, which reads files, is not counted."""
    work()
    return [_milliseconds(work, clock) for _ in range(REPEATS)]


def _milliseconds(work: Callable[[], None], clock: Callable[[], float]) -> float:
    started = clock()
    work()
    return (clock() - started) * 1000


if __name__ == "__main__":
    sys.exit(main())
