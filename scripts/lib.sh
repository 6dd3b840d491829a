# What scripts share, for the others to begin with: . "$(dirname "$0")/lib.sh"
# They run in the root of the repository, build into one folder (CARGO_TARGET_DIR), and stop at the first error.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/springbloom/target}

say() { printf '%s: %s\n' "${0##*/}" "$*"; }
fail() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }
# make_folder NAME: $folder, which goes away with the script.
make_folder() {
  folder=$(mktemp -d "${TMPDIR:-/tmp}/springbloom-$1.XXXXXX")
  trap 'rm -rf "$folder"' EXIT
}
# quietly COMMAND...: prints what the command printed if it fails. Needs $folder.
quietly() { "$@" >"$folder/log" 2>&1 || { cat "$folder/log" >&2; fail "failed: $*"; }; }
