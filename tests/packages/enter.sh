# Runs commands in a root of its own: enter.sh ROOT COMMANDS. We are in private namespaces.
set -eu
root=$1
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t tmpfs -o mode=0755 tmpfs "$root/dev"
for node in null:3 zero:5 full:7 random:8 urandom:9; do
    mknod -m 666 "$root/dev/${node%:*}" c 1 "${node#*:}"
done
ln -s /proc/self/fd "$root/dev/fd"
mkdir -m 1777 "$root/dev/shm"
# Sandboxes pivot, which a chroot does not allow.
cd "$root"
mkdir -p old
pivot_root . old
umount -l /old
rmdir /old
exec env -i HOME=/root USER=root LOGNAME=root SHELL=/bin/sh LANG=C.UTF-8 \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    sh -euc "$2" </dev/null
