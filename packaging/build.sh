#!/bin/sh
# Builds the binary of a release: build.sh TARGET. Two builds by the same compilers are equal bit for bit, wherever the checkout and
# cargo's own files are. Needs cargo-auditable, which writes the list of crates into the binary, and musl-gcc for Linux: TLS has C in it.
set -eu

[ $# = 1 ] || { echo 'usage: build.sh TARGET' >&2; exit 2; }
target=$1
root=$(cd "$(dirname "$0")/.." && pwd)
case $target in
  *-musl) export TARGET_CC="${TARGET_CC:-musl-gcc}" ;;
esac
# What panics say of places in the source would otherwise name directories of this machine.
CARGO_ENCODED_RUSTFLAGS=$(printf '%s\037' \
  "--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo" \
  "--remap-path-prefix=$(rustc --print sysroot)=/rust")--remap-path-prefix=$root=/ralph
export CARGO_ENCODED_RUSTFLAGS
cd "$root"
exec cargo auditable build --profile dist --locked --bin ralph --target "$target"
