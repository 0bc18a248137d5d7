#!/bin/bash
# Builds the machine that the corpus describes in a private root, and runs a command in it as the user "dev".
# Usage: unshare --mount --propagation private bash fixture.sh COMMAND [ARG...]
# BLASTRADIUS names a binary that is put on the PATH there; FACTS is text that bash reads in the project first.
# The real "/" is only an overlay's lower layer; every write lands in a tmpfs and is dropped with the namespace.
set -eu
stage=$(mktemp -d)
mount -t tmpfs -o size=64m tmpfs "$stage"
mkdir "$stage/upper" "$stage/work" "$stage/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$stage/upper,workdir=$stage/work" "$stage/root"
root=$stage/root
mkdir -p "$root/home" "$root/Users"
for dir in home Users tmp root; do mount -t tmpfs tmpfs "$root/$dir"; done
chmod 1777 "$root/tmp"
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
# Accounts: those of the system, and dev.
awk -F: '$3 < 1000 || $3 == 65534' /etc/passwd > "$root/tmp/passwd"
echo 'dev:x:1000:1000::/home/dev:/bin/bash' >> "$root/tmp/passwd"
mv "$root/tmp/passwd" "$root/etc/passwd"

home() {
  local home=$1 project=$1/proj
  mkdir -p "$home"/{Documents,Downloads,Desktop,.ssh,.cache/pip} "$home/Code/project/dist" \
    "$project"/{build,dist,target/debug,node_modules/left-pad,src,tests,docs,.venv,__pycache__,vendor/lib}
  for dir in Documents Downloads Desktop .ssh .cache/pip Code/project/dist; do echo x > "$home/$dir/file"; done
  ( cd "$project"
    for file in build/a.o build/b.o dist/app.js target/debug/app node_modules/left-pad/index.js .venv/pyvenv.cfg \
      __pycache__/m.pyc src/lib.rs file.txt old.txt tests/t.rs docs/index.md vendor/lib/v.c README.md; do
      echo x > "$file"
    done
    echo '{"name": "proj"}' > package.json )
  local git=(git -c user.name=t -c user.email=t@example.invalid -c init.defaultBranch=main)
  for tree in "$project" "$home/Code/project"; do
    "${git[@]}" -C "$tree" init -q
    printf '%s\n' build/ dist/ target/ node_modules/ .venv/ __pycache__/ > "$tree/.git/info/exclude"
    "${git[@]}" -C "$tree" add -A
    "${git[@]}" -C "$tree" commit -q --allow-empty -m init
  done
  for file in src/lib.rs file.txt old.txt; do echo changed >> "$project/$file"; done
  for file in notes.txt temp.txt app.log; do echo x > "$project/$file"; done
}
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
for home in "$root/home/dev" "$root/Users/tim" "$root/Users/test"; do home "$home"; done
mkdir "$root/home/user"
[ -z "${FACTS-}" ] || (cd "$root/home/dev/proj" && eval "$FACTS")
chown -hR 1000:1000 "$root/home" "$root/Users"
[ -z "${BLASTRADIUS-}" ] || install -m 755 "$BLASTRADIUS" "$root/usr/local/bin/blastradius"
exec chroot "$root" env -i HOME=/home/dev USER=dev PATH=/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 \
  setpriv --reuid 1000 --regid 1000 --clear-groups bash -c 'cd /home/dev/proj && exec "$@"' bash "$@"
