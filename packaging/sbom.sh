#!/bin/sh
# Writes the list of what a binary is built from, for CycloneDX: sbom.sh TARGET DIRECTORY. Needs cargo-cyclonedx.
set -eu

[ $# = 2 ] || { echo 'usage: sbom.sh TARGET DIRECTORY' >&2; exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$2"
to=$(cd "$2" && pwd)
cd "$root"
# The date is always the same one, as are the names of directories: equal sources have equal lists.
SOURCE_DATE_EPOCH=0 cargo cyclonedx --quiet --format json --spec-version 1.5 --describe binaries --target "$1"
sed "s|path+file://$root|path+file:///ralph|g" ralph_bin.cdx.json >"$to/ralph-$1.cdx.json"
rm -f ralph_bin.cdx.json fake-agent_bin.cdx.json
