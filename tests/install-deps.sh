#!/bin/sh
# Installs those of the named Debian packages that are not there yet; does nothing, quickly, when all are.
set -eu
missing=
for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
if ! command -v apt-get >/dev/null; then
    echo "needed packages (names as on Debian):$missing" >&2
    echo "apt-get is not here; install them by hand" >&2
    exit 1
fi
sudo=
[ "$(id -u)" = 0 ] || sudo=sudo
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { $sudo apt-get update -q && $sudo apt-get install -y -q --no-install-recommends $missing; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    exit 1
fi
