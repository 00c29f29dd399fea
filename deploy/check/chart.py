"""What no schema knows about a rendered chart: that its parts fit each other.

usage: chart.py SETTINGS.md RENDERED.yaml...
"""
import pathlib
import re
import sys

import yaml

faults = []


def fault(text):
    faults.append(f"{path.name}: {text}")


def matches(selector, labels):
    return all(labels.get(k) == v for k, v in selector.items())


def seconds(text):
    return float(re.fullmatch(r"([0-9.]+)s", text).group(1))


def known_settings(page):
    """The FLAGRAFT_ variables of docs/settings.md, with the twins of secrets that name a file."""
    names = set()
    for line in pathlib.Path(page).read_text().splitlines():
        found = re.match(r"\| `--[a-z0-9-]+` \| `(FLAGRAFT_[A-Z0-9_]+)`", line)
        if found:
            names.add(found.group(1))
            if "*secret*" in line:
                names.add(found.group(1) + "_FILE")
    assert len(names) > 50, "docs/settings.md looks different now"
    return names


def check_pod(stateful, objects):
    spec = stateful["spec"]["template"]["spec"]
    container = spec["containers"][0]
    env = {e["name"]: e.get("value") for e in container["env"]}
    if len(env) != len(container["env"]):
        fault("a variable is set twice")
    for name in env:
        if name.startswith("FLAGRAFT_") and name not in settings:
            fault(f"{name} is no setting")
    volumes = {v["name"] for v in spec.get("volumes", [])} | {c["metadata"]["name"] for c in stateful["spec"]["volumeClaimTemplates"]}
    mounts = {m["name"] for m in container["volumeMounts"]}
    if volumes != mounts:
        fault(f"volumes {volumes} are not what is mounted: {mounts}")
    paths = [m["mountPath"] for m in container["volumeMounts"]]
    for name, value in env.items():
        if value and value.startswith("/") and not any(value.startswith(p + "/") for p in paths):
            fault(f"{name}={value} is on no volume, and the root is read-only")
    stop = seconds(env["FLAGRAFT_STOP_TIMEOUT"]) + 2 * seconds(env["FLAGRAFT_PROBE_INTERVAL"])
    if spec["terminationGracePeriodSeconds"] < stop + 5:
        fault(f"{spec['terminationGracePeriodSeconds']} s are too few for a stop of {stop} s")
    ports = {p["name"] for p in container["ports"]}
    for probe in ("livenessProbe", "readinessProbe"):
        if container[probe]["httpGet"]["port"] not in ports:
            fault(f"{probe} asks a port that is not there")
    restricted = container["securityContext"]
    if not (spec["securityContext"]["runAsNonRoot"] and restricted["readOnlyRootFilesystem"] and restricted["capabilities"]["drop"] == ["ALL"]):
        fault("the pod may do more than it needs")
    return ports


def check(objects):
    by_kind = {}
    for o in objects:
        by_kind.setdefault(o["kind"], []).append(o)
    stateful = by_kind["StatefulSet"][0]
    labels = stateful["spec"]["template"]["metadata"]["labels"]
    ports = check_pod(stateful, objects)
    if stateful["spec"]["serviceName"] not in [s["metadata"]["name"] for s in by_kind["Service"]]:
        fault("the StatefulSet's Service is not there")

    selectors = [s["spec"]["selector"] for s in by_kind["Service"]] + [stateful["spec"]["selector"]["matchLabels"]]
    selectors += [p["spec"]["selector"]["matchLabels"] for p in by_kind.get("PodDisruptionBudget", [])]
    selectors += [p["spec"]["podSelector"]["matchLabels"] for p in by_kind.get("NetworkPolicy", [])]
    selectors += [c["labelSelector"]["matchLabels"] for c in stateful["spec"]["template"]["spec"].get("topologySpreadConstraints") or []]
    for s in selectors:
        if not s or not matches(s, labels):
            fault(f"{s} does not select the pods")
    for service in by_kind["Service"]:
        for p in service["spec"]["ports"]:
            if p["targetPort"] not in ports:
                fault(f"Service port {p['name']} leads nowhere")
    for policy in by_kind.get("NetworkPolicy", []):
        for rule in policy["spec"]["ingress"]:
            for p in rule["ports"]:
                if p["port"] not in ports:
                    fault(f"NetworkPolicy names port {p['port']}, which is not there")
                if p["port"] != "api" and not rule.get("from"):
                    fault(f"port {p['port']} is open to everybody")
    for monitor in by_kind.get("ServiceMonitor", []):
        chosen = [s for s in by_kind["Service"] if matches(monitor["spec"]["selector"]["matchLabels"], s["metadata"]["labels"])]
        if len(chosen) != 1 or monitor["spec"]["endpoints"][0]["port"] not in [p["name"] for p in chosen[0]["spec"]["ports"]]:
            fault("the ServiceMonitor does not select one Service with its port")
    for ingress in by_kind.get("Ingress", []):
        for rule in ingress["spec"]["rules"]:
            backend = rule["http"]["paths"][0]["backend"]["service"]
            if not any(s["metadata"]["name"] == backend["name"] and backend["port"]["name"] in [p["name"] for p in s["spec"]["ports"]] for s in by_kind["Service"]):
                fault("the Ingress leads nowhere")


settings = known_settings(sys.argv[1])
for path in map(pathlib.Path, sys.argv[2:]):
    check([o for o in yaml.safe_load_all(path.read_text()) if o])
print("\n".join(faults) or f"{len(sys.argv) - 2} rendered charts fit together")
sys.exit(bool(faults))
