"""The official OFREP provider for Python, unchanged, against one node of a cluster."""

import json
import logging
import os
import sys
import uuid

import requests
from openfeature import api
from openfeature.contrib.provider.ofrep import OFREPProvider
from openfeature.evaluation_context import EvaluationContext


def env(name):
    return os.environ.get("FLAGRAFT_" + name, "")


API, ORIGIN, CLIENT_KEY, SERVER_KEY = env("API"), env("ORIGIN"), env("CLIENT_KEY"), env("SERVER_KEY")
RUN = uuid.uuid4().hex[:10]
logging.disable(logging.CRITICAL)  # the SDK logs each fault that a case provokes
cases = []


def case(f):
    cases.append(f)
    return f


def client(headers):
    domain = uuid.uuid4().hex
    api.set_provider(OFREPProvider(ORIGIN, headers_factory=lambda: headers), domain)
    return api.get_client(domain)


def by_key(key=CLIENT_KEY):
    return client({"X-Environment-Key": key})


def by_token(key=CLIENT_KEY):
    return client({"Authorization": "Bearer " + key})


def remote(identifier, traits):
    """What POST /identities/ answers, without storing anything."""
    listed = [{"trait_key": k, "trait_value": v, "transient": True} for k, v in traits.items()]
    answer = requests.post(
        API + "identities/",
        json={"identifier": identifier, "traits": listed, "transient": True},
        headers={"X-Environment-Key": CLIENT_KEY},
        timeout=15,
    )
    answer.raise_for_status()
    return answer.json()["flags"]


def wanted(flag):
    """The value of a flag as OFREP serves it; None: none, the default counts."""
    value = flag["feature_state_value"]
    if value is None or value == "":
        return flag["enabled"]
    if not flag["enabled"]:
        return None
    return json.loads(value) if isinstance(value, str) and value.lstrip()[:1] in ("{", "[") else value


def ask(c, name, value, context=None):
    if isinstance(value, bool):
        return c.get_boolean_details(name, not value, context)
    if isinstance(value, int):
        return c.get_integer_details(name, -1, context)
    if isinstance(value, (dict, list)):
        return c.get_object_details(name, {"code": "default"}, context)
    return c.get_string_details(name, "code default", context)


def same(got, want, what=""):
    assert got == want and type(got) is type(want), f"{what}: got {got!r}, want {want!r}"


TYPED = {
    "on": True,
    "off": False,
    "greeting": "hello",
    "limit": 42,
    "switch": True,
    "blank": True,
    "layout": {"columns": [1, 2], "title": "Shop"},
    "greeting_unicode": "žluťoučký kůň ✓ 🐎",
}


@case
def flags_of_every_type():
    for c in (by_key(), by_token(), by_key(SERVER_KEY), by_token(SERVER_KEY)):
        for name, value in TYPED.items():
            got = ask(c, name, value)
            same(got.value, value, name)
            same(got.error_code, None, name)
    same(str(by_key().get_boolean_details("on", False).reason), "STATIC")
    same(str(by_key().get_boolean_details("off", True).reason), "DISABLED")


@case
def faults_give_the_default():
    c = by_key()

    def fails(got, code):
        same([got.value, str(got.error_code)], ["d", code])

    fails(c.get_string_details("no-such-flag", "d"), "FLAG_NOT_FOUND")
    fails(c.get_string_details("secret", "d"), "FLAG_NOT_FOUND")
    fails(c.get_string_details("limit", "d"), "TYPE_MISMATCH")
    for refused in (client({}), by_key("no-such-key"), by_token("no-such-key")):
        fails(refused.get_string_details("greeting", "d"), "GENERAL")
    same(by_key(SERVER_KEY).get_string_value("secret", "d"), "for servers only")


@case
def a_disabled_flag_with_a_value_gives_the_default():
    got = by_key().get_string_details("personal", "d")
    same([got.value, str(got.reason), got.error_code], ["d", "DISABLED", None])


@case
def reasons_and_variants():
    c = by_key()

    def reason(name, context):
        return str(c.get_string_details(name, "", context).reason)

    gold = EvaluationContext("gold-" + RUN, {"plan": "gold", "age": 50})
    same(reason("ranked", gold), "TARGETING_MATCH")
    same(reason("personal", EvaluationContext("vip-01")), "TARGETING_MATCH")
    same(reason("colour", EvaluationContext("split-" + RUN)), "SPLIT")


@case
def identities_agree_with_the_flagsmith_api():
    with open(env("IDENTITIES"), encoding="utf-8") as f:
        everybody = json.load(f)
    c = by_key()
    for i in everybody[:8] + [i for i in everybody if not i["overridden"]][:12]:
        context = EvaluationContext(i["identifier"], i["traits"])
        for flag in remote(i["identifier"], i["traits"]):
            name, value = flag["feature"]["name"], wanted(flag)
            got = ask(c, name, value, context)
            same(got.value, "code default" if value is None else value, name)
            same(got.error_code, None, name)
            same(str(got.reason) == "DISABLED", not flag["enabled"], name)
            if flag["enabled"] and flag["variant"] is not None:
                same(got.variant, flag["variant"], name)
            same(got.flag_metadata["enabled"], flag["enabled"], name)


@case
def nobody_is_created():
    identifier = "ofrep-" + RUN
    by_key().get_string_value("ranked", "", EvaluationContext(identifier, {"plan": "gold"}))
    answer = requests.get(
        API + f"environments/{CLIENT_KEY}/identities/",
        params={"q": f'"{identifier}"'},
        headers={"Authorization": "Token " + env("TOKEN")},
        timeout=15,
    )
    same(answer.json()["count"], 0)


def main():
    failed = 0
    for f in cases:
        name = f.__name__.replace("_", " ")
        try:
            f()
            print("ok", name)
        except Exception as e:  # noqa: BLE001: whatever it is, the case failed
            failed += 1
            print(f"FAIL {name}: {type(e).__name__} {e}".replace("\n", " ")[:400])
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
