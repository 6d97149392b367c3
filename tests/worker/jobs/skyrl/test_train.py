"""The resume wrapper over a loader that behaves as torchdata's does. The real one: conformance."""

import sys
import types
from collections.abc import Callable, Iterator

import pytest

from worker.jobs.skyrl.train import keep_whole_epochs, main


class Loader:
    """A restored position counts for the next pass only; at the end of an epoch that is empty."""

    def __init__(self, batches: int) -> None:
        self.batches = batches
        self.start = 0

    def load_state_dict(self, state: int) -> None:
        self.start = state

    def __iter__(self) -> Iterator[int]:
        start, self.start = self.start, 0
        yield from range(start, self.batches)


def test_an_epochs_end_goes_on_with_the_next_epoch() -> None:
    plain, wrapped = Loader(3), Loader(3)
    keep_whole_epochs(wrapped)
    plain.load_state_dict(3)
    wrapped.load_state_dict(3)
    assert (list(plain), list(wrapped)) == ([], [0, 1, 2])


def test_the_middle_of_an_epoch_loses_no_batch() -> None:
    loader = Loader(3)
    keep_whole_epochs(loader)
    loader.load_state_dict(1)
    assert list(loader) == [1, 2]
    assert list(loader) == [0, 1, 2]


class Trainer:
    def __init__(self) -> None:
        self.train_dataloader = Loader(3)


class Calls:
    """Stands for SkyRL and Ray, which are on a cluster only: what was asked of them, in order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.made: list[tuple[str, object]] = []
        self.trainer = Trainer()
        for name, members in self._modules().items():
            module = types.ModuleType(name)
            vars(module).update(members)
            monkeypatch.setitem(sys.modules, name, module)

    def _modules(self) -> dict[str, dict[str, object]]:
        calls = self

        class BasePPOExp:
            def __init__(self, cfg: object) -> None:
                self.cfg = cfg

            def get_trainer(self, **_parts: object) -> Trainer:
                return calls.trainer

            def run(self) -> None:
                self.get_trainer(cfg=self.cfg)
                calls.made.append(("run", self.cfg))

        class Config:
            @staticmethod
            def from_cli_overrides(overrides: list[str]) -> list[str]:
                return overrides

        def note(name: str) -> object:
            return lambda *given, **named: calls.made.append((name, given or named))

        class Task:
            def __init__(self, work: Callable[..., None]) -> None:
                self.remote = work

        return {
            "ray": {"remote": lambda **_needs: Task, "get": lambda _answer: None},
            "skyrl": {},
            "skyrl.train": {},
            "skyrl.train.config": {"SkyRLTrainConfig": Config},
            "skyrl.train.utils": {"validate_cfg": note("validate")},
            "skyrl.train.utils.utils": {"initialize_ray": note("ray")},
            "skyrl.train.entrypoints": {},
            "skyrl.train.entrypoints.main_base": {"BasePPOExp": BasePPOExp},
            "skyrl_gym": {},
            "skyrl_gym.envs": {"register": note("register")},
        }


def test_skyrl_is_started_as_its_example_starts_it(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = Calls(monkeypatch)
    main(["--env-variant=sft", "trainer.epochs=3", "trainer.tags=[a]"])
    overrides = ["trainer.epochs=3", "trainer.tags=[a]"]
    assert [name for name, _ in calls.made] == ["validate", "ray", "register", "run"]
    assert calls.made[2][1] == {
        "id": "visgym",
        "entry_point": "examples.train.visgym.env_sft:VisGymEnv",
    }
    assert calls.made[3][1] == overrides
    loader = calls.trainer.train_dataloader
    loader.load_state_dict(3)
    assert list(loader) == [0, 1, 2]


def test_a_variant_that_is_none() -> None:
    with pytest.raises(SystemExit):
        main(["--env-variant=other"])
