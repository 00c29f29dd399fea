"""Python clients of every node: prints NAME<tab>STATE whenever what one of them shows changes."""

import os
import sys
import time

from flagsmith import Flagsmith

CLIENT_KEY, SERVER_KEY = os.environ["FLAGRAFT_CLIENT_KEY"], os.environ["FLAGRAFT_SERVER_KEY"]


def clients():
    for i, origin in enumerate(os.environ["FLAGRAFT_NODES"].split()):
        api = origin + "/api/v1/"
        yield f"python remote, node {i}", 0.3, Flagsmith(environment_key=CLIENT_KEY, api_url=api), True
        local = {"environment_key": SERVER_KEY, "api_url": api, "enable_local_evaluation": True}
        yield f"python local polling, node {i}", 0, Flagsmith(environment_refresh_interval_seconds=0.5, **local), False
        if os.environ["FLAGRAFT_STREAMS"] == "true":
            # An hour between polls: what it shows comes by the stream.
            stream = Flagsmith(enable_realtime_updates=True, realtime_api_url=origin + "/", environment_refresh_interval_seconds=3600, **local)
            yield f"python local streaming, node {i}", 0, stream, False


def state(client, remote):
    flags = client.get_identity_flags("restore-watcher", {"plan": "gold"}, transient=True) if remote else client.get_environment_flags()
    names = {f.feature_name: f.value for f in flags.all_flags()}
    return f"{names['live']}|{sorted(n for n in names if n.startswith('after_restore'))}"


watched = [[name, pause, client, remote, "", 0.0] for name, pause, client, remote in clients()]
while True:
    for w in watched:
        name, pause, client, remote, shown, due = w
        if time.monotonic() < due:
            continue
        try:
            now = state(client, remote)
        except Exception as e:  # noqa: BLE001 - told, and tried again
            now = f"error {type(e).__name__} {e}".replace("\n", " ")
        w[5] = time.monotonic() + pause
        if now != shown:
            w[4] = now
            print(f"{name}\t{now}", flush=True)
    time.sleep(0.03)
    if os.getppid() == 1:
        sys.exit()
