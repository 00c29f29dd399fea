# shellcheck shell=bash
# Part of run.sh: replays the story of ../shared/golden against an empty node, holds
# the served API description against the recorded one, and sends what schemathesis
# makes of it. Nothing of the first two is kept in this repository;
# golden-exceptions.tsv and openapi/exceptions.tsv say where flagraft differs on purpose.
# shellcheck disable=SC2154 # variables of run.sh

golden=$root/../shared/golden recorded=$root/../shared/spec/openapi-core.yaml
python=(schemathesis==4.32.5 openapi-spec-validator==0.7.2) venv=$cache/schemathesis
node_pids=()

# start_node NAME FLAG...: a node of its own on free ports, at $origin, with its files in $home.
start_node() {
  local port i name=$1
  local -a ports
  shift
  port=$(python3 -c 'import socket; s = [socket.socket() for _ in range(3)]; [x.bind(("127.0.0.1", 0)) for x in s]; print(*[x.getsockname()[1] for x in s])') || return 1
  read -ra ports <<<"$port"
  home=$cache/recorded/$name origin=http://127.0.0.1:${ports[0]}
  rm -rf "$home" && mkdir -p "$home"
  "$cache/flagraft" serve --data-dir "$home/data" --gossip-addr '' --api-addr "127.0.0.1:${ports[0]}" \
    --cluster-addr "127.0.0.1:${ports[1]}" --management-addr "127.0.0.1:${ports[2]}" "$@" >"$logs/recorded-$name.log" 2>&1 9>&- &
  node_pids+=($!)
  for ((i = 0; i < 100; i++)); do
    python3 -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1])' "$origin/health/readiness/" 2>/dev/null && return
    kill -0 $! 2>/dev/null || return 1
    sleep 0.2
  done
  return 1
}
stop_nodes() {
  ((${#node_pids[@]})) && kill "${node_pids[@]}" 2>/dev/null && wait "${node_pids[@]}" 2>/dev/null
  node_pids=()
}
trap 'stop_nodes; stop_cluster' EXIT

# replay sends the story. It waits two minutes for limits of requests per minute, so it runs beside the rest.
replay() {
  cat "$golden/exceptions.tsv" e2e/golden-exceptions.tsv >"$home/exceptions.tsv"
  bounded 600 python3 "$golden/replay.py" --base "$origin" --pack "$golden/story.jsonl" --exceptions "$home/exceptions.tsv" >"$logs/golden.log" 2>&1
  say "$SECONDS" >"$home/ended"
}
replayed() { # replayed HOME BEGAN
  local line seconds
  seconds=$(($(cat "$1/ended") - $2))
  line=$(grep -aE '^[0-9]+ equal, [0-9]+ differ, [0-9]+ skipped' "$logs/golden.log" | tail -1)
  if [[ $line == *" 0 differ, 0 skipped"* ]]; then
    record golden passed $seconds "$line"
  else
    record golden FAILED $seconds "${line:-did not finish}; see $logs/golden.log"
  fi
}

# tools installs what reads the description.
tools() {
  local began=$SECONDS
  [[ $(cat "$venv/.installed" 2>/dev/null) == "${python[*]}" ]] && return
  if (python3 -m venv "$venv" && bounded 600 nice "$venv/bin/pip" install -q "${python[@]}") >"$logs/schemathesis.install.log" 2>&1; then
    say "${python[*]}" >"$venv/.installed"
    return
  fi
  record schemathesis FAILED $((SECONDS - began)) "install: $(tail -1 "$logs/schemathesis.install.log" | cut -c1-160)"
  return 1
}

describe() {
  local began=$SECONDS
  python3 -c 'import sys, urllib.request; sys.stdout.buffer.write(urllib.request.urlopen(sys.argv[1]).read())' "$origin/api/v1/swagger.json" >"$home/swagger.json"
  if bounded 120 "$venv/bin/openapi-spec-validator" "$home/swagger.json" >"$logs/openapi-valid.log" 2>&1; then
    record openapi-valid passed $((SECONDS - began)) "OpenAPI 3.1"
  else
    record openapi-valid FAILED $((SECONDS - began)) "see $logs/openapi-valid.log"
  fi
  began=$SECONDS
  if [[ ! -f $recorded ]]; then
    record openapi skipped 0 "../shared/spec is not there"
  elif bounded 120 go run ./e2e/cmd/openapi -recorded "$recorded" "$home/swagger.json" >"$logs/openapi.log" 2>&1; then
    record openapi passed $((SECONDS - began)) "$(tail -1 "$logs/openapi.log")"
  else
    record openapi FAILED $((SECONDS - began)) "$(grep -aE '^[0-9]+ of [0-9]+ operations' "$logs/openapi.log"); see $logs/openapi.log"
  fi
}

# generated sends what schemathesis makes of the description, as the administrator, with the names of things that exist (generated.py): no answer
# may be a 500, or other than described. Left out is what would end the administrator's own credentials or change the cluster itself.
# E2E_SCHEMATHESIS="-n 3 --seed 7" sends more.
generated() {
  local began=$SECONDS token status=0
  local -a more
  read -ra more <<<"${E2E_SCHEMATHESIS:--n 1}"
  token=$(python3 - "$origin" <<'PY'
import json, os, sys, time, urllib.request
body = json.dumps({"email": os.environ["FLAGRAFT_ADMIN_EMAIL"], "password": os.environ["FLAGRAFT_ADMIN_PASSWORD"]}).encode()
for _ in range(50):
    try:
        r = urllib.request.Request(sys.argv[1] + "/api/v1/auth/login/", body, {"Content-Type": "application/json"})
        print(json.load(urllib.request.urlopen(r))["key"])
        break
    except OSError:
        time.sleep(0.2)
PY
  )
  if [[ -z $token ]]; then
    record schemathesis FAILED $((SECONDS - began)) "nobody could sign in; see $logs/recorded-generated.log"
    return
  fi
  (cd "$home" && export FLAGRAFT_ORIGIN=$origin FLAGRAFT_TOKEN=$token PYTHONPATH=$root/e2e PYTHONDONTWRITEBYTECODE=1 SCHEMATHESIS_HOOKS=generated &&
    bounded 2400 "$venv/bin/schemathesis" run "$origin/api/v1/swagger.json" -H "Authorization: Token $token" --max-failures 100 \
    --checks not_a_server_error,response_schema_conformance,status_code_conformance,content_type_conformance --phases examples,coverage,fuzzing \
    --exclude-operation-id-regex 'auth_(logout_create|token_destroy|users_me_destroy)|restores_apply|v1_events_|cluster_(transfer|.*(create|use|destroy))' "${more[@]}") \
    >"$logs/schemathesis.log" 2>&1 || status=$?
  if ((status == 0)); then
    record schemathesis passed $((SECONDS - began)) "$(grep -a 'generated' "$logs/schemathesis.log" | tail -1 | sed 's/^ *//')"
  else
    record schemathesis FAILED $((SECONDS - began)) "status $status; see $logs/schemathesis.log"
  fi
}

stop_cluster
while read -r name; do unset "$name"; done < <(compgen -e FLAGRAFT_) # of the cluster; nodes would take them for settings
if why=$(missing python3); then
  record recorded skipped 0 "$why"
else
  if [[ ! -d $golden ]]; then
    record golden skipped 0 "../shared/golden is not there"
  elif start_node golden --trusted-proxies 127.0.0.1; then # the story has clients at several addresses
    golden_home=$home golden_began=$SECONDS
    replay &
    golden_pid=$!
  else
    record golden FAILED 0 "no node: $logs/recorded-golden.log"
  fi
  export FLAGRAFT_ADMIN_EMAIL=admin@example.com FLAGRAFT_ADMIN_PASSWORD='Sesame-open-2!'
  if ! start_node generated --login-per-minute 0 --usage-per-minute 0 --allow-private-webhooks; then
    record schemathesis FAILED 0 "no node: $logs/recorded-generated.log"
  elif tools; then
    describe
    generated
  fi
  unset FLAGRAFT_ADMIN_EMAIL FLAGRAFT_ADMIN_PASSWORD
  if [[ -n ${golden_pid:-} ]]; then
    wait "$golden_pid"
    replayed "$golden_home" "$golden_began"
  fi
  stop_nodes
fi
