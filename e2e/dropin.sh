# shellcheck shell=bash
# Part of run.sh: runs the acceptance programs of ../shared/dropin on a copy of that
# folder, each program on another node. Nothing of it is kept in this repository.
# shellcheck disable=SC2154 # variables of run.sh

copy=$cache/dropin

# What each program needs: tools, then the command that installs its client.
dropin_tools() {
  case $1 in
    contract) echo python3 ;; python) echo python3 ;; node | js | js10 | cli | openfeature) echo node npm ;;
    rust) echo cargo ;; java) echo javac mvn ;;
  esac
}
dropin_install() {
  local npm="npm install --no-package-lock --no-audit --no-fund"
  case $1 in
    contract | js10) ;;
    python) python3 -m venv python/venv && python/venv/bin/pip install -q flagsmith==6.3.0 openfeature-provider-flagsmith==1.0.0 ;;
    node) cd node && $npm flagsmith-nodejs@8.1.2 ;;
    js) cd js && $npm @flagsmith/flagsmith@12.4.0 flagsmith@10.0.0 jsdom eventsource@4 ;;
    cli) cd cli && $npm flagsmith-cli@0.2.3 ;;
    openfeature) cd openfeature && $npm @openfeature/flagsmith-client-provider@0.1.2 @openfeature/flagsmith-provider@0.1.2 @openfeature/web-sdk @openfeature/server-sdk ;;
    rust) cd rust && cargo build -q -j2 && mkdir -p target/debug && cp "$CARGO_TARGET_DIR/debug/dropin-rust" target/debug/ ;;
    java) cd java && mvn -q -B dependency:copy-dependencies -DoutputDirectory=lib && mkdir -p out && javac -cp 'lib/*' -d out Dropin.java ;;
  esac
}

dropin_program() { # dropin_program NAME
  local name=$1 began=$SECONDS why status=0 known=
  # shellcheck disable=SC2046 # a list of words
  if why=$(missing $(dropin_tools "$name")); then record "dropin-$name" skipped 0 "$why"; return; fi
  if [[ ! -f $copy/.installed-$name ]]; then
    if ! (export -f dropin_install; cd "$copy" && bounded 600 nice bash -c "set -e; dropin_install $name") >"$logs/dropin-$name.install.log" 2>&1; then
      record "dropin-$name" FAILED $((SECONDS - began)) "install: $(tail -1 "$logs/dropin-$name.install.log" | cut -c1-160)"
      return
    fi
    touch "$copy/.installed-$name"
  fi
  next_node
  sed "s#^export BASE_URL=.*#export BASE_URL='$FLAGRAFT_API'#; s#^export REALTIME_URL=.*#export REALTIME_URL='$FLAGRAFT_REALTIME'#" "$copy/env.sh" >"$copy/env-$name.sh"
  (cd "$copy" && LOGS=$logs/dropin bounded 420 bash ./run_all.sh "$copy/env-$name.sh" "$name") >"$logs/dropin-$name.log" 2>&1 || status=$?
  # Paths without the final slash are served, not redirected: docs/compatibility.md.
  if [[ $name == contract ]]; then known=missing_trailing_slash_redirects; fi
  judge "dropin-$name" "$status" "$logs/dropin/$name.out" $((SECONDS - began)) "$known"
}

dropin_seed() {
  next_node
  (cd "$copy" && BASE_URL=$FLAGRAFT_API EMAIL=$FLAGRAFT_EMAIL PASSWORD=$FLAGRAFT_PASSWORD REALTIME_URL=$FLAGRAFT_REALTIME \
    bounded 120 python3 seed.py) >"$copy/env.sh" 2>"$logs/dropin-seed.log"
}

# Whether an identity that the programs compare is in the one bucket, 9998, for which the
# reference hashes again: the Rust engine (0.6.1) does not, and decides otherwise. Keys of
# environments are random, so that happens in one of six or so.
dropin_bucket() {
  # shellcheck source=/dev/null # written by the seed
  (. "$copy/env.sh" && python3 - "$1") <<'PYTHON'
import hashlib, json, os, sys, urllib.request

ask = urllib.request.Request(os.environ["BASE_URL"].rstrip("/") + "/environment-document/", headers={"X-Environment-Key": os.environ["SERVER_KEY"]})
document = json.load(urllib.request.urlopen(ask, timeout=30))
segments = document["project"]["segments"]
states = document["feature_states"] + [s for g in segments for s in g["feature_states"]]
split = [g["id"] for g in segments if "PERCENTAGE_SPLIT" in json.dumps(g["rules"])]
hashed = split + [s["django_id"] for s in states if s["multivariate_feature_state_values"]]
keys = ["%s_agree-%03d" % (os.environ["ENV_KEY"], n) for n in range(200)]
buckets = {int(hashlib.md5(("%s,%s" % (i, k)).encode()).hexdigest(), 16) % 9999 for i in hashed for k in keys}
sys.exit(int(sys.argv[1]) not in buckets)
PYTHON
}

dropin_environment() {
  for _ in 1 2 3; do
    dropin_seed || return
    dropin_bucket 9998 || return 0
  done
}

if ! start_cluster; then
  record dropin FAILED 0 "three nodes did not start: $logs/cluster.log"
else
  mkdir -p "$copy" "$logs/dropin" && cp -R "$dropin/." "$copy/" && chmod -R u+w "$copy"
  if dropin_environment; then
    for name in contract python node js js10 openfeature cli java rust; do
      if ((${#parts[@]} == 0)) || [[ " ${parts[*]} " == *" dropin "* || " ${parts[*]} " == *" dropin-$name "* ]]; then
        dropin_program "$name"
      fi
    done
  else
    record dropin-seed FAILED 0 "$(tail -1 "$logs/dropin-seed.log" | cut -c1-200)"
  fi
fi
