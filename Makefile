# The commands of the README, then those for developers. Each target installs and builds what it needs.

# One target folder outside the checkout: RocksDB is compiled once per machine, whichever checkout builds it.
CACHE_HOME := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)
export CARGO_TARGET_DIR ?= $(CACHE_HOME)/springbloom/target

# Databases of the demo.
DEMO_DIR ?= $(CACHE_HOME)/springbloom/demo

# Libraries that need no RocksDB.
LIBRARIES := $(addprefix -p springbloom-,filter format index manager host-core)
# These and the others that need no RocksDB.
WITHOUT_ROCKSDB := $(LIBRARIES) $(addprefix -p springbloom-,console testkit workload simulator records experiments)

.PHONY: demo program test check leveldb slatedb flash attack chaos build build-all setup lint msrv deny sanitize fuzz crashtest crashtest-short rocksdb-tests package dist test-dist \
  test-releases test-processors jvm test-jvm jvm-soak jvm-compare jvm-url-frontier setup-jvm

demo:
	@DEMO_DIR=$(DEMO_DIR) scripts/demo

# The program in one file that runs on any Linux of this processor.
program:
	@scripts/program --static

# The core and the hosts of RocksDB. `.ci/run` also tests the wings. The libraries' tests run once, with what debug builds check.
test: build-all lint
	@cargo test --release --locked --workspace $(LIBRARIES:-p=--exclude)
	@cargo test --profile checked --locked $(LIBRARIES)
	@scripts/test-readme
	@scripts/test-core-library
	@scripts/program --static
	@scripts/crashtest --short

# The tests of a wing, which needs no RocksDB.
leveldb:
	@hosts/leveldb/test

slatedb:
	@hosts/slatedb/test

flash:
	@scripts/setup --all
	@$(MAKE) --no-print-directory -C flash test

# For the daily loop: some minutes. `make test` has the rest.
check:
	@scripts/setup --all
	@cargo fmt --all --check
	@cargo clippy --release --locked $(LIBRARIES) -p springbloom-rocksdb -- -D warnings
	@cargo test --release --locked --lib $(LIBRARIES)
	@cargo test --release --locked -p springbloom-rocksdb --test features -- --skip auto_budget --skip warm_restart
	@cargo test --release --locked -p springbloom-rocksdb --test alone -- outage:: shared_cache::
	@cargo test --release --locked -p springbloom --test documents --test usage --test architecture

build: setup
	@scripts/build

# The libraries' tests are built with what debug builds check (`make test`).
build-all:
	@scripts/setup --all
	@scripts/build --all $(LIBRARIES:-p=--exclude)

setup:
	@scripts/setup

lint: build-all
	@cargo fmt --all --check
	@cargo clippy --release --locked --workspace --all-targets -- -D warnings
	@cargo clippy --release --locked --manifest-path fuzz/Cargo.toml -- -D warnings
	@DOCS_RS=1 cargo clippy --release --locked --quiet --manifest-path hosts/rust-rocksdb/Cargo.toml --all-targets -- -D warnings
	@RUSTDOCFLAGS=-Dwarnings cargo doc --quiet --no-deps --release --locked --workspace
	@scripts/check-cpp-format
	@scripts/check-operations
	@scripts/check-releases 8.10.0 11.12.0

# The oldest Rust that works. Skipped where it is not installed. `make lint` refuses newer parts of the standard library in either case.
msrv:
	@scripts/msrv $(WITHOUT_ROCKSDB)
	@$(MAKE) --no-print-directory -C flash msrv

# Licences, sources and known defects of all dependencies. Needs the network.
deny:
	@command -v cargo-deny >/dev/null || cargo install --locked cargo-deny
	@cargo deny --locked check
	@cargo deny --locked --manifest-path flash/Cargo.toml check --config deny.toml

# The attacks of `make flash`, for half an hour: kills, power losses, damage, full disks, hot keys.
attack: setup
	@flash/scripts/attack

# Outages, resizes of a strict cache, budgets, stores that come and go, in step with stock filters. Half an hour, or SECONDS.
# SPRINGBLOOM_SEED: repeats a run.
chaos: build
	@SPRINGBLOOM_CHAOS_SECONDS=$(or $(SECONDS),1800) cargo test --release --locked -p springbloom-rocksdb --test alone chaos -- --nocapture

sanitize: setup
	@scripts/sanitize

fuzz: setup
	@scripts/fuzz

# MODES="txn whitebox": only these. FLAVOURS="release": only this build. DURATION: seconds for each mode in each build. SPRINGBLOOM_SEED: repeats a run.
crashtest: build
	@scripts/crashtest $(MODES)

crashtest-short:
	@scripts/crashtest --short $(MODES)

# TESTS="db_basic_test db_wal_test:DBWALTest.*": only these.
rocksdb-tests: build
	@scripts/rocksdb-tests $(TESTS)

# The host's tests on RocksDB 8.10.0, 10.1.3 and 11.12.0, which are compiled with assertions: half an hour the first time; and on 9.7.3 and
# 10.4.2 out of RocksJava's jars.
test-releases: setup-jvm
	@scripts/test-releases

# On other processors, emulated.
test-processors:
	@scripts/test-processors

# What users install without Rust, in dist/: programs, C++ library, wheel, jars. Needs Debian and the network.
dist: setup
	@scripts/dist

# Installs all of dist/ in empty systems of Debian 12 and 13. Needs root and the network.
test-dist:
	@scripts/test-dist

# Packages of all crates that are published, checked away from the checkout.
package: build
	@scripts/package

# Puts the artifacts for Java into Maven's local repository.
jvm: setup-jvm
	@mvn -B -q -ntp -f hosts/jvm/pom.xml install -DskipTests

# Tests of the artifacts for Java. The first time Maven fetches jars of some hundred megabytes. TESTS=FlinkTest runs some alone.
test-jvm: setup-jvm
	@mvn -B -ntp -f hosts/jvm/pom.xml verify $(if $(TESTS),-Dtest=$(TESTS) -Dsurefire.failIfNoSpecifiedTests=false)

# Ten minutes with each jar, or SECONDS.
jvm-soak: setup-jvm
	@mvn -B -ntp -f hosts/jvm/pom.xml -pl rocksdbjni verify -Dtest=SoakTest -Dsoak.seconds=$(or $(SECONDS),600)

# Reads and times of Kafka Streams with stock filters and with elastic ones, at three sizes of memory.
jvm-compare: setup-jvm
	@mvn -B -q -ntp -f hosts/jvm/pom.xml -pl kafka-streams -am verify -Dtest=ComparisonRun -Dsurefire.failIfNoSpecifiedTests=false

# The table of docs/guide-jvm.md: the store of a crawler's frontier.
jvm-url-frontier: setup-jvm
	@mvn -B -q -ntp -f hosts/jvm/pom.xml -pl rocksdbjni verify -Dtest=UrlFrontierRun

setup-jvm:
	@scripts/setup --jvm
