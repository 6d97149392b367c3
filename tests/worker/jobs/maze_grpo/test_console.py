import io
from datetime import UTC, datetime

from app.logs.parsers.skyrl import SkyRLConsoleParser
from tests.conformance.cases import case_files
from worker.jobs.maze_grpo.console import DONE, Console

NOW = datetime(2026, 11, 29, 16, 12, 27, 447_912, UTC)


def console(output: io.StringIO) -> Console:
    seconds = iter([10.0, 14.938])
    return Console(output, now=lambda: NOW, seconds=lambda: next(seconds))


def test_a_block_has_the_bytes_of_skyrls() -> None:
    output = io.StringIO()
    values = {"trainer/global_step": 1, "policy/policy_lr": 3e-6, "eval/all/pass_at_1": 0.4375}
    values |= {f"generate/filler_{index}": index for index in range(2)}
    console(output).metrics(10, values)
    assert output.getvalue() == (
        "\x1b[32m2026-11-29 16:12:27.447\x1b[0m | \x1b[1m\x1b[32mINFO    \x1b[0m | "
        "\x1b[36mskyrl.train.utils.tracking\x1b[0m:\x1b[36mlog\x1b[0m:\x1b[36m189\x1b[0m - "
        "\x1b[1m\x1b[32mStep 10: \n"
        "{'eval/all/pass_at_1': '0.4375',\n"
        " 'generate/filler_0': 0,\n"
        " 'generate/filler_1': 1,\n"
        " 'policy/policy_lr': '0.0000',\n"
        " 'trainer/global_step': 1}\x1b[0m\n"
    )


def test_a_real_runs_header_has_the_same_form() -> None:
    output = io.StringIO()
    console(output).metrics(0, {"a": 0.5})
    header = output.getvalue().split("\n")[0][len("\x1b[32m2026-11-29 16:12:27.447") :].encode()
    assert any(header in log.read_bytes() for log in case_files("skyrl", "log-samples/*.log"))


def test_a_phase_is_announced_and_timed() -> None:
    output, timings = io.StringIO(), {"timing/generate": 1.0}
    with console(output).timer("generate", timings):
        assert "Started: 'generate'" in output.getvalue()
    assert "Finished: 'generate', time cost: 4.94s" in output.getvalue()
    assert round(timings["timing/generate"], 3) == 5.938


def test_locations_are_module_function_line() -> None:
    output = io.StringIO()
    console(output).info("Training done!", DONE)
    console(output).error("Training failed at step 3 with OSError:\nno space")
    events = SkyRLConsoleParser().feed(output.getvalue().encode()).events
    assert [event.kind.value for event in events] == ["training_done", "training_failed"]
    assert "\x1b[31mERROR   \x1b[0m" in output.getvalue()
