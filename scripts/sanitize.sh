#!/usr/bin/env bash
# Runs the manager's tests and a shortened oracle, features, corruption and soak of the RocksDB host under sanitizers:
# scripts/sanitize.sh [address|thread]..., default both. Needs a nightly toolchain with rust-src, and clang.
#
# RocksDB, the host's C++, Rust's standard library and our Rust are all instrumented: with a part of them, the thread sanitizer would report
# false races. RocksDB's own assertions are on, as in its debug builds. RocksDB is compiled once per sanitizer (20 minutes and more), into
# a folder of its own. Interrupted runs resume through ccache, if it is installed. SANITIZE_JOBS: compilers at a time.
# SPRINGBLOOM_ORACLE_OPS, SPRINGBLOOM_SOAK_SECONDS: longer runs.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'sanitize: %s\n' "$*"; }
fail() { printf 'sanitize: %s\n' "$*" >&2; exit 2; }

command -v clang++ >/dev/null || fail "clang++ is needed: its sanitizers match rustc's"
rustup run nightly rustc -V >/dev/null 2>&1 || fail "a nightly toolchain is needed; run: rustup toolchain install nightly"
[ -d "$(rustc +nightly --print sysroot)/lib/rustlib/src/rust/library" ] || rustup component add rust-src --toolchain nightly

host=$(rustc +nightly -vV | sed -n 's/^host: //p')
host_variable=${host//-/_}
jobs=${SANITIZE_JOBS:-$(nproc)}
launcher=$(command -v ccache || true)
export SPRINGBLOOM_ORACLE_OPS=${SPRINGBLOOM_ORACLE_OPS:-48000}
export SPRINGBLOOM_SOAK_SECONDS=${SPRINGBLOOM_SOAK_SECONDS:-40}
# The compiler's wrapper script has another date in each checkout, and the same contents.
export CCACHE_COMPILERCHECK=content
export ASAN_OPTIONS="detect_stack_use_after_return=1:strict_init_order=1:check_initialization_order=1"
export TSAN_OPTIONS="halt_on_error=0:history_size=4:second_deadlock_stack=1:suppressions=$PWD/scripts/tsan.suppressions"

run() {
  local sanitizer=$1
  local rustflags="-Zsanitizer=$sanitizer -Ctarget-cpu=x86-64-v3 -Ctarget-feature=+pclmulqdq"
  # With this flag crossbeam avoids fences, which the thread sanitizer does not understand.
  [ "$sanitizer" = thread ] && rustflags+=" --cfg crossbeam_sanitize_thread"
  local cflags="-fsanitize=$sanitizer -fno-omit-frame-pointer -gline-tables-only"
  local cargo=(
    env "CC=${launcher:+$launcher }clang" "CXX=${launcher:+$launcher }$PWD/scripts/asserting-clang++" "CFLAGS_$host_variable=$cflags" "CXXFLAGS_$host_variable=$cflags" RUSTFLAGS="$rustflags"
    CARGO_TARGET_DIR="${SPRINGBLOOM_CACHE:-$HOME/.cache/springbloom}/sanitize-$sanitizer"
    CARGO_PROFILE_RELEASE_OPT_LEVEL="${CARGO_PROFILE_RELEASE_OPT_LEVEL:-1}" CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS=true
    cargo +nightly test -Zbuild-std --target "$host" --release --locked --no-fail-fast --jobs "$jobs"
  )
  say "$sanitizer: the manager"
  "${cargo[@]}" -p springbloom-manager --lib --tests || findings+=("$sanitizer: the manager")
  say "$sanitizer: the RocksDB host (RocksDB itself is compiled at the first run)"
  "${cargo[@]}" -p springbloom-rocksdb --test corruption --test digests --test features --test oracle --test soak -- \
    --skip optimistic_transactions || findings+=("$sanitizer: the RocksDB host")
  # The commit of an optimistic transaction in RocksDB holds more locks at a time than the deadlock detector can track.
  TSAN_OPTIONS+=:detect_deadlocks=0 "${cargo[@]}" -p springbloom-rocksdb --test features optimistic_transactions ||
    findings+=("$sanitizer: optimistic transactions")
}

if [ $# -eq 0 ]; then
  set -- address thread
fi
findings=()
for sanitizer in "$@"; do
  case $sanitizer in
    address | thread) run "$sanitizer" ;;
    *) fail "unknown sanitizer $sanitizer, expected address or thread" ;;
  esac
done
[ ${#findings[@]} -eq 0 ] || fail "findings, see above: $(printf '%s; ' "${findings[@]}")"
say "no findings"
