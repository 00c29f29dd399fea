#!/usr/bin/env bash
# Checks everything in deploy/: with the linters of each format, by rendering it, and by running what it says as far as a host without containers can.
# Usage: deploy/check.sh [CHECK...]     Tools are kept in .tools/deploy; what is missing of Debian's packages is installed, if that is allowed.
# shellcheck disable=SC2015 # A && B || C means both here
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
root=$PWD tools=$PWD/.tools/deploy
work=$(mktemp -d "${TMPDIR:-/tmp}/flagraft-deploy.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$tools"
export CGO_ENABLED=0 PIP_DISABLE_PIP_VERSION_CHECK=1

# The order in which they run; each is a function below.
checks=(shell yaml alerts dashboard docker targets compose haproxy systemd config chart pods services packages install sbom)

# --- tools

debian() { # debian COMMAND PACKAGE: makes sure that a command is there
  command -v "$1" >/dev/null || apt_install "$2"
}
apt_install() {
  command -v apt-get >/dev/null || { echo "$1 is not installed"; return 1; }
  local as=()
  [[ $(id -u) == 0 ]] || as=(sudo)
  [[ -f $work/apt-updated ]] || { "${as[@]}" apt-get update -qq && touch "$work/apt-updated"; } || return 1
  # Only the programs: nothing is started.
  "${as[@]}" env RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$1" >/dev/null
}

python() { # a Python with deploy/check/requirements.txt
  local stamp
  stamp=$(sha256sum deploy/check/requirements.txt)
  if [[ $(cat "$tools/venv/stamp" 2>/dev/null) != "$stamp" ]]; then
    python3 -c 'import ensurepip' 2>/dev/null || apt_install python3-venv || return 1
    rm -rf "$tools/venv"
    python3 -m venv "$tools/venv" && "$tools/venv/bin/pip" install -q -r deploy/check/requirements.txt && echo "$stamp" >"$tools/venv/stamp" || return 1
  fi
}

go_tool() { # go_tool NAME PACKAGE: of the module in deploy/check
  [[ $tools/$1 -nt deploy/check/go.mod && ($2 != ./* || $tools/$1 -nt deploy/check/$2/main.go) ]] && return
  go -C deploy/check build -trimpath -ldflags '-s -w' -o "$tools/$1" "$2"
}
helm() { go_tool helm helm.sh/helm/v3/cmd/helm && "$tools/helm" "$@" --kube-version 1.37.0; }

binary() { # the binary that the other checks run
  [[ -x $work/flagraft ]] || go build -trimpath -o "$work/flagraft" ./cmd/flagraft
}

release() { # what make dist makes, for this machine
  [[ -f $work/dist/SHA256SUMS ]] || { go_tool nfpm github.com/goreleaser/nfpm/v2/cmd/nfpm && deploy/dist.sh "$work/dist" "$tools/nfpm" linux/amd64 >/dev/null; }
}

rendered() { # the chart with the values of each file of its ci/, and with none
  [[ -d $work/rendered ]] && return
  mkdir -p "$work/rendered.new" &&
    helm template flags deploy/helm/flagraft --namespace flags >"$work/rendered.new/default.yaml" || return 1
  local f
  for f in deploy/helm/flagraft/ci/*-values.yaml; do
    helm template flags deploy/helm/flagraft --namespace flags -f "$f" >"$work/rendered.new/$(basename "$f" -values.yaml).yaml" || return 1
  done
  mv "$work/rendered.new" "$work/rendered"
}

compose() { # compose FILE...: the project they make, as JSON
  go_tool compose ./compose || return 1
  local args=() f
  for f; do args+=("deploy/docker/$f.yaml"); done
  FLAGRAFT_CLUSTER_SECRET=only-for-this-check "$tools/compose" "${args[@]}"
}

# --- checks

check_shell() {
  debian shellcheck shellcheck && shellcheck deploy/*.sh deploy/packages/p* .ci/run
}

check_yaml() { # but for the chart's templates, which are no YAML before they are rendered
  python && rendered && "$tools/venv/bin/yamllint" -c deploy/check/yamllint.yaml -s deploy/docker/*.yaml deploy/systemd/*.yaml deploy/packages/*.yaml \
    deploy/helm/flagraft/*.yaml deploy/helm/flagraft/ci/*.yaml "$work/rendered"
}

check_alerts() { # well formed, and each fires when it must and only then
  debian promtool prometheus && promtool check rules --lint=all --lint-fatal deploy/grafana/alerts.yaml && promtool test rules deploy/grafana/alerts_test.yaml
}

check_dashboard() { # every query parses; Grafana's variables stand for values of these forms
  debian promtool prometheus && debian jq jq &&
    jq -r '"groups:", "- name: dashboard", "  rules:", ([.. | .expr? // empty] | to_entries[] |
      "  - record: panel:query:\(.key)", "    expr: \(.value | gsub("\\$__rate_interval"; "5m") | gsub("\\$[a-z]+"; "x") | tojson)")' \
      deploy/grafana/flagraft.json >"$work/queries.yaml" &&
    promtool check rules --lint=none "$work/queries.yaml"
}

check_docker() {
  python && "$tools/venv/bin/hadolint" deploy/docker/Dockerfile || return 1
  # No engine here: that what .dockerignore lets through is enough to build is tried without one.
  mkdir -p "$work/context"
  # shellcheck disable=SC2046 # one name a line
  tar -cf - --exclude=node_modules --exclude=testdata --exclude='*_test.go' $(sed -n 's/^!//p' .dockerignore | xargs -I{} sh -c 'test -e {} && echo {}') | tar -C "$work/context" -xf - &&
    go -C "$work/context" build -trimpath -buildvcs=false -o "$work/from-context" ./cmd/flagraft &&
    go version -m "$work/from-context" | grep -q CGO_ENABLED=0 || return 1
  "$work/from-context" health --live --management 127.0.0.1:1 2>/dev/null # the HEALTHCHECK, of nobody
  (($? == 3))
}

check_targets() { # the other processor that releases are for
  GOOS=linux GOARCH=arm64 go build -trimpath -o "$work/arm64" ./cmd/flagraft
}

check_compose() {
  compose one-node >"$work/one.json" && compose three-nodes >"$work/three.json" && compose three-nodes frontend >"$work/frontend.json" || return 1
  if FLAGRAFT_CLUSTER_SECRET='' "$tools/compose" deploy/docker/three-nodes.yaml >/dev/null 2>&1; then
    echo "three nodes without a secret should be refused"
    return 1
  fi
  # Every variable of a node is a setting.
  local name
  for name in $(grep -oE 'FLAGRAFT_[A-Z_]+"?:' "$work/one.json" "$work/frontend.json" -h | tr -d '":' | sort -u); do
    grep -q "\`$name\`" docs/settings.md || { echo "$name is no setting"; return 1; }
  done
}

check_haproxy() {
  debian haproxy haproxy && haproxy -c -q -f deploy/docker/haproxy.cfg && haproxy -c -q -f deploy/docker/no-flags.cfg
}

check_systemd() {
  debian systemd-analyze systemd && binary || return 1
  # The program is not installed, so the unit is verified with ours in its place.
  sed "s#/usr/bin/flagraft#$work/flagraft#" deploy/systemd/flagraft.service >"$work/flagraft.service"
  local said
  said=$(systemd-analyze verify --man=no "$work/flagraft.service" 2>&1 | grep flagraft)
  [[ -z $said ]] || { echo "$said"; return 1; }
  systemd-analyze security --offline=true --threshold=20 "$work/flagraft.service" | tail -1
  ((PIPESTATUS[0] == 0)) || return 1
  mkdir -p "$work/etc/etc" # whose users are made there
  systemd-sysusers --root="$work/etc" "$root/deploy/systemd/flagraft.sysusers" 2>&1 | grep -v '^Creating' && return 1
  grep -q '^flagraft:' "$work/etc/etc/passwd"
}

check_config() { # flagraft serve --config takes the example, as it is and with everything in it that is commented out
  binary || return 1
  local f=$work/flagraft.yaml
  sed "s#/var/lib/flagraft#$work/config-data#" deploy/systemd/flagraft.yaml >"$f"
  starts "$f" || return 1
  sed -E -e 's/^# ([a-z0-9-]+:)/\1/' -e '/^cluster-(ca|cert|key):/d' -e "s#/etc/flagraft/#$work/#" -e "s#/var/lib/flagraft#$work/config-data2#" deploy/systemd/flagraft.yaml >"$work/all.yaml"
  echo secret-secret-secret >"$work/cluster-secret"
  echo flagraft-Demo-1! >"$work/admin-password"
  sed -i -e 's/node-[abc].example.com/127.0.0.1/g' "$work/all.yaml"
  starts "$work/all.yaml"
}
starts() { # starts CONFIG: whether a node with it comes as far as its management port, on ports that are free, and stops in order
  env -i PATH="$PATH" FLAGRAFT_API_ADDR=127.0.0.1:21400 FLAGRAFT_CLUSTER_ADDR=127.0.0.1:21401 FLAGRAFT_GOSSIP_ADDR= FLAGRAFT_MANAGEMENT_ADDR=127.0.0.1:21403 \
    "$work/flagraft" serve --config "$1" >"$work/starts.log" 2>&1 &
  local pid=$! i code=1
  for ((i = 0; i < 300; i++)); do
    "$work/flagraft" health --live --management 127.0.0.1:21403 >/dev/null 2>&1 && { code=0; break; }
    kill -0 $pid 2>/dev/null || break
    sleep 0.2
  done
  kill $pid 2>/dev/null
  timeout 60 tail --pid=$pid -f /dev/null || { echo "does not stop"; kill -QUIT $pid; }
  wait $pid || code=1
  ((code == 0)) || tail -30 "$work/starts.log"
  return $code
}

check_chart() {
  python && rendered && helm lint --strict --quiet deploy/helm/flagraft || return 1
  local f said
  for f in deploy/helm/flagraft/ci/*-values.yaml; do helm lint --strict --quiet deploy/helm/flagraft -f "$f" || return 1; done
  # The API server's schemas, of the oldest version that the chart is for and of a new one. A ServiceMonitor is no part of them.
  for f in "$work"/rendered/*.yaml; do
    "$tools/venv/bin/python" - "$f" >"$work/builtin.yaml" <<'PY' || return 1
import sys, yaml
yaml.safe_dump_all([o for o in yaml.safe_load_all(open(sys.argv[1])) if o and o["kind"] != "ServiceMonitor"], sys.stdout)
PY
    for v in 1.27 1.37; do
      "$tools/venv/bin/kubernetes-validate" -k "$v" --strict "$work/builtin.yaml" >"$work/validate.log" 2>&1 || { echo "$f, Kubernetes $v"; cat "$work/validate.log"; return 1; }
    done
  done
  "$tools/venv/bin/python" deploy/check/chart.py docs/settings.md "$work"/rendered/*.yaml || return 1
  # What has to be refused.
  for said in replicas=3,bootstrapExpect=1 replicas=6,bootstrapExpect=3 replica=3 admin.email=you@example.com settings.Data_Dir=x ingress.enabled=true; do
    if helm template flags deploy/helm/flagraft --set "$said" >/dev/null 2>&1; then echo "--set $said should be refused"; return 1; fi
  done
}

check_pods() { # the pods of the chart as processes
  debian ip iproute2 && python && rendered && binary || return 1
  local f
  for f in one-node default everything; do
    "$tools/venv/bin/python" deploy/check/play.py "$work/flagraft" pods "$work/rendered/$f.yaml" || return 1
  done
}

check_services() { # the three nodes of Compose as processes, behind the real balancer
  debian ip iproute2 && debian haproxy haproxy && python && binary && compose three-nodes >"$work/three.json" &&
    "$tools/venv/bin/python" deploy/check/play.py "$work/flagraft" services "$work/three.json" deploy/docker/haproxy.cfg
}

check_packages() {
  debian rpm rpm && release || return 1
  (cd "$work/dist" && sha256sum --quiet -c SHA256SUMS) || return 1
  local deb rpm want
  deb=$(echo "$work"/dist/*.deb) rpm=$(echo "$work"/dist/*.rpm)
  dpkg-deb --info "$deb" >/dev/null && dpkg-deb --contents "$deb" >"$work/deb.txt" && rpm -qlp "$rpm" >"$work/rpm.txt" 2>/dev/null && rpm -qp --scripts "$rpm" >/dev/null 2>&1 || return 1
  for want in /usr/bin/flagraft /usr/lib/systemd/system/flagraft.service /etc/flagraft/flagraft.yaml /usr/share/bash-completion/completions/flagraft \
    /usr/share/man/man1/flagraft-serve.1.gz /usr/share/doc/flagraft/flagraft.cdx.json /usr/share/doc/flagraft/copyright; do
    grep -q " \.$want\$" "$work/deb.txt" && grep -qx "$want" "$work/rpm.txt" || { echo "$want is in no package"; return 1; }
  done
  dpkg-deb --ctrl-tarfile "$deb" | tar -xOf - ./conffiles | grep -q /etc/flagraft/flagraft.yaml || { echo "the configuration would be overwritten"; return 1; }
  # The same commit gives the same bytes.
  deploy/dist.sh "$work/again" "$tools/nfpm" linux/amd64 >/dev/null && diff "$work/dist/SHA256SUMS" "$work/again/SHA256SUMS" &&
    tar -tzf "$work"/dist/*linux_amd64.tar.gz >/dev/null && helm lint --quiet "$work"/dist/flagraft-chart-*.tgz
}

check_install() { # the deb, installed for real on a copy of this system that forgets everything
  [[ $(id -u) == 0 ]] && command -v dpkg >/dev/null || { echo "needs root on Debian: skipped"; return 0; }
  debian ip iproute2 && release && unshare --net --mount --pid --fork --kill-child deploy/check/install.sh "$work"/dist/*.deb "$work/overlay"
}

check_sbom() {
  python && release && "$tools/venv/bin/python" - "$work"/dist/*.cdx.json <<'PY'
import json, sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
text = open(sys.argv[1]).read()
fault = JsonStrictValidator(SchemaVersion.V1_5).validate_str(text)
print(fault or f"{len(json.loads(text)['components'])} components")
sys.exit(bool(fault))
PY
}

# --- run

(($# == 0)) || checks=("$@")
passed=0 failed=0
for name in "${checks[@]}"; do
  began=$SECONDS
  if "check_$name" >"$work/$name.log" 2>&1; then
    passed=$((passed + 1))
    printf 'ok      %-10s %4ss  %s\n' "$name" $((SECONDS - began)) "$(tail -1 "$work/$name.log" | cut -c1-120)"
  else
    failed=$((failed + 1))
    printf 'FAILED  %-10s %4ss\n' "$name" $((SECONDS - began))
    tail -40 "$work/$name.log" | sed 's/^/        /'
  fi
done
echo "$passed passed, $failed failed"
((failed == 0))
