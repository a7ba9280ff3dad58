#!/bin/bash
# Builds fp4check and the conformance runner for aarch64 below BUILD with the Debian cross compiler. The Arm libraries are unpacked into
# build/aarch64-sysroot from their Debian packages, through an apt state of its own: the system's architectures stay as they are.
# usage: tests/aarch64-build.sh OPT BUILD; exit 77 when this machine cannot do it, with the reason.
set -eu
cd "$(dirname "$0")/.."
opt=$1
build=$2
root=$PWD/build/aarch64-sysroot
skip() { echo "aarch64: skipped: $*"; exit 77; }
command -v aarch64-linux-gnu-gcc >/dev/null || skip "no aarch64-linux-gnu-gcc"
command -v qemu-aarch64-static >/dev/null || skip "no qemu-aarch64-static"
if [ ! -e "$root/done" ]; then
    command -v apt-get >/dev/null || skip "no apt-get to fetch the Arm libraries with"
    rm -rf "$root"
    mkdir -p "$root/lists/partial" "$root/cache/archives/partial"
    apt=(apt-get -q -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o APT::Sandbox::User=root
         -o "Dir::State::Lists=$root/lists" -o "Dir::Cache=$root/cache")
    if ! (cd "$root" && "${apt[@]}" update && "${apt[@]}" download libcjson1 libcjson-dev libxxhash-dev libzstd-dev) >"$root/log" 2>&1; then
        tail -n 3 "$root/log"
        skip "the Arm libraries cannot be fetched"
    fi
    for deb in "$root"/*.deb; do dpkg -x "$deb" "$root"; done
    touch "$root/done"
fi
lib=$root/usr/lib/aarch64-linux-gnu
make --no-print-directory -j2 WERROR=0 CC=aarch64-linux-gnu-gcc AR=aarch64-linux-gnu-ar OPT="$opt" BUILD="$build" CUDA=0 \
    DEP_CFLAGS="-I$root/usr/include" DEP_LIBS="-L$lib -lcjson -l:libxxhash.a -l:libzstd.a" LDFLAGS="-Wl,-rpath,$lib" \
    "$build/fp4check" "$build/tests/conformance"
cat >"$build/run" <<EOF
#!/bin/sh
# Runs an aarch64 program of this folder under qemu.
exec qemu-aarch64-static -L /usr/aarch64-linux-gnu "\$@"
EOF
chmod +x "$build/run"
