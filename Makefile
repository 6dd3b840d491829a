# The two commands of the README, and what developers call besides. Each target does all the set-up that it needs.

# One shared target folder outside the checkout: RocksDB is compiled once per machine, whichever checkout builds it.
CACHE_HOME := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)
export CARGO_TARGET_DIR ?= $(CACHE_HOME)/springbloom/target

# Where the demo keeps its databases while it runs.
DEMO_DIR ?= $(CACHE_HOME)/springbloom/demo

# Where the tables of docs/benchmarks.md go that are measured again.
BENCHMARKS_DIR ?= $(CACHE_HOME)/springbloom/benchmarks

.PHONY: demo test attack build build-all setup lint sanitize fuzz benchmarks crashtest crashtest-short rocksdb-tests

demo: build
	@mkdir -p $(DEMO_DIR)
	@$(CARGO_TARGET_DIR)/release/springbloom compare --preset small --dir $(DEMO_DIR)/databases --reuse

test: build-all lint
	@cargo test --release --locked --workspace
	@scripts/crashtest --short

build: setup
	@scripts/build

build-all:
	@scripts/setup --all
	@scripts/build --all

setup:
	@scripts/setup

lint: build-all
	@cargo fmt --all --check
	@cargo clippy --release --locked --workspace --all-targets -- -D warnings
	@cargo clippy --release --locked --manifest-path fuzz/Cargo.toml -- -D warnings

# What `make test` does for the structures on flash, and much longer: kills, power losses, damage, full disks, hot keys.
attack: setup
	@scripts/attack

# TABLES="s1 shamba": these alone.
benchmarks: build
	@scripts/benchmarks $(BENCHMARKS_DIR) $(TABLES)

sanitize: setup
	@scripts/sanitize

fuzz: setup
	@scripts/fuzz

# MODES="txn whitebox": these alone. DURATION: seconds for each. SPRINGBLOOM_SEED repeats one.
crashtest: build
	@scripts/crashtest $(MODES)

crashtest-short:
	@scripts/crashtest --short $(MODES)

# TESTS="db_basic_test db_wal_test:DBWALTest.*": these alone.
rocksdb-tests: build
	@scripts/rocksdb-tests $(TESTS)
