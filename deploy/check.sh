#!/usr/bin/env bash
# Checks what lies in deploy/ with the linters of its formats. It installs what it needs from the distribution (as root, or with sudo).
# One function a linter; add yours, and its name to the last line.
set -euo pipefail
cd "$(dirname "$0")"

# need COMMAND PACKAGE installs the Debian package that has a command.
need() {
	command -v "$1" >/dev/null && return
	local root=
	[ "$(id -u)" = 0 ] || root=sudo
	$root apt-get update -qq
	# Only the programs: nothing is started.
	RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive $root apt-get install -y -qq --no-install-recommends "$2" >/dev/null
}

# The alert rules are well formed, and each fires when it must and only then.
promtool_rules() {
	need promtool prometheus
	promtool check rules --lint=all --lint-fatal grafana/alerts.yaml
	promtool test rules grafana/alerts_test.yaml
}

# Every query of the dashboard parses.
promtool_dashboard() {
	need promtool prometheus
	need jq jq
	local dir
	dir=$(mktemp -d)
	# Grafana's variables stand for values of these forms.
	jq -r '"groups:", "- name: dashboard", "  rules:", ([.. | .expr? // empty] | to_entries[] |
		"  - record: panel:query:\(.key)", "    expr: \(.value | gsub("\\$__rate_interval"; "5m") | gsub("\\$[a-z]+"; "x") | tojson)")' \
		grafana/flagraft.json >"$dir/queries.yaml"
	promtool check rules --lint=none "$dir/queries.yaml"
	rm -r "$dir"
}

for check in promtool_rules promtool_dashboard; do
	printf '== %s\n' "$check"
	"$check"
done
