#!/bin/sh
# Turns this machine into a node: installs what the system under test and the faults need, and makes a data filesystem.
# It is the same for every kind of cluster, does only what is missing, and may be run again at any time.
#
#   provision.sh [--data DIR] [--data-size SIZE]
#   provision.sh --no-data                  only the packages, for a machine whose programs namespaces use
#   provision.sh --missing                  only print which packages are missing
#   provision.sh --versions                 only print the versions of the installed packages
#
# Debian 12 or newer, Ubuntu 22.04 or newer; as root, or as a user with sudo.
#
# --data DIR        the node's data directory, /data by default
# --data-size SIZE  size of the filesystem that is made there in a file (2G; 0: a plain directory).  A power cut shuts
#                   the filesystem down without a flush, so it must contain nothing but the data.  If something is
#                   mounted at DIR already, or the directory is not empty, it is left alone.
set -eu

data=/data size=2G image=/var/lib/harness/data.img only= with_data=yes
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

say() { printf 'provision: %s\n' "$*" >&2; }
die() {
    say "$*"
    exit 255
}

while [ $# -gt 0 ]; do
    case $1 in
        --missing | --versions) only=$1 ;;
        --no-data) with_data=no ;;
        --data | --data-size)
            [ $# -ge 2 ] || die "$1 needs a value"
            case $1 in --data) data=$2 ;; *) size=$2 ;; esac
            shift
            ;;
        *) die "unknown option $1; known are --data DIR, --data-size SIZE, --no-data, --missing, --versions" ;;
    esac
    shift
done

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n -- "$@"; fi; }

# -- packages --------------------------------------------------------------------------------------------------------

has() { command -v "$1" >/dev/null 2>&1; }

available() { [ -n "$(apt-cache policy "$1" 2>/dev/null | sed -n 's/^  Candidate: \([0-9].*\)/\1/p')" ]; }

java_major() { java -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1; }

has_java() {
    has java || return 1
    major=$(java_major)
    [ "${major:-0}" -ge 17 ]
}

java_package() { if available openjdk-17-jre-headless; then echo openjdk-17-jre-headless; else echo default-jre-headless; fi; }

has_faketime() {
    for library in /usr/lib/*/faketime/libfaketimeMT.so.1; do [ ! -e "$library" ] || return 0; done
    return 1
}

# The programs that faults, probes and the collection of evidence call, each with its package.
needed='awk=mawk bash=bash dd=coreutils timeout=coreutils fallocate=util-linux setsid=util-linux setpriv=util-linux
unshare=util-linux ip=iproute2 tc=iproute2 iptables=iptables nft=nftables losetup=mount mount=mount umount=mount mkfs.ext4=e2fsprogs
xfs_io=xfsprogs ps=procps python3=python3 sshd=openssh-server tar=tar hostname=hostname'

missing() {
    for pair in $needed; do
        has "${pair%%=*}" || echo "${pair#*=}"
    done
    has_faketime || echo libfaketime
    has_java || java_package
}

versions() {
    java=$(dpkg-query -S "$(readlink -f "$(command -v java)")" 2>/dev/null | cut -d: -f1)
    # shellcheck disable=SC2046 # lists of words
    dpkg-query -W -f '${db:Status-Abbrev} ${Package} ${Version}\n' libfaketime $java \
        $(for pair in $needed; do echo "${pair#*=}"; done) 2>/dev/null | sed -n 's/^ii *//p' | sort -u
}

# Keep existing configuration files without asking.
apt() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 \
        -o DPkg::Options::=--force-confdef -o DPkg::Options::=--force-confold "$@" >&2
}

install_packages() {
    packages=$(missing | sort -u | tr '\n' ' ')
    [ -n "$packages" ] || return 0
    has apt-get || die "missing: $packages; no apt-get here: install what provides them, then run this again"
    say "apt-get update"
    apt update || die "apt-get update failed; mend what it says above, then run this again"
    # Only now is it known which packages exist.
    packages=$(missing | sort -u | tr '\n' ' ')
    say "installing with apt-get: $packages"
    # shellcheck disable=SC2086 # a list of words
    apt install --no-install-recommends $packages || die "apt-get install $packages failed; mend what it says above"
    left=$(missing | tr '\n' ' ')
    [ -z "$left" ] || die "still missing after the installation: $left; is another java before it in the PATH?"
}

# -- the data filesystem ---------------------------------------------------------------------------------------------

has_loop() { [ -e /dev/loop-control ] || { as_root modprobe loop && [ -e /dev/loop-control ]; } 2>/dev/null; }

is_empty() { [ -z "$(as_root find "$1" -mindepth 1 -not -name lost+found -print -quit)" ]; }

make_data() {
    as_root mkdir -p "$data" "${image%/*}"
    if mountpoint -q "$data"; then return; fi
    if ! grep -qs "^$image " /etc/fstab; then
        if [ "$size" = 0 ] || ! is_empty "$data"; then
            say "$data stays a plain directory: no power cuts and no disk faults on this node"
            return
        fi
        if ! has_loop; then
            say "no loop devices: $data is a plain directory: no power cuts and no disk faults on this node"
            return
        fi
        as_root truncate -s "$size" "$image"
        as_root mkfs.ext4 -q -F "$image"
        echo "$image $data ext4 loop,noatime,nofail 0 0" | as_root tee -a /etc/fstab >/dev/null
    fi
    as_root mount "$data" || die "$data cannot be mounted; see above, and its line in /etc/fstab"
    say "$data is a filesystem of its own, in $image"
}

case $only in
    --missing) missing | sort -u && exit ;;
    --versions) versions && exit ;;
esac
if [ "$(id -u)" != 0 ] && ! { has sudo && sudo -n true; }; then
    die "needs root, or sudo without a password for $(id -un)"
fi
install_packages
if [ $with_data = no ]; then
    say "$(hostname) has what nodes need: java $(java_major)"
    exit
fi
make_data
say "$(hostname) is a node: java $(java_major), data in $data"
