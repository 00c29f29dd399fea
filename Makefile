# flagraft. `make help` lists the targets; each works in a fresh clone.
.DEFAULT_GOAL := help
SHELL := /bin/bash
export CGO_ENABLED ?= 0

BIN     := bin/flagraft
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION)
TOOLS   := .tools
LINT    := $(TOOLS)/golangci-lint
FUZZ    ?= 10s
BENCH   ?=
FAULTS  ?=

.PHONY: help build run cluster test check fmt vet lint generated race console console-check console-measure pictures bench bench-compare bench-report dist deploy-check e2e faults fuzz clean

help: ## list the targets
	@while read -r line; do [[ $$line =~ ^([a-z0-9-]+):.*'## '(.*) ]] && printf '  make %-15s %s\n' "$${BASH_REMATCH[@]:1}"; done <$(firstword $(MAKEFILE_LIST)); true

build: ## build bin/flagraft
	go build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/flagraft

run: build ## one node on port 8000 with a demo project
	$(BIN) serve --demo --data-dir data/run

cluster: build ## three nodes on this machine (ports 8000, 8010, 8020) with a demo project
	./deploy/local-cluster.sh $(BIN)

test: ## the tests that need nothing but Go
	go test -timeout 10m ./...

check: fmt vet lint generated race ## format, vet, lint, generated files, race detector

fmt:
	@bad=$$(find . \( -name node_modules -o -name '.?*' \) -prune -o -name '*.go' -exec gofmt -l {} +) && test -z "$$bad" || { echo "not formatted: $$bad"; exit 1; }

vet:
	go vet ./...

lint: $(LINT)
	$(LINT) run --allow-parallel-runners ./...

# Tools have a modfile of their own: their dependencies must not move ours (docs/adr/0006-dependencies.md).
$(LINT): .ci/tools.mod
	go build -modfile=.ci/tools.mod -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

# An S3 server for the tests of scheduled backups.
$(TOOLS)/e2e/versitygw: .ci/e2e.mod
	go build -modfile=.ci/e2e.mod -o $@ github.com/versity/versitygw/cmd/versitygw

generated: ## go.mod is tidy and generated documents are current
	go mod tidy -diff
	@go run ./cmd/flagraft settings | diff -u docs/settings.md - || { echo "docs/settings.md is not current: go run ./cmd/flagraft settings > docs/settings.md"; exit 1; }

race:
	CGO_ENABLED=1 go test -race -timeout 20m ./...

console/node_modules/.installed: console/package.json
	cd console && npm install --no-package-lock --no-audit --no-fund && touch node_modules/.installed

console: console/node_modules/.installed ## build the web console into console/dist (needs npm)
	cd console && npm run --silent build

console-check: console/node_modules/.installed ## console/dist is what its sources build
	cd console && npm run --silent check && npx vite build --outDir node_modules/.check --emptyOutDir --logLevel warn
	diff -r console/dist console/node_modules/.check

pictures: build ## docs/images, from the console on three nodes (needs npm and Chromium)
	PICTURES=$(CURDIR)/docs/images e2e/run.sh $(BIN) console

console-measure: build ## how long the console takes with 1,000 flags (needs npm and Chromium)
	MEASURE=1 e2e/run.sh $(BIN) console

bench: build ## the goals of speed and size, beside a bare handler (25 minutes): BENCH=-quick, BENCH="-only 10m"
	go run ./bench/cmd/flagraft-bench -binary $(BIN) $(BENCH)

bench-compare: build ## flagraft beside other servers and engines, in one run; installs them first (20 minutes; needs cargo, npm, python3)
	./bench/compare/install.sh $(TOOLS)/peers
	go run ./bench/cmd/flagraft-bench -binary $(BIN) -peers $(TOOLS)/peers -report docs/performance-peers.md $(BENCH)

bench-report: build ## what requests cost as features, segments, identities and nodes grow, with plots
	go run ./bench/cmd/flagraft-bench -binary $(BIN) -scale -report docs/performance-scale.md $(BENCH)

e2e: build $(TOOLS)/e2e/versitygw ## official clients and faults against real nodes
	./e2e/run.sh $(BIN)

faults: build ## rounds of faults: FAULTS="-rounds 100 -nodes 5 -results results.jsonl"
	go run ./e2e/faults/cmd/faults -binary $(BIN) $(FAULTS)

fuzz: ## every fuzz target for FUZZ (10s) each; FUZZ="-for 25m -results fuzz.jsonl" for a campaign
	go run ./e2e/cmd/fuzz $(if $(findstring -,$(FUZZ)),$(FUZZ),-each $(FUZZ))

# Tools of deploy/ have a module of their own, as linters do.
$(TOOLS)/deploy/nfpm: deploy/check/go.mod
	cd deploy/check && go build -trimpath -o ../../$@ github.com/goreleaser/nfpm/v2/cmd/nfpm

dist: $(TOOLS)/deploy/nfpm ## dist/: static binaries, deb, rpm, the chart, SBOMs, checksums
	./deploy/dist.sh dist $< linux/amd64 linux/arm64 darwin/amd64 darwin/arm64

deploy-check: ## lint, render and try what is in deploy/ (installs linters; as root also Debian packages)
	./deploy/check.sh

clean: ## remove what was built and the local nodes' data
	rm -rf bin data dist $(TOOLS)
