#!/bin/sh
# fresh.sh -- the README's two commands on a bare system
#
#     tools/fresh.sh [SUITE]
#
# Builds a minimal Debian with git and make and nothing else, clones the last commit of
# this checkout into it, and runs 'make demo' and 'make test' there as root (SUITE
# restricts the tests). So what bootstrap.sh forgets to install shows. It takes about an
# hour of two cores, and needs root, debootstrap and a network. FRESH_RELEASE names the
# release (bookworm), FRESH_MIRROR where it comes from, FRESH_DIR where the system goes
# (a new folder, 6 GiB): it is deleted if all went well.
set -eu
cd "$(dirname "$0")/.."

release=${FRESH_RELEASE:-bookworm}
mirror=${FRESH_MIRROR:-http://deb.debian.org/debian}

give_up() {
    echo "fresh.sh: $1" >&2
    exit 1
}

[ "$(id -u)" = 0 ] || give_up "a system can be built by root only."
PATH="$PATH:/sbin:/usr/sbin"
for command in debootstrap unshare chroot git; do
    command -v "$command" >/dev/null || give_up "$command is missing."
done
[ -z "$(git status --porcelain --untracked-files=no)" ] ||
    echo "fresh.sh: what is not committed is left out" >&2

if [ -n "${FRESH_DIR:-}" ]; then
    root=$FRESH_DIR
    mkdir "$root"
else
    root=$(mktemp -d "${TMPDIR:-/tmp}/fresh.XXXXXX")
fi
echo "fresh.sh: $release from $mirror in $root"
debootstrap --variant=minbase --include=git,make "$release" "$root" "$mirror" \
    >"$root.log" 2>&1 || {
    tail "$root.log" >&2
    give_up "debootstrap failed: $root.log"
}

# How this machine reaches the network: names, proxies, certificates, package indices.
for file in /etc/resolv.conf /etc/hosts /etc/pip.conf \
        /etc/ssl/certs/ca-certificates.crt; do
    [ ! -e "$file" ] || { mkdir -p "$root${file%/*}" && cp "$file" "$root$file"; }
done
# A package that is installed on the way writes the list of certificates anew.
ours=/usr/local/share/ca-certificates
[ ! -d "$ours" ] || { mkdir -p "$root$ours" && cp -RL "$ours/." "$root$ours"; }
git clone --quiet --no-local . "$root/checkout"

# Mounts are seen by the commands below only, and end with them. The environment is that
# of a new login.
cat >"$root/readme.sh" <<END
set -e
cd /checkout
make demo
make test SUITE=${1:-}
END
network=$(env | grep -E '^(https?|no)_proxy=' || true)
status=0
unshare --mount --propagation private sh -c '
    mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" &&
    exec chroot "$1" /usr/bin/env -i HOME=/home TERM=dumb LANG=C.UTF-8 \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        $2 sh /readme.sh' sh "$root" "$network" || status=$?
[ "$status" = 0 ] || give_up "it failed; the system is left in $root"
rm -rf "$root" "$root.log"
echo "fresh.sh: both commands work on a bare $release"
