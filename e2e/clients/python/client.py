"""The official Python client, unchanged, against one node of a cluster."""

import json
import os
import tempfile
import time
import uuid

import requests
from flagsmith import Flagsmith
from flagsmith.exceptions import FlagsmithAPIError, FlagsmithFeatureDoesNotExistError
from flagsmith.models import DefaultFlag
from flagsmith.offline_handlers import LocalFileHandler


def env(name):
    return os.environ.get("FLAGRAFT_" + name, "")


API, CLIENT_KEY, SERVER_KEY = env("API"), env("CLIENT_KEY"), env("SERVER_KEY")
RUN = uuid.uuid4().hex[:10]
cases = []


def case(f):
    cases.append(f)
    return f


def remote(key=CLIENT_KEY, **options):
    return Flagsmith(environment_key=key, api_url=API, **options)


def local(**options):
    return remote(SERVER_KEY, enable_local_evaluation=True, **options)


def admin(method, path, body=None):
    answer = requests.request(
        method, API + path, json=body, headers={"Authorization": "Token " + env("TOKEN")}, timeout=15
    )
    answer.raise_for_status()
    return answer.json() if answer.content else None


def set_live(enabled, value):
    admin(
        "PATCH",
        f"environments/{CLIENT_KEY}/featurestates/{env('LIVE')}/",
        {"enabled": enabled, "feature_state_value": value},
    )


def eventually(check, what, seconds=15):
    end = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.05)


def equal(got, want, what=""):
    assert got == want and type(got) is type(want), f"{what}: {got!r}, not {want!r}"


def shown(flags):
    return {f.feature_name: (f.enabled, f.value) for f in flags.all_flags()}


def stored(identifier):
    found = admin("GET", f'environments/{CLIENT_KEY}/identities/?q="{identifier}"')
    return found["results"][0]["id"] if found["count"] else None


def traits_of(identifier):
    rows = admin("GET", f"environments/{CLIENT_KEY}/identities/{stored(identifier)}/traits/?page_size=100")["results"]
    field = {"int": "integer_value", "unicode": "string_value", "bool": "boolean_value", "float": "float_value"}
    return {r["trait_key"]: r[field[r["value_type"]]] for r in rows}


def values(flags):
    for name, enabled, value in [
        ("on", True, None),
        ("off", False, None),
        ("greeting", True, "hello"),
        ("limit", True, 42),
        ("switch", True, True),
        ("layout", True, '{"columns":[1,2],"title":"Shop"}'),
        ("blank", True, ""),
        ("CamelCase", True, "camel"),
        ("greeting_unicode", True, "žluťoučký kůň ✓ 🐎"),
        ("colour", True, "grey"),
    ]:
        equal(flags.is_feature_enabled(name), enabled, name)
        if name not in ("on", "off"):  # no value: null or "" by how the flag was made
            equal(flags.get_feature_value(name), value, name)


@case
def environment_flags_remote():
    values(remote().get_environment_flags())


@case
def environment_flags_local():
    values(local().get_environment_flags())


@case
def server_only_flag():
    remote(SERVER_KEY).get_environment_flags().get_flag("secret")
    for flags in (remote().get_environment_flags(), remote().get_identity_flags("someone-" + RUN)):
        try:
            flags.get_flag("secret")
        except FlagsmithFeatureDoesNotExistError:
            continue
        raise AssertionError("a client key sees a flag for servers")


@case
def segment_and_type_of_value():
    flags = remote().get_identity_flags("typed-" + RUN, {"plan": "gold", "age": 50})
    equal(flags.get_feature_value("typed"), 99)
    equal(flags.get_feature_value("ranked"), "gold")
    flags = remote().get_identity_flags("typed-b-" + RUN, {"plan": "free", "age": 50})
    equal(flags.get_feature_value("typed"), False)
    equal(flags.is_feature_enabled("typed"), False)


@case
def traits_are_kept_with_their_types():
    name = "kept-" + RUN
    sent = {"plan": "gold", "age": 33, "score": 1.5, "beta": True, "digits": "007", "text": "ž ✓"}
    first = remote().get_identity_flags(name, sent)
    equal(first.is_feature_enabled("op_equal_number"), True)
    kept = traits_of(name)
    for k, v in sent.items():
        equal(kept[k], v, k)
    again = remote().get_identity_flags(name)  # no traits sent: the stored ones count
    equal(shown(again), shown(first))
    remote().get_identity_flags(name, {"plan": None, "age": 34})
    kept = traits_of(name)
    assert "plan" not in kept, "null removes a trait"
    equal(kept["age"], 34)


@case
def transient_traits_and_identities():
    name = "passing-" + RUN
    flags = remote().get_identity_flags(
        name, {"plan": {"value": "gold", "transient": True}, "country": "DE"}
    )
    equal(flags.is_feature_enabled("op_equal"), True)
    equal(traits_of(name), {"country": "DE"})
    flags = remote().get_identity_flags("ghost-" + RUN, {"plan": "gold"}, transient=True)
    equal(flags.is_feature_enabled("op_equal"), True)
    assert stored("ghost-" + RUN) is None, "a transient identity was stored"


@case
def identity_overrides():
    for client in (remote(), local()):
        flags = client.get_identity_flags("vip-03")
        equal(flags.get_feature_value("personal"), "for vip-03")
        flags = client.get_identity_flags("vip-04", {"plan": "gold"})
        equal(flags.get_feature_value("ranked"), "personal")
        equal(client.get_identity_flags("not-" + RUN).is_feature_enabled("personal"), False)


@case
def segments_of_an_identity():
    names = {s.name for s in local().get_identity_segments("x", {"plan": "gold", "country": "DE"})}
    assert {"op_equal", "op_in", "op_not_set"} <= names, names
    assert "op_set" not in names, names


@case
def local_and_remote_agree():
    with open(env("IDENTITIES"), encoding="utf-8") as f:
        identities = json.load(f)
    far, near, states = remote(SERVER_KEY), local(), {}
    for i in identities:
        a = shown(far.get_identity_flags(i["identifier"], i["traits"]))
        b = shown(near.get_identity_flags(i["identifier"], i["traits"]))
        assert a == b, f"{i}: " + ", ".join(f"{k} remote {a.get(k)} local {b.get(k)}" for k in a | b if a.get(k) != b.get(k))
        for name, (enabled, _) in a.items():
            states.setdefault(name, set()).add(enabled)
    equal(len(identities), 2000)
    for name in states:  # the comparison is worth something
        if name.startswith(("op_", "path_", "personal")):
            equal(states[name], {True, False}, name)


@case
def variants_are_told():
    seen = {remote().get_identity_flags(f"variant-{n}", transient=True).get_flag("colour").variant for n in range(40)}
    assert "control" in seen, seen


@case
def changes_show_at_once_and_after_a_poll():
    polling = local(environment_refresh_interval_seconds=0.2)
    for value in ("one " + RUN, "two " + RUN):
        set_live(True, value)
        equal(remote().get_environment_flags().get_feature_value("live"), value)
        eventually(lambda v=value: polling.get_environment_flags().get_feature_value("live") == v, "polled " + value)
    polling.environment_data_polling_manager_thread.stop()


@case
def a_large_document_comes_whole():
    """This client follows no Link to further pages: it must not need to."""
    key = admin("POST", "environments/", {"name": "pages " + RUN, "project": env("PROJECT")})["api_key"]
    server_key = admin("POST", f"environments/{key}/api-keys/", {"name": "pages"})["key"]
    feature = admin("GET", f"environments/{key}/featurestates/?feature_name=personal")["results"][0]["feature"]
    for n in range(100):
        identity = admin("POST", f"environments/{key}/identities/", {"identifier": f"heavy-{n}"})["id"]
        admin(
            "POST",
            f"environments/{key}/identities/{identity}/featurestates/",
            {"feature": feature["id"] if isinstance(feature, dict) else feature, "enabled": True,
             "feature_state_value": f"{n} " + "x" * 15000},
        )
    client = remote(server_key, enable_local_evaluation=True)
    for n in range(100):
        value = client.get_identity_flags(f"heavy-{n}").get_feature_value("personal")
        assert str(value).startswith(f"{n} x"), f"override of heavy-{n}: {str(value)[:40]}"


@case
def offline_from_a_document():
    document = requests.get(API + "environment-document/", headers={"X-Environment-Key": SERVER_KEY}, timeout=15).text
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as f:
        f.write(document)
        f.flush()
        client = Flagsmith(offline_mode=True, offline_handler=LocalFileHandler(f.name))
    values(client.get_environment_flags())
    equal(client.get_identity_flags("x", {"plan": "gold"}).get_feature_value("ranked"), "gold")


@case
def wrong_key():
    try:
        remote("no-such-key").get_environment_flags()
    except FlagsmithAPIError:
        pass
    else:
        raise AssertionError("an unknown key got flags")
    handled = remote("no-such-key", default_flag_handler=lambda name: DefaultFlag(False, "built in"))
    equal(handled.get_environment_flags().get_feature_value("greeting"), "built in")


@case
def analytics_are_taken():
    client = remote(enable_analytics=True)
    flags = client.get_environment_flags()
    for _ in range(3):
        flags.is_feature_enabled("greeting")
    from flagsmith import analytics

    answers, post = [], analytics.session.post
    analytics.session.post = lambda *a, **k: answers.append(post(*a, **k)) or answers[-1]
    try:
        client._analytics_processor.flush()
    finally:
        analytics.session.post = post
    equal([a.result(timeout=15).status_code for a in answers], [200])


@case
def realtime():
    if not env("REALTIME"):
        return "no event streams on this node"
    client = local(enable_realtime_updates=True, realtime_api_url=env("REALTIME"))
    time.sleep(0.5)  # the client tells nobody when its stream is open
    for value in ("stream one " + RUN, "stream two " + RUN, "stream three " + RUN):
        set_live(True, value)
        eventually(lambda v=value: client.get_environment_flags().get_feature_value("live") == v, "streamed " + value)
    client.event_stream_thread.stop()


def main():
    passed = failed = 0
    for c in cases:
        name = c.__name__.replace("_", " ")
        try:
            note = c()
        except BaseException as e:  # noqa: BLE001 - every failure is a line
            failed += 1
            print(f"FAIL {name}: {type(e).__name__} {' '.join(str(e).split())[:600]}", flush=True)
        else:
            passed += 1
            print(f"ok {name}" + (f" ({note})" if note else ""), flush=True)
    print(f"{passed} passed, {failed} failed", flush=True)
    os._exit(1 if failed else 0)  # not waiting for the client's own threads


if __name__ == "__main__":
    main()
