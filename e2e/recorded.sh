# shellcheck shell=bash
# Part of run.sh: replays the story of ../shared/golden against an empty node, holds
# the served API description against the recorded one, and sends what schemathesis
# makes of it. Nothing of the first two is kept in this repository;
# golden-exceptions.tsv and openapi/exceptions.tsv say where flagraft differs on purpose.
# shellcheck disable=SC2154 # variables of run.sh

golden=$root/../shared/golden recorded=$root/../shared/spec/openapi-core.yaml story=$cache/golden
story_pid=

# start_node starts a node of its own on free ports and sets origin; arguments are flags.
start_node() {
  local port i
  local -a ports
  port=$(python3 -c 'import socket; s = [socket.socket() for _ in range(3)]; [x.bind(("127.0.0.1", 0)) for x in s]; print(*[x.getsockname()[1] for x in s])') || return 1
  read -ra ports <<<"$port"
  rm -rf "$story" && mkdir -p "$story"
  origin=http://127.0.0.1:${ports[0]}
  "$cache/flagraft" serve --data-dir "$story/data" --gossip-addr '' --api-addr "127.0.0.1:${ports[0]}" \
    --cluster-addr "127.0.0.1:${ports[1]}" --management-addr "127.0.0.1:${ports[2]}" "$@" >"$logs/recorded-node.log" 2>&1 9>&- &
  story_pid=$!
  for ((i = 0; i < 100; i++)); do
    python3 -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1])' "$origin/health/readiness/" 2>/dev/null && return
    kill -0 "$story_pid" 2>/dev/null || return 1
    sleep 0.2
  done
  return 1
}
stop_node() {
  [[ -n $story_pid ]] && kill "$story_pid" 2>/dev/null && wait "$story_pid" 2>/dev/null
  story_pid=
}

replay() {
  local began=$SECONDS line
  cat "$golden/exceptions.tsv" e2e/golden-exceptions.tsv >"$story/exceptions.tsv"
  bounded 600 python3 "$golden/replay.py" --base "$origin" --pack "$golden/story.jsonl" --exceptions "$story/exceptions.tsv" >"$logs/golden.log" 2>&1
  line=$(grep -aE '^[0-9]+ equal, [0-9]+ differ, [0-9]+ skipped' "$logs/golden.log" | tail -1)
  if [[ $line == *" 0 differ, 0 skipped"* ]]; then
    record golden passed $((SECONDS - began)) "$line"
  else
    record golden FAILED $((SECONDS - began)) "${line:-did not finish}; see $logs/golden.log"
  fi
}

describe() {
  local began=$SECONDS
  python3 -c 'import sys, urllib.request; sys.stdout.buffer.write(urllib.request.urlopen(sys.argv[1]).read())' "$origin/api/v1/swagger.json" >"$story/swagger.json"
  if bounded 120 go run ./e2e/cmd/openapi -recorded "$recorded" "$story/swagger.json" >"$logs/openapi.log" 2>&1; then
    record openapi passed $((SECONDS - began)) "$(tail -1 "$logs/openapi.log")"
  else
    record openapi FAILED $((SECONDS - began)) "$(grep -aE '^[0-9]+ of [0-9]+ operations' "$logs/openapi.log"); see $logs/openapi.log"
  fi
}

# generated sends what schemathesis makes of the description, as the administrator, with the names of things that exist (generated.py): no answer
# may be a 500, or other than described. Left out is what would end the administrator's own credentials or change the cluster itself.
generated() {
  local -x FLAGRAFT_ADMIN_EMAIL=admin@example.com FLAGRAFT_ADMIN_PASSWORD='Sesame-open-2!'
  local began=$SECONDS venv=$cache/schemathesis token status=0
  if [[ ! -x $venv/bin/schemathesis ]]; then
    if ! (python3 -m venv "$venv" && bounded 600 nice "$venv/bin/pip" install -q 'schemathesis>=4.32,<5') >"$logs/schemathesis.install.log" 2>&1; then
      record schemathesis FAILED $((SECONDS - began)) "install: $(tail -1 "$logs/schemathesis.install.log" | cut -c1-160)"
      return
    fi
  fi
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
  (cd "$story" && export FLAGRAFT_ORIGIN=$origin FLAGRAFT_TOKEN=$token PYTHONPATH=$root/e2e PYTHONDONTWRITEBYTECODE=1 SCHEMATHESIS_HOOKS=generated &&
    bounded 900 "$venv/bin/schemathesis" run "$origin/api/v1/swagger.json" -H "Authorization: Token $token" -n 1 --max-failures 100 \
    --checks not_a_server_error,response_schema_conformance,status_code_conformance,content_type_conformance --phases examples,coverage,fuzzing \
    --exclude-operation-id-regex 'auth_(logout_create|token_destroy|users_me_destroy)|restores_apply|cluster_(transfer|.*(create|use|destroy))') \
    >"$logs/schemathesis.log" 2>&1 || status=$?
  if ((status == 0)); then
    record schemathesis passed $((SECONDS - began)) "$(grep -a 'generated' "$logs/schemathesis.log" | tail -1 | sed 's/^ *//')"
  else
    record schemathesis FAILED $((SECONDS - began)) "status $status; see $logs/schemathesis.log"
  fi
}

if why=$(missing python3); then
  record recorded skipped 0 "$why"
else
  if [[ ! -d $golden ]]; then
    record golden skipped 0 "../shared/golden is not there"
  elif ! start_node --trusted-proxies 127.0.0.1; then # the story has clients at several addresses
    record golden FAILED 0 "no node: $logs/recorded-node.log"
  else
    replay
    if [[ -f $recorded ]]; then describe; else record openapi skipped 0 "../shared/spec is not there"; fi
  fi
  stop_node
  if FLAGRAFT_ADMIN_EMAIL=admin@example.com FLAGRAFT_ADMIN_PASSWORD='Sesame-open-2!' start_node --login-per-minute 0 --usage-per-minute 0 --allow-private-webhooks; then
    generated
  else
    record schemathesis FAILED 0 "no node: $logs/recorded-node.log"
  fi
  stop_node
fi
