#!/bin/sh
# Makes the rest of a release from its archives: assets.sh OWNER/REPOSITORY DIRECTORY. The directory has the archives of all systems,
# and gets their sums, wheels, the Homebrew formula, the installer and the devcontainer feature. Needs GNU's sed, Python and npm.
set -eu

[ $# = 2 ] || { echo 'usage: assets.sh OWNER/REPOSITORY DIRECTORY' >&2; exit 2; }
repository=$1
root=$(cd "$(dirname "$0")/.." && pwd)
version=$(sed -n '0,/^version = /s/^version = "\(.*\)"$/\1/p' "$root/Cargo.toml")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$2"

sha256sum ralph-*.tar.gz >SHA256SUMS
cp "$root/packaging/homebrew/ralph.rb.in" ralph.rb
sed -i "s|@REPOSITORY@|$repository|g; s|@VERSION@|$version|g" ralph.rb
while read -r sum archive; do
  target=${archive#ralph-} target=${target%.tar.gz}
  sed -i "s|@SHA256_$target@|$sum|" ralph.rb
  python3 "$root/packaging/pypi/wheel.py" "$archive" .
done <SHA256SUMS
if grep '@' ralph.rb; then
  echo 'error: an archive is missing' >&2
  exit 1
fi
sed "s|^repository=$|repository=$repository|" "$root/packaging/install.sh" >install.sh

cp -r "$root/packaging/devcontainer/src" "$scratch/src"
cp install.sh "$scratch/src/ralph/installer.sh"
npm exec --yes --package @devcontainers/cli@0.89.0 -- \
  devcontainer features package --output-folder "$scratch/features" "$scratch/src" >&2
mv "$scratch/features/devcontainer-feature-ralph.tgz" .
