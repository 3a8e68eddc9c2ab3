#!/bin/sh
# Becomes process 1 of a node: builds the node's root, waits for its network card, and ends as the node's sshd.
# It runs in the node's own namespaces, but at first still sees the host's root.
#
#   node-init.sh TAG CLUSTER NODE DIR ADDRESS ROOT DATA STATE_ROOT
#
# TAG       harness-node:CLUSTER:NODE, by which the process is recognised
# DIR       the node's directory on the host, with upper/ mounted there (a tmpfs) and data.img
# ADDRESS   the node's address with its prefix length
# ROOT      overlay, or assembled if the kernel has no overlay filesystem
# DATA      ext4 or xfs (on data.img), or tmpfs if there are no loop devices
#
# Descriptor 3 reports our process id as the host sees it, and "up" once the network works.  Standard input says "go"
# once the network card has been added; if it ends instead, the harness is gone, and this script exits.
set -eu
tag=$1 cluster=$2 node=$3 dir=$4 address=$5 root_kind=$6 data_kind=$7 state_root=$8
root=$dir/root

read -r pid rest </proc/self/stat # /proc is still the host's
echo "$pid" >&3

if [ "$root_kind" = overlay ]; then
    mount -t overlay "$tag" -o "lowerdir=/,upperdir=$dir/upper/root,workdir=$dir/upper/work" "$root"
    # An overlay shows only one filesystem, so directories on other filesystems are mounted as they are.
    for path in /usr /usr/local /opt; do
        if mountpoint -q "$path"; then mount -o bind,ro "$path" "$root$path"; fi
    done
else
    mount --bind "$dir/upper/root" "$root"
    cp -an /etc/. "$root/etc/"
    for path in /bin /sbin /lib /lib32 /lib64 /libx32 /usr /opt; do
        if [ -L "$path" ]; then
            cp -P "$path" "$root$path"
        elif [ -d "$path" ]; then
            mkdir -p "$root$path"
            mount -o bind,ro "$path" "$root$path"
        fi
    done
    mkdir -p "$root/proc" "$root/sys" "$root/dev" "$root/run" "$root/tmp" "$root/root" "$root/var/lib" "$root/var/log"
    ln -s /run "$root/var/run"
fi

mkdir -p "$root/data"
if [ "$data_kind" = tmpfs ]; then
    mount -t tmpfs -o size=2g data "$root/data"
else
    tries=0
    # Another node may take the loop device after we have found it free and before we take it.
    until mount -t "$data_kind" -o loop,noatime "$dir/data.img" "$root/data"; do
        tries=$((tries + 1))
        [ "$tries" -lt 20 ]
        sleep 0.05
    done
fi

# Hide the clusters' keys and logs from the node, and the files of this machine's users.
if [ -d "$root$state_root" ]; then mount -t tmpfs -o size=64k,mode=700 hidden "$root$state_root"; fi
if [ -d "$root/home" ]; then mount -t tmpfs -o size=64k,mode=755 hidden "$root/home"; fi
mount -t tmpfs -o size=64m,mode=700 hidden "$root/root"

mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
# The processes of a role are found by their control group, or by weaker means without one (nemesis/core/roles.py).
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup" || true
mount -t tmpfs -o mode=755,size=64k dev "$root/dev"
for device in null zero full random urandom tty fuse loop-control; do
    if [ -e "/dev/$device" ]; then
        : >"$root/dev/$device"
        mount --bind "/dev/$device" "$root/dev/$device"
    fi
done
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
# Programs open these by name: without them, nft of Ubuntu 24.04 cannot read its rules.
ln -s /proc/self/fd/0 "$root/dev/stdin"
ln -s /proc/self/fd/1 "$root/dev/stdout"
ln -s /proc/self/fd/2 "$root/dev/stderr"
mount -t tmpfs -o mode=1777,size=256m shm "$root/dev/shm"
mount -t tmpfs -o mode=755,size=64m run "$root/run"
mkdir "$root/run/sshd" "$root/run/lock"
mount -t tmpfs -o mode=1777,size=512m tmp "$root/tmp"

echo "$node" >/proc/sys/kernel/hostname

read -r go
[ "$go" = go ]
ip -batch - <<END
link set lo up
addr add $address dev eth0
link set eth0 up
END

cd "$root"
mkdir -p .host
pivot_root . .host
cd /
umount -l /.host
echo up >&3
exec 3>&- </dev/null
# No fault and no system needs these, and each of them reaches beyond the node.  Faults do need mounts, devices, packet
# filters and other processes' memory: with those a program can leave the node, which is no sandbox.
beyond=-sys_module,-sys_rawio,-sys_boot,-sys_time,-syslog,-mac_admin,-mac_override,-audit_control,-audit_read
beyond=$beyond,-sys_pacct,-sys_tty_config,-wake_alarm,-block_suspend,-linux_immutable,-lease,-perfmon,-bpf
exec setpriv --bounding-set "$beyond" --inh-caps "$beyond" \
    /usr/sbin/sshd -D -e -f "/etc/harness/$cluster/$node/sshd_config"
