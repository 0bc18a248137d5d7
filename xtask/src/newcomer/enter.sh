# Runs a command line in a root of its own: enter.sh ROOT TOOLCHAIN COMMAND. We are in private namespaces.
set -eu
root=$1 toolchain=$2 command=$3
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount --rbind /sys/fs/cgroup "$root/sys/fs/cgroup"
mount -t tmpfs -o mode=0755 tmpfs "$root/dev"
for node in null:3 zero:5 full:7 random:8 urandom:9; do
    mknod -m 666 "$root/dev/${node%:*}" c 1 "${node#*:}"
done
mknod -m 666 "$root/dev/tty" c 5 0
mkdir -m 1777 "$root/dev/shm"
mkdir "$root/dev/pts"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
ln -s fd/0 "$root/dev/stdin"
ln -s fd/1 "$root/dev/stdout"
ln -s fd/2 "$root/dev/stderr"
mkdir -p "$root/opt/rust"
mount --bind -o ro "$toolchain" "$root/opt/rust"
# Sandboxes pivot, which a chroot does not allow.
cd "$root"
mkdir -p old
pivot_root . old
umount -l /old
rmdir /old
cd /root/blastradius
# Not in our place: the first process of a machine reaps what others leave, as a shell does that waits.
env -i HOME=/root USER=root LOGNAME=root SHELL=/bin/bash LANG=C.UTF-8 CI=true \
    PATH=/opt/rust/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    bash -c "$command" < /dev/null
