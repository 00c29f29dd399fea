"""The Python engine: the first line has the contexts and is answered with the version, then
"results" with all results, a number with what was evaluated in as many seconds."""

import json
import sys
import time
from importlib.metadata import version

from flag_engine.engine import get_evaluation_result

given = json.loads(sys.stdin.readline())
contexts = [{**given["context"], "identity": identity} for identity in given["identities"]]


def run(seconds):
    evaluations, before = 0, time.process_time()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for context in contexts:
            get_evaluation_result(context)
        evaluations += len(contexts)
    return {"evaluations": evaluations, "cpu": time.process_time() - before}


print(json.dumps(version("flagsmith-flag-engine")), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps([get_evaluation_result(c) for c in contexts] if asked == "results" else run(asked)), flush=True)
