"""Starts SkyRL's GRPO on VisGym as its own example does, and keeps whole epochs on a resume.

    python train.py --env-variant=sft trainer.epochs=20 …

SkyRL restores its data loader from each checkpoint. One that was saved after the last batch of an
epoch restores a loader that has nothing left, while SkyRL counts the next epoch as begun: that
epoch trains nothing, and a resume into the last one ends at once with exit status 0. Here such a
loader is brought to the start of its next epoch before SkyRL looks at it.

Started with SkyRL's repository on PYTHONPATH; the driver and the Ray task both read it.
"""

import argparse
import multiprocessing
import sys
from collections.abc import Callable
from typing import Any

_ENVIRONMENTS = {
    "sft": "examples.train.visgym.env_sft:VisGymEnv",
    "instruct": "examples.train.visgym.env_instruct:VisGymEnv",
}


def keep_whole_epochs(loader: Any) -> None:
    """Makes `loader.load_state_dict` go on to the next epoch where the restored one is over.

    `loader` is a `StatefulDataLoader` of torchdata. A state from within an epoch is restored
    unchanged: the batch that is taken to find out is given back by restoring the state again.
    """
    restore: Callable[[Any], None] = loader.load_state_dict
    nothing = object()

    def load_state_dict(state: Any) -> None:
        restore(state)
        if next(iter(loader), nothing) is not nothing:
            restore(state)

    loader.load_state_dict = load_state_dict


def visgym_entrypoint(cfg: Any, variant: str) -> None:
    """The Ray task that trains; it is named as SkyRL's, which the log shows on each line."""
    from skyrl.train.entrypoints.main_base import BasePPOExp
    from skyrl_gym.envs import register

    class Experiment(BasePPOExp):  # type: ignore[misc, unused-ignore]
        def get_trainer(self, *args: Any, **kwargs: Any) -> Any:
            trainer = super().get_trainer(*args, **kwargs)
            keep_whole_epochs(trainer.train_dataloader)
            return trainer

    register(id="visgym", entry_point=_ENVIRONMENTS[variant])
    Experiment(cfg).run()


def main(arguments: list[str]) -> None:
    """Checks the config as SkyRL does, starts Ray as it does, and waits for the task."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--env-variant", required=True, choices=list(_ENVIRONMENTS))
    args, overrides = parser.parse_known_args(arguments)

    import ray
    from skyrl.train.config import SkyRLTrainConfig
    from skyrl.train.utils import validate_cfg
    from skyrl.train.utils.utils import initialize_ray

    multiprocessing.set_start_method("spawn", force=True)
    cfg = SkyRLTrainConfig.from_cli_overrides(overrides)
    validate_cfg(cfg)
    initialize_ray(cfg)
    task = ray.remote(num_cpus=1)(visgym_entrypoint)
    ray.get(task.remote(cfg, args.env_variant))


if __name__ == "__main__":
    main(sys.argv[1:])
