#!/usr/bin/env bash
# End-to-end tests: Go tests against real nodes, then every official client against
# a three-node cluster. Usage: e2e/run.sh [binary] [part ...]; see e2e/README.md.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
root=$PWD
cache=$(mkdir -p "${E2E_CACHE:-.tools/e2e}" && cd "${E2E_CACHE:-.tools/e2e}" && pwd) || exit 2
logs=$cache/logs work=$cache/cluster dropin=$root/../shared/dropin
mkdir -p "$logs"
exec 9>"$cache/lock"
if command -v flock >/dev/null; then flock -w 1500 9 || { echo "another run holds $cache/lock" >&2; exit 2; }; fi
# A copy: whoever rebuilds the binary meanwhile does not change what is tested.
cp -f "${1:-bin/flagraft}" "$cache/flagraft" || exit 2
shift || true
parts=("$@")
export FLAGRAFT_DOCS=$root/docs CARGO_TARGET_DIR=$cache/cargo MAVEN_OPTS="${MAVEN_OPTS:--Xmx512m}" NPM_CONFIG_UPDATE_NOTIFIER=false PIP_DISABLE_PIP_VERSION_CHECK=1

declare -A causes=()
table=() failed=0 node=0 cluster_pid=
say() { printf '%s\n' "$*"; }
wanted() { # wanted NAME: whether the part was asked for (all are, by default)
  ((${#parts[@]} == 0)) && return
  local p
  for p in "${parts[@]}"; do [[ $1 == "$p" || $1 == "$p"-* ]] && return; done
  return 1
}
record() { # record NAME RESULT SECONDS DETAIL
  table+=("$(printf '%-22s %-8s %5ss  %s' "$1" "$2" "$3" "$4")")
  [[ $2 == FAILED ]] && failed=1
  say "${table[-1]}"
}
because() { # because < <(COMMAND): its lines say why the last part failed; shown now and again at the end
  causes[${table[-1]}]=$(cut -c1-240 | sed 's/^/    /')
  say "${causes[${table[-1]}]}"
}
bounded() { # bounded SECONDS COMMAND...: with a time limit, for it and its children
  timeout -k 10 "$@" 9>&-
}

start_cluster() { # start_cluster FLAG...: of e2e-cluster
  [[ -n $cluster_pid ]] && return
  go build -o "$cache/e2e-cluster" ./e2e/cmd/e2e-cluster || return 1
  rm -rf "$work" && mkdir -p "$work"
  "$cache/e2e-cluster" -binary "$cache/flagraft" -dir "$work" "$@" >"$logs/cluster.log" 2>&1 9>&- &
  cluster_pid=$!
  local i
  for ((i = 0; i < 600; i++)); do
    [[ -f $work/env ]] && break
    kill -0 "$cluster_pid" 2>/dev/null || break
    sleep 0.2
  done
  [[ -f $work/env ]] || { tail -5 "$logs/cluster.log"; cluster_pid=; return 1; }
  # shellcheck disable=SC1091 # written by e2e-cluster
  . "$work/env"
}
stop_cluster() {
  [[ -n $cluster_pid ]] && kill "$cluster_pid" 2>/dev/null && wait "$cluster_pid" 2>/dev/null
  cluster_pid=
}
trap stop_cluster EXIT
trap 'exit 130' INT TERM

next_node() { # each client talks to another node
  local -a all
  read -ra all <<<"$FLAGRAFT_NODES"
  export FLAGRAFT_ORIGIN=${all[node++ % ${#all[@]}]}
  export FLAGRAFT_API=$FLAGRAFT_ORIGIN/api/v1/ FLAGRAFT_REALTIME=
  if [[ $FLAGRAFT_STREAMS == true ]]; then FLAGRAFT_REALTIME=$FLAGRAFT_ORIGIN/; fi
}

judge() { # judge NAME STATUS LOG SECONDS [KNOWN]: KNOWN is a pattern of FAIL lines that are no failure
  local line fails
  line=$(grep -aE '^[0-9]+ passed, [0-9]+ failed' "$3" | tail -1)
  if (($2 == 77)); then
    record "$1" skipped "$4" "$(tail -1 "$3")"
  elif [[ -z $line ]]; then
    record "$1" FAILED "$4" "did not finish (status $2): $(tail -1 "$3" | cut -c1-120)"
  else
    fails=$(grep -a '^FAIL' "$3" | grep -avE "^FAIL (${5:-nothing is known})" || true)
    if [[ -z $fails && $line != *" 0 failed"* && -n ${5:-} ]]; then
      record "$1" passed "$4" "$line (known: $(grep -ac '^FAIL' "$3"))"
    elif [[ -n $fails || $line != *" 0 failed"* ]]; then
      record "$1" FAILED "$4" "$line"
      because <<<"$fails"
    else
      record "$1" passed "$4" "$line"
    fi
  fi
}

missing() { # missing TOOL...: the first that is not there
  local t
  for t; do command -v "$t" >/dev/null || { say "$t is not installed"; return; }; done
  return 1
}

client() { # client NAME [AS]: AS is its name in the table and of its logs
  local name=${2:-$1} from=$root/e2e/clients/$1 to=$cache/clients/$1 stamp began=$SECONDS status=0
  stamp=$(cat "$from"/* 2>/dev/null | sha256sum)
  mkdir -p "$to" "$cache/clients/lib" && cp -R "$from/." "$to/" && cp -R "$root/e2e/clients/lib/." "$cache/clients/lib/"
  if [[ -f $to/install && $(cat "$to/.installed" 2>/dev/null) != "$stamp" ]]; then
    (cd "$to" && bounded 600 nice bash ./install) >"$logs/$name.install.log" 2>&1 || status=$?
    if ((status == 77)); then record "$name" skipped $((SECONDS - began)) "$(tail -1 "$logs/$name.install.log")"; return; fi
    if ((status)); then record "$name" FAILED $((SECONDS - began)) "install: $(tail -1 "$logs/$name.install.log" | cut -c1-160)"; return; fi
    say "$stamp" >"$to/.installed"
  fi
  next_node
  (cd "$to" && bounded 240 bash ./run) >"$logs/$name.log" 2>&1 || status=$?
  judge "$name" "$status" "$logs/$name.log" $((SECONDS - began))
}

if wanted go; then
  say "== Go tests against real nodes"
  began=$SECONDS
  if [[ -x $cache/versitygw ]]; then export FLAGRAFT_VERSITYGW=$cache/versitygw; fi
  # Two packages at a time: each starts clusters of its own, and waits for elections and disks more than it computes.
  mapfile -t packages < <(go list ./e2e/... | grep -v /e2e/docs$)
  if FLAGRAFT_BINARY=$cache/flagraft bounded 1200 go test -p 2 -count=1 -timeout 19m "${packages[@]}" >"$logs/go.log" 2>&1; then
    record go passed $((SECONDS - began)) "$(grep -c '^ok' "$logs/go.log") packages"
  else
    record go FAILED $((SECONDS - began)) "see $logs/go.log"
    because < <(grep -aE -A 4 '^ *--- FAIL|Error Trace:|Messages:|panic:|^FAIL' "$logs/go.log" | head -40)
  fi
fi

if wanted docs; then
  say "== every command in the documentation"
  began=$SECONDS status=0
  FLAGRAFT_BINARY=$cache/flagraft bounded 600 go test -count=1 -v -parallel 4 -timeout 9m ./e2e/docs >"$logs/docs.log" 2>&1 || status=$?
  if ((status)); then
    record docs FAILED $((SECONDS - began)) "see $logs/docs.log"
    because < <(grep -avE '^=== |^ *run_test.go:[0-9]+: [^ ]+ [0-9.]+s$' "$logs/docs.log" |
      grep -aE -A 20 '^ *run_test.go:.*(code|failed|end within|printed)|^ +[a-z_]+_test.go:.*docs/|^ *--- FAIL' | head -40)
  elif grep -aq -- '--- SKIP' "$logs/docs.log"; then
    record docs skipped $((SECONDS - began)) "$(grep -a -m 1 -oE '(the stage needs|namespaces are).*' "$logs/docs.log")"
  else
    record docs passed $((SECONDS - began)) "$(grep -acE '^ *--- PASS: TestCommands/' "$logs/docs.log") pages"
  fi
fi

say "== official clients against three nodes"
for run in e2e/clients/*/run; do
  name=$(basename "$(dirname "$run")")
  wanted "$name" || continue
  start_cluster || { record cluster FAILED 0 "three nodes did not start: $logs/cluster.log"; break; }
  client "$name"
done

renewals() { wc -l <"$work/renewed" 2>/dev/null || echo 0; }

https() { # https NAME: trusting the authority while certificates change, then trusting nobody
  local name=$1 as=https-$1 began=$SECONDS before got
  before=$(renewals)
  REQUESTS_CA_BUNDLE=$work/ca.crt NODE_EXTRA_CA_CERTS=$work/ca.crt client "$name" "$as"
  [[ ${table[-1]} == *" passed "* ]] || return
  if ! kill -0 "$cluster_pid" 2>/dev/null || (($(renewals) < before + 2)); then
    record "$as-renewals" FAILED $((SECONDS - began)) "no new certificates meanwhile; see $logs/cluster.log"
    return
  fi
  record "$as-renewals" passed $((SECONDS - began)) "$(($(renewals) - before)) meanwhile"
  began=$SECONDS
  (cd "$cache/clients/$name" && bounded 60 bash ./run) >"$logs/$as-stranger.log" 2>&1
  # What needs no answer of the node passes: a wrong key has no flags.
  got=$(grep -a '^ok' "$logs/$as-stranger.log" | grep -avE '^ok (a )?wrong key' | head -1)
  if [[ -z $got ]] && grep -aqE '^[0-9]+ passed' "$logs/$as-stranger.log" && grep -aqi 'certificate' "$logs/$as-stranger.log"; then
    record "$as-stranger" passed $((SECONDS - began)) "refused"
  else
    record "$as-stranger" FAILED $((SECONDS - began)) "${got:-$(tail -1 "$logs/$as-stranger.log" | cut -c1-160)}"
  fi
}

for name in python node; do
  wanted "https-$name" || continue
  if [[ ${https_started:-} != true ]]; then
    say "== official clients over HTTPS"
    stop_cluster
    start_cluster -https || { record https FAILED 0 "three nodes did not start: $logs/cluster.log"; break; }
    https_started=true
  fi
  https "$name"
done
[[ ${https_started:-} == true ]] && stop_cluster

if wanted console; then
  say "== the console in a browser"
  # shellcheck source=e2e/console.sh
  . e2e/console.sh
fi

if [[ -d $dropin ]] && { ((${#parts[@]} == 0)) || [[ " ${parts[*]}" == *" dropin"* ]]; }; then
  say "== acceptance programs on a copy of ../shared/dropin"
  # shellcheck source=e2e/dropin.sh
  . e2e/dropin.sh
fi

if wanted recorded; then
  say "== what was recorded from the reference"
  # shellcheck source=e2e/recorded.sh
  . e2e/recorded.sh
fi

say ""
say "== summary"
printf '%s\n' "${table[@]}"
if ((failed)); then
  say ""
  say "== what failed after ${SECONDS}s; logs in $logs"
  for row in "${table[@]}"; do
    [[ $row == *" FAILED "* ]] || continue
    say "$row"
    [[ -z ${causes[$row]:-} ]] || say "${causes[$row]}"
  done
else
  say "all passed in ${SECONDS}s"
fi
exit "$failed"
