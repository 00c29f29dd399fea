# shellcheck shell=bash
# Part of run.sh: the console in Chromium, against nodes that its tests start themselves.
# shellcheck disable=SC2154 # variables of run.sh

console_run() {
  local to=$cache/console began=$SECONDS status=0 stamp log=$logs/console.log passed
  local browser=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome)}
  if missing node npm >/dev/null; then record console skipped 0 "$(missing node npm)"; return; fi
  if [[ -z $browser ]]; then record console skipped 0 "no Chromium: apt-get install chromium"; return; fi
  mkdir -p "$to" && cp -R e2e/console/. "$to/"
  stamp=$(sha256sum <e2e/console/package.json)
  if [[ $(cat "$to/.installed" 2>/dev/null) != "$stamp" ]]; then
    if ! (cd "$to" && PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 bounded 600 nice npm install --no-package-lock --no-audit --no-fund) >"$logs/console.install.log" 2>&1; then
      record console FAILED $((SECONDS - began)) "install: $(tail -1 "$logs/console.install.log" | cut -c1-160)"
      return
    fi
    say "$stamp" >"$to/.installed"
  fi
  (cd "$to" && FLAGRAFT_BINARY=$cache/flagraft CONSOLE_ROUTES=$root/console/src/routes.ts CHROMIUM=$browser bounded 900 npx playwright test ${PICTURES:+pictures} ${MEASURE:+measure}) >"$log" 2>&1 || status=$?
  grep -a '^measured: ' "$log"
  passed=$(grep -aoE '[0-9]+ passed' "$log" | tail -1)
  if ((status == 0)) && [[ -n $passed ]]; then
    record console passed $((SECONDS - began)) "$passed"
  else
    record console FAILED $((SECONDS - began)) "${passed:-none passed}; see $log"
    because < <(grep -aE -A 6 '^ +[0-9]+\) ' "$log" | head -40)
  fi
}

console_run
