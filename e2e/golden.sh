# shellcheck shell=bash
# Part of run.sh: replays the story of ../shared/golden against an empty node and
# holds the served API description against the recorded one. Nothing of either is
# kept in this repository; golden-exceptions.tsv and openapi/exceptions.tsv say
# where flagraft differs on purpose.
# shellcheck disable=SC2154 # variables of run.sh

golden=$root/../shared/golden recorded=$root/../shared/spec/openapi-core.yaml story=$cache/golden
story_pid=

# start_empty starts a node without users on a free port and sets origin.
start_empty() {
  local port
  port=$(python3 -c 'import socket; s = [socket.socket() for _ in range(3)]; [x.bind(("127.0.0.1", 0)) for x in s]; print(*[x.getsockname()[1] for x in s])') || return 1
  local -a ports
  read -ra ports <<<"$port"
  rm -rf "$story" && mkdir -p "$story"
  origin=http://127.0.0.1:${ports[0]}
  "$cache/flagraft" serve --data-dir "$story/data" --gossip-addr '' --api-addr "127.0.0.1:${ports[0]}" \
    --cluster-addr "127.0.0.1:${ports[1]}" --management-addr "127.0.0.1:${ports[2]}" >"$logs/golden-node.log" 2>&1 9>&- &
  story_pid=$!
  local i
  for ((i = 0; i < 100; i++)); do
    python3 -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1])' "$origin/health/readiness/" 2>/dev/null && return
    kill -0 "$story_pid" 2>/dev/null || return 1
    sleep 0.2
  done
  return 1
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

if [[ ! -d $golden ]]; then
  record golden skipped 0 "../shared/golden is not there"
elif why=$(missing python3); then
  record golden skipped 0 "$why"
elif ! start_empty; then
  record golden FAILED 0 "no node: $logs/golden-node.log"
else
  replay
  if [[ -f $recorded ]]; then describe; else record openapi skipped 0 "../shared/spec is not there"; fi
fi
[[ -n $story_pid ]] && kill "$story_pid" 2>/dev/null && wait "$story_pid" 2>/dev/null
