#!/usr/bin/env bash
# Takes xterm.js from npm into this directory, or with --check compares what is here with what npm has.
#
# The package is the pinned one or none: its hash is compared before anything is unpacked.
set -euo pipefail
cd "$(dirname "$0")"

package=@xterm/xterm@6.0.0
integrity=sha512-TQwDdQGtwwDt+2cgKDLn0IRaSxYu1tSUjgKarSDkUM0ZNiSRXFpjxEsvc/Zgc5kq5omJ+V0a8/kIM2WD3sMOYg==
# Ours on the left, the package's on the right.
files=(xterm.mjs=lib/xterm.mjs xterm.css=css/xterm.css xterm.LICENSE=LICENSE)

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
archive=$scratch/$(npm pack "$package" --pack-destination "$scratch" --silent)
found=sha512-$(node -e 'process.stdout.write(require("crypto").createHash("sha512").update(require("fs").readFileSync(process.argv[1])).digest("base64"))' "$archive")
if [ "$found" != "$integrity" ]; then
  echo "$package is not the pinned one: $found" >&2
  exit 1
fi
tar -xzf "$archive" -C "$scratch"
for file in "${files[@]}"; do
  case ${1:-} in
    --check) cmp "${file%=*}" "$scratch/package/${file#*=}" ;;
    *) cp "$scratch/package/${file#*=}" "${file%=*}" && chmod 644 "${file%=*}" ;;
  esac
done
