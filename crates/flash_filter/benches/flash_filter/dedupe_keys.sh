#!/usr/bin/env bash
# Rebuilds the dedupe workload from real data: SHA-1 digests of the chunks (FastCDC, 2 KiB on average) of successive versions of the
# Linux kernel's source, in the order of a full backup of each version, 20 bytes per chunk.
#
#   dedupe_keys.sh OUTPUT FOLDER [COUNT]      e.g. dedupe_keys.sh /tmp/keys /tmp/kernels 3
#
# The COUNT (default 3) oldest versions that apt knows are fetched into FOLDER by scripts/fetch-kernels, some 140 MB each; what is there
# already is checked and used. Then: SPRINGBLOOM_DEDUPE_KEYS=OUTPUT cargo bench -p springbloom-flash-filter --bench flash_filter -- mixes
set -euo pipefail
output=$(realpath "${1:?usage: dedupe_keys.sh OUTPUT FOLDER [COUNT]}")
folder=$(realpath "${2:?usage: dedupe_keys.sh OUTPUT FOLDER [COUNT]}")
count=${3:-3}
cd "$(dirname "$0")/../../../.."

cargo build --release --locked --quiet -p springbloom-flash-index --example chunk_keys
chunk_keys=$(cargo metadata --format-version 1 --no-deps --locked | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/release/examples/chunk_keys
scripts/fetch-kernels "$folder" "$count"
trap 'rm -f "$output.part"' EXIT
: > "$output.part"
awk '{ print $2 }' "$folder/SHA256SUMS" | head -n "$count" | while read -r tar; do
  xz -dc "$folder/$tar" | "$chunk_keys" 2048 >> "$output.part"
done
mv "$output.part" "$output"
chunks=$(($(stat -c %s "$output") / 20))
distinct=$(xxd -p -c 20 "$output" | sort -u | wc -l)
echo "$chunks chunks, $distinct distinct: $(awk "BEGIN { printf \"%.2f\", ($chunks - $distinct) / $distinct }") repetitions per new chunk" >&2
