"""The unmodified toolkit-for-ray-on-sagemaker-ai in a process of its own, told what to do by lines.

It reads KUBECONFIG and the authorities it trusts from its environment, once for the whole process.
Reads a JSON object a line (`do` and its arguments), writes one: `result`, or `error` and `text`.
"""

import asyncio
import json
import os
import sys
from typing import Any


def main() -> None:
    from ray.job_submission import JobSubmissionClient

    client: Any = None
    # Ray may print to what others see as stdout.
    out = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        asked = json.loads(line)
        name = asked.pop("do")
        try:
            result: Any = None
            if name == "connect":
                client = JobSubmissionClient(asked["address"])
            elif name == "list_jobs":
                result = [job.submission_id for job in client.list_jobs()]
            elif name == "tail":
                result = asyncio.run(_tail(client, asked["job_id"]))
            else:
                result = getattr(client, name)(**asked)
            answer: dict[str, Any] = {"result": result}
        except Exception as error:
            answer = {"error": type(error).__name__, "text": str(error)}
        out.write(json.dumps(answer, default=str) + "\n")
        out.flush()


async def _tail(client: Any, job_id: str) -> str:
    return "".join([piece async for piece in client.tail_job_logs(job_id)])


if __name__ == "__main__":
    main()
