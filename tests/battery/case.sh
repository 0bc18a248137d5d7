#!/bin/bash
# Runs one case of incidents.jsonl in a private root and says what is left.
# Usage: unshare --mount --pid --fork --net --propagation private bash case.sh CASE_DIR GUARD...
#   CASE_DIR holds: base setup command uid cwd watch count. It receives: text.json before after before.count after.count
#   output status, and of what `blastradius undo` gave back: undo.output undone undone.count. GUARD is put in front of the case's shell; empty: unguarded;
#   `sandbox`: everything is read-only but the work tree and /tmp. BLASTRADIUS names the binary.
# The real "/" is only an overlay's lower layer; every write lands in a tmpfs and is dropped with the namespace.
# xino: numbers of inodes of two file systems stay apart.
set -u
case_dir=$1; shift
stage=$(mktemp -d)
mount -t tmpfs -o size=256m tmpfs "$stage" || exit 97
mkdir "$stage/upper" "$stage/work" "$stage/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$stage/upper,workdir=$stage/work,xino=on" "$stage/root" || exit 98
root=$stage/root
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/dev"
for node in 'null 1 3' 'zero 1 5' 'full 1 7' 'random 1 8' 'urandom 1 9' 'tty 5 0'; do
  read -r name major minor <<< "$node"; mknod -m 666 "$root/dev/$name" c "$major" "$minor"
done
ln -s /proc/self/fd "$root/dev/fd"; ln -s fd/0 "$root/dev/stdin"; ln -s fd/1 "$root/dev/stdout"; ln -s fd/2 "$root/dev/stderr"
mkdir -m 1777 "$root/dev/shm"
if [ "${BLASTRADIUS_RUNG-}" = kernel ]; then
  # The kernel rung needs what the kernel tells of itself, and finds the programs that a session outside keeps loaded.
  mount --rbind /sys "$root/sys"
fi
rm -rf "$root/home/dev"; mkdir -p "$root/fx"; cp -r "$case_dir/fixtures/." "$root/fx/"
# The account that the cases run as, in a database that holds no other person.
awk -F: '$3 < 1000 || $3 == 65534' /etc/passwd > "$stage/passwd"
echo 'dev:x:1000:1000::/home/dev:/bin/bash' >> "$stage/passwd"; cp "$stage/passwd" "$root/etc/passwd"
cp "$case_dir"/{base,setup,command} "$root/tmp/"
environment=(env -i HOME=/home/dev USER=dev LOGNAME=dev SHELL=/bin/bash LANG=C.UTF-8 GIT_CONFIG_GLOBAL=/dev/null
  PATH=/home/dev/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin)
chroot "$root" "${environment[@]}" bash /tmp/base > "$case_dir/base.log" 2>&1 || exit 96
chroot "$root" "${environment[@]}" bash -c 'cd /home/dev/work/app; . /tmp/setup' > "$case_dir/setup.log" 2>&1
chroot "$root" chown -R 1000:1000 /home/dev > /dev/null 2>&1

state() {
  while IFS= read -r path; do
    case $path in
      '') ;;
      meta:*) echo "$path $(stat -c %u:%g:%a "$root${path#meta:}" 2> /dev/null || echo absent)" ;;
      *) if [ -L "$root$path" ]; then echo "$path link"
         elif [ -d "$root$path" ]; then echo "$path directory"
         elif [ -f "$root$path" ]; then echo "$path $(sha1sum < "$root$path")"
         else echo "$path absent"; fi ;;
    esac
  done < "$case_dir/watch"
}
counts() {
  while IFS= read -r path; do
    [ -z "$path" ] || echo "$path $(find "$root$path" -type f -size +0 2> /dev/null | wc -l)"
  done < "$case_dir/count"
}
uid=$(cat "$case_dir/uid"); cwd=$(cat "$case_dir/cwd")
as=(); [ "$uid" = 0 ] || as=(setpriv --reuid "$uid" --regid "$uid" --clear-groups)

state > "$case_dir/before"; counts > "$case_dir/before.count"
cp "$BLASTRADIUS" "$root/usr/local/bin/blastradius"
rm -f "$root/tmp/base" "$root/tmp/setup"
chroot "$root" "${as[@]}" "${environment[@]}" bash -c 'cd "$1" && /usr/local/bin/blastradius check --json --unattended -- "$(cat /tmp/command)"' \
  bash "$cwd" > "$case_dir/text.json" 2> "$case_dir/text.err"
[ "${1-}" = text-only ] && exit 0
if [ "${1-}" = sandbox ]; then
  shift
  work=$cwd
  while [ "$work" != / ] && [ ! -e "$root$work/.git" ]; do work=$(dirname "$work"); done
  [ "$work" != / ] || work=$cwd
  mount --rbind "$root" "$root"; mount --bind "$root$work" "$root$work"; mount -o remount,bind,ro "$root"
fi
run_as=("${as[@]}"); limit=25
if [ "${BLASTRADIUS_RUNG-}" = kernel ]; then
  # Loading programs is root's; the guard itself then becomes the user. A guest is slow.
  limit=180
  if [ $# -gt 0 ]; then
    run_as=(); user=(); [ "$uid" = 0 ] || user=(--user dev)
    set -- "$1" "$2" --require kernel "${user[@]}" "${@:3}"
  fi
fi
timeout "$limit" chroot "$root" "${run_as[@]}" "${environment[@]}" bash -c 'cd "$1" && shift && exec "$@"' bash "$cwd" \
  "$@" bash /tmp/command > "$case_dir/output" 2>&1 < /dev/null
echo $? > "$case_dir/status"
state > "$case_dir/after"; counts > "$case_dir/after.count"
timeout 25 chroot "$root" "${as[@]}" "${environment[@]}" bash -c 'cd "$1" && exec /usr/local/bin/blastradius undo --last --yes' \
  bash "$cwd" > "$case_dir/undo.output" 2>&1 < /dev/null
state > "$case_dir/undone"; counts > "$case_dir/undone.count"
exit 0
