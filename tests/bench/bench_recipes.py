"""How long a config is looked at before a GPU is asked for: `python -m tests.bench.bench_recipes`.

Prints one JSON line per number, the median in milliseconds of CPU time (nothing is waited for), its
limit and their ratio; exits with 1 if one is missed.
"""

import json
import sys
import time
from collections.abc import Callable
from statistics import median

from app.recipes.skyrl.overrides import check_values
from app.recipes.skyrl.rules import Context, check
from app.recipes.skyrl.rules.sizes import nearest_batches
from app.recipes.skyrl.tree import load_tree
from tests.recipes.skyrl.rules.tutorial import CLUSTER, EVALUATION, HEAD, TRAIN, parse

REPEATS = 200
LIMIT_MS = 5.0
FAILING_LIMIT_MS = 50.0
_KNOWN = Context(train=TRAIN, evaluation=EVALUATION)


def main() -> int:
    """Measures everything. The exit code says whether each limit was held."""
    parsed, tree = parse(), load_tree(HEAD)
    wrong = parse("trainer.train_batch_size=32", "trainer.policy_mini_batch_size=16").full

    def rules() -> None:
        check(parsed.full, cluster=CLUSTER, context=_KNOWN)

    def keys_types_and_rules() -> None:
        check(check_values(parsed.values, tree).full, cluster=CLUSTER, context=_KNOWN)

    def search() -> None:
        nearest_batches.cache_clear()
        check(wrong, cluster=CLUSTER, context=_KNOWN)

    results = [
        _report("rules of the tutorial's config, CPU ms", rules, LIMIT_MS),
        _report("keys, types and rules of it, CPU ms", keys_types_and_rules, LIMIT_MS),
        _report("rules and nearest sizes that pass, CPU ms", search, FAILING_LIMIT_MS),
    ]
    return int(not all(results))


def _report(name: str, work: Callable[[], None], limit: float) -> bool:
    """The median of all repeats; the first, which reads files, is not counted."""
    work()
    value = median(_milliseconds(work) for _ in range(REPEATS))
    line = {"name": name, "value": round(value, 3), "n": REPEATS}
    line |= {"limit": limit, "ratio": round(value / limit, 2)}
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()
    return value <= limit


def _milliseconds(work: Callable[[], None]) -> float:
    started = time.thread_time()
    work()
    return (time.thread_time() - started) * 1000


if __name__ == "__main__":
    sys.exit(main())
