# Building needs Go alone. Testing needs PostgreSQL's programs and a browser besides: "make test" installs what is missing.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
# The modules of go.work. Those beside it, such as tools and peers, have their own versions of what they need: GOWORK=off.
MODULES := ./... ./app/... ./cmd/... ./internal/bench/... ./internal/e2e/...
# Without symbol tables (-ldflags=-s) the 120 programs of the tests are linked in half of the time.
# The packages whose tests take longest begin first, or one of them is alone on the machine in the end.
LONGEST := ./app/ui/console ./store/postgres ./app/worker/sandbox ./internal/e2e ./cmd/belfry ./store/sqlite
# The garbage collector takes a tenth of the time of the tests, and their heaps are small. The nodes that they start do not get it.
test lanes test-modules: export GOGC := 400
# The program is released without cgo, and so it is tested. A test that builds it has the packages of the tests then, instead
# of compiling all of them once more. The race detector needs cgo.
CGO_ENABLED ?= 0
export CGO_ENABLED
LINT = $(shell GOWORK=off go tool -modfile=tools/go.mod -n golangci-lint)

# Bounds, to be changed on the command line: make fuzz FUZZTIME=5m PKG=./cron
PKG ?= $(MODULES)
FUZZTIME ?= 20s
BENCH ?= .
ROUNDS ?= 24
SIM_SEED ?= 1
SIM_SEEDS ?= 200
SIM_HOURS ?= 1
SIM_TRACE ?=
SWITCHES ?= 2
ORACLE_RULES ?= 5000
RACE_TIMEOUT ?= 60m
RACE_RUN ?= .

# The long tests, by how their names begin. "make test" leaves them out, "make lanes" runs them.
LANES := ClaimPaths TransitionsThatAreBegunAgain AServerThatWasAway ClientsThatLeave HostilePeers KnownTruth TwoVersions PostgresFailover Interleavings CannotRun PagesThroughLiveUpdates EveryPage \
	Replay Sim AQuarterOfAYear TwoWeeks AWeek ASimulatedDay ALandscape MonitorsAreWatchedOnANode HostilePagesAreBounded ReleaseOf LargeWorlds PowerCuts Battery Chaos
space := $(subst ,, )
GOTEST = go test -vet=off -ldflags=-s -timeout 45m -skip '^Test($(subst $(space),|,$(LANES)))'

# SUDO is empty for root and where there is no sudo.
SUDO := $(shell [ "$$(id -u)" = 0 ] || command -v sudo)

.PHONY: help
help: ## Show this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

.PHONY: setup
setup: ## Install what "make test" needs and is missing (Debian packages: postgresql, pgbouncer, libfaketime, chromium-headless-shell, gcc, strace, runsc)
	@tools/setup.sh

.PHONY: build
build: ## Build the static binary bin/belfry
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/belfry ./cmd/belfry

.PHONY: release
release: ## Make the files of a release in dist (VERSION=v0.1.0): archives, packages, bills of materials, SHA256SUMS
	go run ./internal/release -version '$(VERSION)' -out dist

.PHONY: test
test: setup ## Test the product but for the lanes, on SQLite and on PostgreSQL; installs what it needs; "make lint" vets
	$(GOTEST) -p 3 $(LONGEST) $(filter-out ./internal/bench/...,$(MODULES))

.PHONY: test-all
test-all: test lanes test-modules ## Run "make test", and then all that takes longer: lanes, benchmarks, oracles, brokers, S3, the chart, peers

.PHONY: lanes
lanes: setup ## Run the lanes, tests that take a minute or more each (LANES='Chaos HostilePeers')
	tools/lane.sh $(LANES)

# Of BELFRY_PORTION=2/3 every third one, beginning with the second.
MODULE_TESTS := bench oracles s3 deploy brokers peers
PORTION := $(subst /, ,$(BELFRY_PORTION))
ifneq ($(PORTION),)
MODULE_TESTS := $(shell i=0; for one in $(MODULE_TESTS); do [ $$((i % $(word 2,$(PORTION)))) -ne $$(($(word 1,$(PORTION)) - 1)) ] || echo $$one; i=$$((i + 1)); done)
endif

.PHONY: test-modules
test-modules: $(addprefix test-,$(MODULE_TESTS)) ## Test benchmarks, rules with foreign engines, S3, the chart and the units, brokers, peers

.PHONY: test-bench
test-bench: setup
	$(GOTEST) ./internal/bench/...

.PHONY: test-oracles
test-oracles: setup-oracles
	go test -tags oracles -count=1 ./internal/oracles

.PHONY: test-s3
test-s3:
	cd app/blob/s3test && GOWORK=off go test -timeout 20m ./...

.PHONY: test-deploy
test-deploy:
	cd deploy/test && GOWORK=off go test -timeout 20m ./...

.PHONY: test-peers
test-peers: setup-peers
	cd bench && GOWORK=off go test -timeout 20m ./...

.PHONY: test-vm
test-vm: ## Test the sandbox in a virtual machine with Debian's kernel and control groups of version 2 alone (as root; VM_TESTS='-test.run Memory')
	app/worker/sandbox/testdata/vm/run.sh $(VM_TESTS)

# SQLite is C that was translated to Go. Watched by the race detector it would take most of the time, and it locks for itself.
.PHONY: test-race
test-race: ## Run the short tests but the lanes under the race detector (needs a C compiler; PKG, RACE_RUN, RACE_TIMEOUT)
	CGO_ENABLED=1 go test -race -short -vet=off -timeout $(RACE_TIMEOUT) -gcflags='modernc.org/...=-race=false -d=checkptr=0' \
		-run '$(RACE_RUN)' -skip '^Test($(subst $(space),|,$(LANES)))' $(PKG)

.PHONY: chaos
chaos: ## Break things at random under load and check the record (ROUNDS=24, of 10 to 20 s; prints its seed)
	BELFRY_E2E_ROUNDS=$(ROUNDS) go test -count=1 -v -timeout 60m -run Chaos ./internal/e2e

.PHONY: proof
proof: setup ## Run all proofs of docs/proof.md within an hour and write what ran (PROOF_SEED=date, PROOF_PARTS="model cuts")
	tools/proof.sh

.PHONY: battery
battery: ## Plant every fault of internal/battery and see that the tests find it (FAULTS=name; an hour for all)
	go run ./internal/battery/cmd/battery $(FAULTS)

.PHONY: sim
sim: ## Simulate clusters with faults under a fake clock and check the record (SIM_SEED=1 SIM_SEEDS=200 SIM_HOURS=1, SIM_TRACE)
	SIM_SEED=$(SIM_SEED) SIM_SEEDS=$(SIM_SEEDS) SIM_HOURS=$(SIM_HOURS) SIM_TRACE=$(abspath $(SIM_TRACE)) go test -vet=off -count=1 -v -timeout 0 -run 'TestSimHolds' ./internal/sim

.PHONY: interleave
interleave: ## Have every two transitions meet in PostgreSQL in more orders (SWITCHES=2 between the two; ten minutes)
	BELFRY_INTERLEAVE_SWITCHES=$(SWITCHES) go test -vet=off -count=1 -v -timeout 0 -run TestInterleavings ./internal/interleave

.PHONY: fuzz
fuzz: ## Fuzz every target for a while (FUZZTIME=20s each, PKG)
	@go list -f '{{ range $$f := .TestGoFiles }}{{ $$.ImportPath }} {{ $$.Dir }}/{{ $$f }}{{ "\n" }}{{ end }}{{ range $$f := .XTestGoFiles }}{{ $$.ImportPath }} {{ $$.Dir }}/{{ $$f }}{{ "\n" }}{{ end }}' $(PKG) | \
	while read -r package file; do \
		[ -n "$$file" ] || continue; \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$$file"); do \
			echo "== $$package $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$package" </dev/null; \
		done; \
	done

.PHONY: bench
bench: build ## Measure Belfry alone on this machine, a short run (BENCH_ARGS, see go run ./internal/bench/cmd/node -h)
	go run ./internal/bench/cmd/node -short -program bin/belfry $(BENCH_ARGS)

.PHONY: bench-programs
bench-programs: build ## Measure the promises of programs, with 1, 10 and 100 worker processes (BENCH_ARGS; as root, for the sandbox)
	go run ./internal/bench/cmd/node -program bin/belfry -measures programs -databases sqlite,postgres -slow-rounds 1 $(BENCH_ARGS)

.PHONY: bench-pages
bench-pages: ## Measure every page and list with 1,000,000 schedules and 10,000,000 jobs (PAGES_FLAGS="-schedules 100000 -jobs 500000")
	go run ./internal/bench/cmd/pages $(PAGES_FLAGS)

.PHONY: bench-go
bench-go: ## Run the Go benchmarks (BENCH=name, PKG)
	go test -run '^$$' -bench '$(BENCH)' -benchmem $(PKG)

.PHONY: setup-peers
setup-peers: ## Install the other queues that bench-peers measures (PostgreSQL, Redis, Node.js)
	@bench/setup.sh

.PHONY: bench-peers
bench-peers: setup-peers ## Measure Belfry beside other queues on this machine (PEERS_FLAGS=-short)
	cd bench && GOWORK=off go run ./cmd/peers $(PEERS_FLAGS)

.PHONY: setup-oracles
setup-oracles: ## Install the foreign engines that rules are compared with (Python, Node.js)
	@internal/oracles/setup.sh

.PHONY: oracles
oracles: setup-oracles ## Compare rules with foreign engines on thousands of random ones (ORACLE_RULES)
	BELFRY_ORACLE_RULES=$(ORACLE_RULES) go test -tags oracles -count=1 -timeout 60m -v ./internal/oracles

.PHONY: bench-rules
bench-rules: ## Compare the rule engine's speed with other libraries (module bench)
	cd bench && GOWORK=off go run ./cmd/rules

.PHONY: bench-monitors
bench-monitors: ## Measure Belfry's checks beside blackbox_exporter and Gatus, which it builds (MONITORS_FLAGS)
	cd bench && GOWORK=off go run ./cmd/monitors $(MONITORS_FLAGS)

.PHONY: setup-brokers
setup-brokers: ## Install the SQS server that the tests of brokers run against (Node.js)
	@app/transport/brokertest/setup.sh

.PHONY: test-brokers
test-brokers: setup-brokers ## Test brokers against real servers (module app/transport/brokertest)
	cd app/transport/brokertest && GOWORK=off go vet ./... && GOWORK=off go test -timeout 20m ./...

.PHONY: lint
lint: ## Lint, with the arrows of the layout (the first run builds the linter)
	$(LINT) run $(MODULES)

.PHONY: shape
shape: ## Show each package: lines, exported names, imports, the type with most methods, the longest function
	go run ./internal/shape/cmd/shape

.PHONY: notice
notice: ## Write NOTICE: the modules that are compiled in, with their licences
	go run ./internal/notice > NOTICE.new
	mv NOTICE.new NOTICE

.PHONY: tidy
tidy: ## Bring go.mod and go.sum of every module up to date
	tools/tidy.sh

.PHONY: fmt
fmt: ## Format all Go files
	$(LINT) fmt
