#!/bin/sh
# Installs ralph into a development container, as its superuser. The release workflow puts `packaging/install.sh` beside this file
# as `installer.sh`.
set -eu

missing=
for program in curl git; do
  command -v $program >/dev/null || missing="$missing $program"
done
if [ -n "$missing" ]; then
  apt-get update
  # shellcheck disable=SC2086 # one word for each package
  apt-get install --yes --no-install-recommends ca-certificates $missing
fi
[ "${VERSION:-latest}" = latest ] || export RALPH_VERSION="$VERSION"
RALPH_INSTALL_DIR=/usr/local/bin sh "$(dirname "$0")/installer.sh"
# The volume with ralph's state, which outlives the container, begins with this mode. The user's id may change after the
# installation, so nobody owns it yet.
install -d -m 1777 /var/lib/ralph
