"""docs/rules.md names each rule that a finding may carry, and none that there is not."""

import re
from pathlib import Path

from app.recipes.skyrl.rules import RULES

ROOT = Path(__file__).parents[2]
SKYRL, OTHERS = (ROOT / "docs" / "rules.md").read_text().split("## Keys, values")
NAMED = re.compile(r'(?:rule="|_found\(\s*"|_finding\(field, ")([a-z0-9_]+)"')


def ids(text: str) -> list[str]:
    cells = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    return [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]


def test_each_rule_of_skyrl_has_one_line() -> None:
    assert sorted(ids(SKYRL)) == sorted(RULES)


def test_each_other_rule_has_one_line() -> None:
    folder = ROOT / "app" / "recipes"
    others = [ROOT / "app/editor/draft.py", ROOT / "app/sweeps/planning.py"]
    files = [*folder.glob("*.py"), *folder.glob("skyrl/*.py"), *others]
    used = {name for file in files for name in NAMED.findall(file.read_text())}
    said = ids(OTHERS)
    assert len(said) == len(set(said))
    assert sorted(used - set(said)) == []
    assert all(
        re.search(rf'"{name}"', "".join(f.read_text() for f in files)) or name == "yaml"
        for name in said
    )
