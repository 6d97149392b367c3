"""Imports of scripts that are not SkyRL's, and of what stands around overrides: nothing is lost."""

from typing import Any

import pytest

from app.recipes import service
from app.recipes.parse import Imported
from app.recipes.render import SCRIPT

MAIN = "python examples/train/visgym/entrypoint.py --env_variant sft "
OWN = {
    "job.entrypoint": "cd 'my dir' &&\n  python train.py data/*.json ~/out",
    "job.environment": {"A": "it's"},
    "job.setup_commands": ["pip install 'a b'", "ls\necho two"],
    "job.working_dir": "s3://bucket/code.zip",
    "job.excludes": ["*.bin"],
}


def read(text: str) -> Imported:
    return service.import_text(text)


def left(text: str) -> list[tuple[int, str]]:
    return [(each.line, each.reason) for each in read(text).unresolved]


@pytest.mark.parametrize(
    "text",
    [
        "cat x | python train.py",
        "python a.py || python b.py",
        ". venv/bin/activate\npython train.py",
        "ulimit -n 4096; python train.py",
        "cd verl && python train.py",
        "mkdir -p out\nmv a b\npython train.py",
        "python train.py > log.txt 2>&1",
        "git clone https://host/x; cd x; pip install -e .\npython train.py",
        "python a.py\npip install x",
        "python a.py\npython b.py",
        "pip install x || true\npython train.py",
        "N=4\npython train.py --n $N $HOME/x",
        "export PYTHONPATH=src\npython train.py",
        "export PATH=/opt/x/bin:$PATH\npython train.py",
        "for n in 1 2; do\n  python train.py --seed $n\ndone",
        "f() {\n  python train.py\n}\nf",
        "if [ -f x ]; then python train.py; fi",
        "cat > config.yaml <<EOF\na: 1\nEOF\npython train.py",
        "uv run --with x train.py",
        "sudo -E python train.py",
        "bash -c 'python train.py && echo done'",
        "hf download a/b --local-dir /x\nrm -rf /shared/precious\npython train.py",
        "source env.sh\nif [ $X ]; then exit 1; fi\npython train.py &\nwait",
    ],
)
def test_a_script_of_another_framework_is_kept_whole(text: str) -> None:
    found = read(f"#!/usr/bin/env bash\n{text}\n")
    assert (found.recipe, found.unresolved) == ("command", ())
    assert found.config == {"job.entrypoint": f"#!/usr/bin/env bash\n{text}"}
    assert "whole" in found.notes[0].reason
    assert service.validate(service.get("command"), found.config).ok


@pytest.mark.parametrize(
    ("text", "entrypoint"),
    [
        ("python train.py data/*.json ~/out", "python train.py data/*.json ~/out"),
        ("python train.py {1,2}.json '*.txt'", "python train.py {1,2}.json '*.txt'"),
        ("ray job submit -- python train.py data/*.json", "python train.py data/*.json"),
        ("ray job submit -- bash -c 'cd /x && python y'", "bash -c 'cd /x && python y'"),
        ("python train.py \\\n  --a 'b c'", "python train.py --a 'b c'"),
    ],
)
def test_a_command_is_kept_as_a_shell_reads_it(text: str, entrypoint: str) -> None:
    found = read(text)
    assert found.unresolved == ()
    assert found.config == {"job.entrypoint": entrypoint}


def test_variables_and_installations_before_one_command_are_values() -> None:
    found = read("set -e\nexport A=1\npip install verl\nexport N=4\npython train.py --n $N")
    assert found.unresolved == ()
    assert found.config == {
        "job.entrypoint": "python train.py --n 4",
        "job.environment": {"A": "1", "N": "4"},
        "job.setup_commands": ["pip install verl"],
    }


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("cat x |\npython 'a", 2, "not closed"),
        ("if true; then\npython a.py", 2, "ends within"),
        ("#!/usr/bin/python3\nimport torch; torch.x()\n", 1, "no script of a shell"),
        ("cd x\npython $(dirname $0)/y.py", 2, "no file"),
        ("cd x\n" + "python y-of-a-long-name.py\n" * 900, 1, "20,000"),
        ("aws s3 cp a b\nray job submit -- python x.py", 1, "where the job is submitted"),
        ("ray job submit -- python x.py\nray job submit -- python y.py", 2, "second"),
    ],
)
def test_what_no_command_can_keep_is_listed(text: str, line: int, reason: str) -> None:
    assert any(at == line and reason in said for at, said in left(text)), left(text)


def test_our_own_script_of_a_command_comes_back() -> None:
    values = service.resolve("command", OWN)
    found = read(service.render(service.get("command"), values).files[SCRIPT])
    assert (found.recipe, found.unresolved) == ("command", ())
    assert service.resolve("command", found.config) == values


def test_commands_between_overrides_are_taken_or_listed() -> None:
    text = (
        "export NCCL_DEBUG=INFO\npip install foo\nhf download a/b --local-dir /x\n"
        "./prepare.sh\ntrainer.epochs=5\n~trainer.seed"
    )
    found = read(text)
    assert found.config == {
        "trainer.epochs": 5,
        "job.environment": {"NCCL_DEBUG": "INFO"},
        "job.setup_commands": ["pip install foo"],
    }
    assert [each.line for each in found.unresolved] == [3, 4, 6]
    assert "no key=value" in found.unresolved[2].reason


GET = "hf download a/b --local-dir /models/m"
PATH = "trainer.policy.model.path=/models/m"


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        (f"{GET}\nrm -rf /shared/precious\n{MAIN} {PATH}", 2, "rm is not known"),
        (f"{GET}\nrm -rf /models/m/../precious\n{MAIN} {PATH}", 2, "rm is not known"),
        (f"mv a b\n{MAIN}", 1, "mv is not known"),
        (f"{GET}\nmv /data/a /data/b\n{MAIN} {PATH}", 2, "mv is not known"),
        (f"cd verl\npip install -e .\n{MAIN}", 1, "whole path"),
        (f"pip install x || true\n{MAIN}", 1, "may fail"),
        (f"python dataset.py --seed 7 --output_dir /x\n{MAIN}", 1, "7 is not taken"),
        (f"python dataset.py --foo bar --output_dir /x\n{MAIN}", 1, "--foo is not taken"),
        (f"ray job submit x -- {MAIN}", 1, "no option"),
    ],
)
def test_what_skyrls_job_does_not_do_is_listed(text: str, line: int, reason: str) -> None:
    assert any(at == line and reason in said for at, said in left(text)), left(text)


@pytest.mark.parametrize(
    "text",
    [
        f"export PATH=/opt/bin:/usr/bin\n{MAIN}",
        f"PATH=/opt/bin\nexport PATH\n{MAIN}",
        f"PATH=/opt/bin {MAIN}",
        f"env PATH=/opt/bin {MAIN}",
        f"bash -c 'export PATH=/opt/bin; {MAIN}'",
        f'ray job submit --runtime-env-json \'{{"env_vars": {{"PATH": "/x"}}}}\' -- {MAIN}',
        f"export LD_LIBRARY_PATH=/opt/lib\n{MAIN}",
        "export HOME=/x\ntrainer.epochs=5",
    ],
)
def test_a_variable_that_no_config_may_set_is_listed(text: str) -> None:
    found = read(text)
    assert [each.reason for each in found.unresolved if "steers Skydeck" in each.reason]
    assert not found.config.get("job.environment")


def test_a_variable_that_the_job_sets_itself_is_noted() -> None:
    found = read(f"export PYTHONPATH=$PWD/x TZ=UTC SKYDECK_RUN_ID=x A=1\n{MAIN}")
    assert found.unresolved == ()
    assert found.config["job.environment"] == {"A": "1"}
    assert [each.text[:4] for each in found.notes] == ["PYTH", "TZ=U", "SKYD"]


def test_what_belongs_to_the_download_is_no_loss() -> None:
    found = read(f"{GET}-part\nmv /models/m-part/x /models/m\nrm -rf /models/m-part\n{MAIN} {PATH}")
    assert found.unresolved == ()
    config: dict[str, Any] = found.config
    assert config["job.base_model_repo"] == "a/b"
