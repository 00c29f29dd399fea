#!/usr/bin/env bash
# Three nodes on this machine, for trying things out: API on ports 8000, 8010 and 8020.
# Usage: deploy/local-cluster.sh [binary] [data directory]; ctrl-c stops all three.
set -euo pipefail
bin=${1:-bin/flagraft} data=${2:-data/cluster}
email=${FLAGRAFT_ADMIN_EMAIL:-admin@example.com} password=${FLAGRAFT_ADMIN_PASSWORD:-flagraft-Demo-1!}

# A node of `make run` on these ports would be joined by the others, and be left without a majority when they stop.
for p in 80{0,1,2}{0,1,2,3}; do
  if (exec 3<>"/dev/tcp/127.0.0.1/$p") 2>/dev/null; then
    echo "port $p is in use: stop what listens there first (make run, or another make cluster)" >&2
    exit 1
  fi
done

pids=()
stop() { trap - EXIT INT TERM; kill "${pids[@]}" 2>/dev/null || true; wait "${pids[@]}" 2>/dev/null || true; }
trap stop EXIT INT TERM

mkdir -p "$data"
for i in 0 1 2; do
  p=$((8000 + 10 * i))
  "$bin" serve --data-dir "$data/node$i" \
    --api-addr ":$p" --cluster-addr "127.0.0.1:$((p + 1))" --gossip-addr "127.0.0.1:$((p + 2))" --management-addr "127.0.0.1:$((p + 3))" \
    --bootstrap-expect 3 --join 127.0.0.1:8001,127.0.0.1:8011,127.0.0.1:8021 \
    --admin-email "$email" --admin-password "$password" --demo >"$data/node$i.log" 2>&1 &
  pids+=($!)
  echo $! >"$data/node$i.pid"
done

ready() { # whether a management port says 200 on /readyz
  exec 3<>"/dev/tcp/127.0.0.1/$1" || return 1
  printf 'GET /readyz HTTP/1.0\r\n\r\n' >&3
  read -r _ status _ <&3
  exec 3>&-
  [ "$status" = 200 ]
}
for i in 0 1 2; do
  for _ in $(seq 150); do
    kill -0 "${pids[i]}" 2>/dev/null || break
    { ready $((8003 + 10 * i)); } 2>/dev/null && continue 2
    sleep 0.2
  done
  echo "node$i is not ready; the end of $data/node$i.log:" >&2
  tail -n 3 "$data/node$i.log" >&2
  exit 1
done

cat <<TEXT
Three nodes are ready:
  http://127.0.0.1:8000   http://127.0.0.1:8010   http://127.0.0.1:8020   (logs: $data/*.log)
Sign in with $email / $password. The console is at each address, the API documentation at http://127.0.0.1:8000/api/v1/docs/.
Kill one with kill -9 \$(cat $data/node1.pid) and go on (docs/three-nodes.md); ctrl-c stops all.
TEXT
wait "${pids[@]}"
