"""Runs what is written in deployment files, without the engine that would: each pod of a rendered chart, or each node of a Compose project, becomes a
process on this host with exactly its variables. Only two things are changed in them: mounted paths lead below a directory of ours, and ":8000" becomes the
address of that pod on loopback, since the pods have no network of their own. Names are resolved by a hosts file.

usage: play.py BINARY pods RENDERED.yaml | play.py BINARY services PROJECT.json HAPROXY.cfg
It enters namespaces of its own (network, mounts), so no port of this host is used.
"""
import base64
import json
import os
import pathlib
import re
import secrets
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

import yaml

PATIENCE = 120  # seconds; never measured, only given up after
binary = os.path.abspath(sys.argv[1])
work = pathlib.Path(tempfile.mkdtemp(prefix="flagraft-play-"))
hosts = {}


def enter_namespaces():
    if os.environ.get("FLAGRAFT_PLAYING") != "1":
        os.environ["FLAGRAFT_PLAYING"] = "1"
        os.execvp("unshare", ["unshare", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child", sys.executable, *sys.argv])
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    write_hosts()
    subprocess.run(["mount", "--bind", work / "hosts", "/etc/hosts"], check=True)


def write_hosts():
    text = "127.0.0.1 localhost\n" + "".join(f"{ip} {name}\n" for name, ips in hosts.items() for ip in ips)
    (work / "hosts").write_text(text)  # in place: it is what is mounted


class Node:
    def __init__(self, name, ip, args, env, mounts):
        self.name, self.ip, self.args, self.raw = name, ip, args, env
        self.paths = {m: work / name / m.strip("/") for m in mounts}
        for p in self.paths.values():
            p.mkdir(parents=True, exist_ok=True)

    def env(self):
        env, known = {}, {"POD_NAME": self.name, "POD_IP": self.ip}
        for name, value in self.raw.items():
            value = known.get(name) or re.sub(r"\$\((\w+)\)", lambda m: {**env, **known}.get(m.group(1), m.group(0)), value)
            for mounted, path in self.paths.items():
                if value == mounted or value.startswith(mounted + "/"):
                    value = str(path) + value[len(mounted):]
            env[name] = self.ip + value if re.fullmatch(r":\d+", value) else value
        return env

    def start(self):
        self.log = open(work / f"{self.name}.log", "ab")
        self.process = subprocess.Popen([binary, *self.args], env=self.env(), stdout=self.log, stderr=self.log, cwd="/")

    def ask(self, path):
        with urllib.request.urlopen(f"http://{self.ip}:8003{path}", timeout=5) as answer:
            return answer.read()

    def healthy(self):
        done = subprocess.run([binary, "health"], env=self.env(), capture_output=True)
        return done.returncode == 0

    def await_ready(self):
        end = time.time() + PATIENCE
        while time.time() < end:
            if self.process.poll() is not None:
                break
            if self.healthy():
                return
            time.sleep(0.2)
        sys.exit(f"{self.name} is not ready:\n" + (work / f"{self.name}.log").read_text()[-3000:])

    def stop(self):
        stop([self])


def stop(nodes):
    for n in nodes:
        n.process.terminate()
    for n in nodes:
        code = n.process.wait(PATIENCE)
        expect(f"{n.name} stops in order", code == 0)


def expect(what, ok):
    print(("ok    " if ok else "FAIL  ") + what, flush=True)
    if not ok:
        for log in sorted(work.glob("*.log")):
            print(f"--- {log.name}\n{log.read_text()[-2000:]}")
        sys.exit(1)


def advertised(node):
    """The cluster addresses of all members, as a node knows them."""
    return sorted(m["address"] for m in json.loads(node.ask("/status"))["peers"])


def await_members(node, addresses):
    end = time.time() + PATIENCE
    while advertised(node) != addresses and time.time() < end:
        time.sleep(0.2)
    return advertised(node) == addresses


def certificates(directory):
    """A Secret for clusterTLS: one certificate that all nodes share."""
    made = work / "ca"
    for args in (["ca", "init", "--dir", made], ["ca", "issue", "node", "--dir", made, "--out", made]):
        subprocess.run([binary, *args], check=True, capture_output=True)
    for source, name in (("ca.crt", "ca.crt"), ("node.crt", "tls.crt"), ("node.key", "tls.key")):
        (directory / name).write_bytes((made / source).read_bytes())


def fill(node, spec, objects, shared):
    """Puts into a pod's Secret volumes what the chart or its user would have put there."""
    for volume in spec.get("volumes", []):
        name = volume["secret"]["secretName"]
        path = node.paths[next(m["mountPath"] for m in spec["containers"][0]["volumeMounts"] if m["name"] == volume["name"])]
        if volume["name"] == "cluster-tls":
            if "tls" not in shared:
                shared["tls"] = pathlib.Path(tempfile.mkdtemp(dir=work))
                certificates(shared["tls"])
            for f in shared["tls"].iterdir():
                (path / f.name).write_bytes(f.read_bytes())
            continue
        made = [o for o in objects if o["kind"] == "Secret" and o["metadata"]["name"] == name]
        for key, value in made[0]["data"].items() if made else [(k, None) for k in ("cluster-secret", "admin-password")]:
            (path / key).write_bytes(base64.b64decode(value) if value else shared.setdefault(key, secrets.token_hex(20).encode()))


def pods(rendered):
    objects = [o for o in yaml.safe_load_all(pathlib.Path(rendered).read_text()) if o]
    stateful = next(o for o in objects if o["kind"] == "StatefulSet")
    spec = stateful["spec"]["template"]["spec"]
    container = spec["containers"][0]
    env = {e["name"]: e.get("value") for e in container["env"]}
    env = {k: v for k, v in env.items() if k not in ("FLAGRAFT_TLS_CERT", "FLAGRAFT_TLS_KEY")}
    domain = env["FLAGRAFT_ADVERTISE_CLUSTER"].split(".", 1)[1].rsplit(":", 1)[0]
    shared, nodes = {}, []
    for i in range(stateful["spec"]["replicas"]):
        node = Node(f"{stateful['metadata']['name']}-{i}", f"127.1.0.{i + 1}", container["args"], env, [m["mountPath"] for m in container["volumeMounts"]])
        fill(node, spec, objects, shared)
        nodes.append(node)

    def publish():
        hosts.clear()
        hosts.update({f"{n.name}.{domain}": [n.ip] for n in nodes})
        hosts[domain] = [n.ip for n in nodes]
        write_hosts()

    publish()
    for n in nodes:
        n.start()
    for n in nodes:
        n.await_ready()
    names = sorted(f"{n.name}.{domain}:8001" for n in nodes)
    expect(f"{len(nodes)} pods form one cluster and know each other by name", await_members(nodes[0], names))
    if len(nodes) > 1:
        moved = nodes[1]
        before = json.loads(moved.ask("/status"))["node_id"]
        moved.stop()
        moved.ip = "127.1.0.99"
        publish()
        moved.start()
        moved.await_ready()
        expect("a pod comes back at another address as the same node", json.loads(moved.ask("/status"))["node_id"] == before and await_members(moved, names))
    stop(nodes)


def services(project, haproxy):
    described = json.loads(pathlib.Path(project).read_text())["services"]
    nodes = []
    for name, s in described.items():
        if s.get("environment", {}).get("FLAGRAFT_CLUSTER_ADDR"):
            env = {"FLAGRAFT_DATA_DIR": "/var/lib/flagraft", "FLAGRAFT_API_ADDR": ":8000", **s["environment"]}  # the image and the default
            nodes.append(Node(name, f"127.1.0.{len(nodes) + 1}", ["serve"], env, [v["target"] for v in s["volumes"]]))
    hosts.update({n.name: [n.ip] for n in nodes})
    write_hosts()
    for n in nodes:
        n.start()
    for n in nodes:
        n.await_ready()
    expect(f"{len(nodes)} services form one cluster", await_members(nodes[0], sorted(f"{n.name}:8001" for n in nodes)))

    # The nodes hold port 8000 of other loopback addresses, so the balancer cannot have it on all.
    config = pathlib.Path(haproxy).read_text().replace("bind :8000", "bind 127.0.0.1:8000").replace("resolvers docker init-addr", "init-addr")
    (work / "haproxy.cfg").write_text(config)
    balancer = subprocess.Popen(["haproxy", "-db", "-f", work / "haproxy.cfg"], stdout=subprocess.DEVNULL, stderr=open(work / "haproxy.log", "wb"))
    answers, enough = [], threading.Event()

    def get():
        try:
            with urllib.request.urlopen("http://127.0.0.1:8000/version/", timeout=10) as answer:
                return answer.status
        except OSError as e:
            return str(e)

    end = time.time() + PATIENCE
    while get() != 200 and time.time() < end:
        time.sleep(0.2)

    def keep_asking():
        while not enough.is_set():
            answers.append(get())
            time.sleep(0.02)

    asking = threading.Thread(target=keep_asking)
    asking.start()
    for n in nodes:
        n.stop()
        n.start()
        n.await_ready()
        time.sleep(2)  # two probes
    enough.set()
    asking.join()
    failed = [a for a in answers if a != 200]
    expect(f"each node restarted behind the balancer: {len(answers)} requests, {len(failed)} failed {failed[:3]}", answers and not failed)
    balancer.terminate()
    stop(nodes)


enter_namespaces()
{"pods": pods, "services": services}[sys.argv[2]](*sys.argv[3:])
