#!/bin/sh
# Rebuilds the dedupe workload from real data: SHA-1 digests of the chunks of successive versions of the Linux kernel's source,
# as packaged by Debian, in the order of a full backup of each version.
#
# usage: dedupe_keys.sh OUTPUT [VERSION...]      e.g. dedupe_keys.sh /tmp/keys 6.1.170-3 6.1.176-1 6.1.187-1
#
# Without versions, all that `apt` knows are taken, oldest first. Packages are checked against the archive's signed
# checksums by apt. Then: SPRINGBLOOM_DEDUPE_KEYS=OUTPUT cargo bench -p springbloom-flash --bench flash_filter -- mixes
set -eu
output=$(realpath "$1")
shift
package=linux-source-6.1
[ $# -gt 0 ] || set -- $(apt-cache madison $package | awk '{ print $3 }' | sort -uV)
cargo build --release -p springbloom-flash --example chunk_keys
chunk_keys=${CARGO_TARGET_DIR:-target}/release/examples/chunk_keys
chunk_keys=$(realpath "$chunk_keys")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
: > "$output"
for version; do
    (cd "$folder" && apt-get download "$package=$version")
    dpkg-deb --fsys-tarfile "$folder"/*.deb | tar -xO --wildcards './usr/src/linux-source-*.tar.xz' | xz -dc |
        "$chunk_keys" 2048 >> "$output"
    rm "$folder"/*.deb
done
echo "$(($(wc -c < "$output") / 20)) chunks"
