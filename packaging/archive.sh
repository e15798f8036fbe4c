#!/bin/sh
# Makes the archive of a release: archive.sh BINARY TARGET DIRECTORY. The binary has to run on this machine, since it writes its own
# completions and manual pages; RALPH_FOR_PAGES names another one of the same version where it does not. The same binary makes the same
# archive: owners, dates and the order of files are always the same.
set -eu

[ $# = 3 ] || { echo 'usage: archive.sh BINARY TARGET DIRECTORY' >&2; exit 2; }
binary=$1 name=ralph-$2 to=$3
ralph=${RALPH_FOR_PAGES:-$binary}
root=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

mkdir -p "$scratch/$name/completions" "$to"
cp "$binary" "$scratch/$name/ralph"
chmod 755 "$scratch/$name/ralph"
cp "$root/README.md" "$root/CHANGELOG.md" "$root/LICENSE-APACHE" "$root/LICENSE-MIT" "$scratch/$name/"
"$ralph" completions bash >"$scratch/$name/completions/ralph.bash"
"$ralph" completions zsh >"$scratch/$name/completions/_ralph"
"$ralph" completions fish >"$scratch/$name/completions/ralph.fish"
"$ralph" completions elvish >"$scratch/$name/completions/ralph.elv"
"$ralph" completions powershell >"$scratch/$name/completions/_ralph.ps1"
"$ralph" man "$scratch/$name/man/man1" >/dev/null

export TZ=UTC0
case $(tar --version) in
  *GNU*) owner='--owner=0 --group=0' ;;
  *) owner='--uid 0 --gid 0' ;;
esac
cd "$scratch"
chmod -R u=rwX,go=rX "$name"
find "$name" -exec touch -h -t 200001010000 {} +
find "$name" -type f | LC_ALL=C sort >files
# shellcheck disable=SC2086 # two flags
tar $owner --numeric-owner --format=ustar -cf archive.tar -T files
gzip -9 -n <archive.tar >archive.tar.gz
cd "$OLDPWD"
mv "$scratch/archive.tar.gz" "$to/$name.tar.gz"
