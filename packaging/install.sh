#!/bin/sh
# Installs ralph from the archives of a release: downloads the one for this machine, compares it with SHA256SUMS, and puts the binary
# into ~/.local/bin. Nothing is installed unless the sums agree. `ralph completions` and `ralph man` print the rest.
#
#   RALPH_INSTALL_DIR   where the binary goes [default: ~/.local/bin]
#   RALPH_VERSION       a version like 1.2.3 [default: the latest]
#   RALPH_DOWNLOAD_URL  where the archives are [default: the releases of the repository below]
set -eu

# To be filled in with OWNER/REPOSITORY before the first release.
repository=

fail() {
  printf 'error: %s\n' "$1" >&2
  [ -z "${2:-}" ] || printf 'hint: %s\n' "$2" >&2
  exit 1
}

target() {
  case "$(uname -s) $(uname -m)" in
    "Linux x86_64" | "Linux amd64") echo x86_64-unknown-linux-musl ;;
    "Linux aarch64" | "Linux arm64") echo aarch64-unknown-linux-musl ;;
    "Darwin x86_64") echo x86_64-apple-darwin ;;
    "Darwin arm64") echo aarch64-apple-darwin ;;
    *) fail "there is no archive for $(uname -s) on $(uname -m)" "with Rust, in a checkout: cargo install --locked --path ." ;;
  esac
}

address() {
  if [ -n "${RALPH_DOWNLOAD_URL:-}" ]; then
    echo "${RALPH_DOWNLOAD_URL%/}"
  elif [ -z "$repository" ]; then
    fail "this script does not know where the releases are" "set RALPH_DOWNLOAD_URL to the address of the archives"
  elif [ -n "${RALPH_VERSION:-}" ]; then
    echo "https://github.com/$repository/releases/download/v${RALPH_VERSION#v}"
  else
    echo "https://github.com/$repository/releases/latest/download"
  fi
}

download() {
  if command -v curl >/dev/null 2>&1; then
    curl --fail --silent --show-error --location --proto '=https,http' --output "$2" "$1"
  elif command -v wget >/dev/null 2>&1; then
    wget -q -O "$2" "$1"
  else
    fail "neither curl nor wget is installed" "install one of them"
  fi || fail "$1 cannot be downloaded" "look at the address and at the network, then run this again"
}

sum() {
  if command -v sha256sum >/dev/null 2>&1; then
    sha256sum "$1"
  elif command -v shasum >/dev/null 2>&1; then
    shasum -a 256 "$1"
  else
    fail "neither sha256sum nor shasum is installed" "install one of them: nothing is installed unverified"
  fi | cut -d ' ' -f 1
}

# All of it is read before any of it runs: a download that was cut short does nothing.
main() {
  target=$(target)
  address=$(address)
  archive=ralph-$target.tar.gz
  directory=${RALPH_INSTALL_DIR:-${HOME:?is not set}/.local/bin}
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  trap 'exit 130' INT TERM

  download "$address/SHA256SUMS" "$scratch/SHA256SUMS"
  download "$address/$archive" "$scratch/$archive"
  expected=$(sed -n "s/^\([0-9a-f]\{64\}\)  *\**$archive\$/\1/p" "$scratch/SHA256SUMS")
  [ -n "$expected" ] || fail "SHA256SUMS does not name $archive" "nothing was installed"
  actual=$(sum "$scratch/$archive")
  [ "$expected" = "$actual" ] ||
    fail "$archive is not what SHA256SUMS says: expected $expected, got $actual" "nothing was installed; do not use this archive"

  tar -xzf "$scratch/$archive" -C "$scratch"
  "$scratch/ralph-$target/ralph" --version >/dev/null || fail "the binary does not run on this machine" "nothing was installed"
  mkdir -p "$directory"
  # Put in place at once: a ralph that runs keeps the file it was started from.
  cp "$scratch/ralph-$target/ralph" "$directory/.ralph.new"
  chmod 755 "$directory/.ralph.new"
  mv -f "$directory/.ralph.new" "$directory/ralph"
  printf 'installed %s as %s\n' "$("$directory/ralph" --version)" "$directory/ralph"
  case ":$PATH:" in
    *":$directory:"*) ;;
    *) printf 'hint: %s is not on your PATH\n' "$directory" >&2 ;;
  esac
  printf 'next: ralph demo\n'
}

main
