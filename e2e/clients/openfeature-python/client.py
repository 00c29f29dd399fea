"""The Flagsmith provider of OpenFeature for Python, remote and local."""

import json
import os
import uuid

from flagsmith import Flagsmith
from openfeature import api
from openfeature.evaluation_context import EvaluationContext
from openfeature_flagsmith.provider import FlagsmithProvider


def env(name):
    return os.environ["FLAGRAFT_" + name]


RUN = uuid.uuid4().hex[:10]


def client(domain, **options):
    api.set_provider(FlagsmithProvider(Flagsmith(api_url=env("API"), **options)), domain)
    return api.get_client(domain)


def someone(name, **traits):
    return EvaluationContext(targeting_key=name, attributes={"traits": traits})


def every_type(c):
    assert c.get_boolean_value("on", False) is True
    assert c.get_boolean_value("off", True) is False
    assert c.get_string_value("greeting", "") == "hello"
    assert c.get_integer_value("limit", 0) == 42
    assert c.get_object_value("layout", {}) == {"columns": [1, 2], "title": "Shop"}


def context(c):
    gold = someone("of-" + RUN, plan="gold", age=33)
    assert c.get_string_value("ranked", "", gold) == "gold"
    assert c.get_integer_value("typed", 0, gold) == 99
    assert c.get_string_value("personal", "", someone("vip-09")) == "for vip-09"


def reasons(c):
    assert c.get_boolean_details("off", True).reason == "DISABLED"
    split = c.get_string_details("everyone", "", someone("of-split-" + RUN))
    assert split.value in ("left", "right"), split


def errors(c):
    unknown = c.get_string_details("nowhere", "mine")
    assert (unknown.value, unknown.error_code) == ("mine", "FLAG_NOT_FOUND"), unknown
    wrong = c.get_integer_details("greeting", 7)
    assert (wrong.value, wrong.error_code) == (7, "TYPE_MISMATCH"), wrong


def agreement(remote, local):
    with open(env("IDENTITIES"), encoding="utf-8") as f:
        some = json.load(f)[:200]
    for i in some:
        for flag in ("op_split", "op_regex", "op_semver", "ranked", "colour", "everyone"):
            a, b = (c.get_string_value(flag, "fallback", someone(i["identifier"], **i["traits"])) for c in (remote, local))
            assert a == b, (flag, i, a, b)


def main():
    remote = client("remote", environment_key=env("CLIENT_KEY"))
    local = client("local", environment_key=env("SERVER_KEY"), enable_local_evaluation=True)
    todo = [(f"{name}: {f.__name__.replace('_', ' ')}", lambda f=f, c=c: f(c))
            for name, c in (("remote", remote), ("local", local)) for f in (every_type, context, reasons, errors)]
    todo.append(("local and remote agree", lambda: agreement(remote, local)))
    failed = 0
    for name, f in todo:
        try:
            f()
        except Exception as e:  # noqa: BLE001 - every failure is a line
            failed += 1
            print(f"FAIL {name}: {type(e).__name__} {' '.join(str(e).split())[:400]}", flush=True)
        else:
            print("ok " + name, flush=True)
    print(f"{len(todo) - failed} passed, {failed} failed", flush=True)
    os._exit(1 if failed else 0)  # not waiting for the client's own threads


if __name__ == "__main__":
    main()
