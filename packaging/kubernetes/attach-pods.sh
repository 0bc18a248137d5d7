#!/usr/bin/env bash
# Puts each process tree of this node that asks for it under the guard, from outside: `blastradius attach` for each. A container asks by a
# variable in its specification, which everything that is started in it from there carries, `kubectl exec` included.
#
# GUARD_MARK is that variable with its value, GUARD_EVERY how many seconds lie between two looks, GUARD_AGAIN how many until a tree that could
# not be attached is tried again (twice as many each time, an hour at most), GUARD_PROGRAM the program. It runs until it is told to end; the trees stay guarded then.
set -euo pipefail

mark=${GUARD_MARK:-BLASTRADIUS_GUARD=node}
every=${GUARD_EVERY:-1}
again=${GUARD_AGAIN:-60}
program=${GUARD_PROGRAM:-blastradius}

# By process and start, since a number is given to another process some day: who watches it, when it may be tried again, and
# how long it waits for that.
declare -A watcher=() due=() pause=()

# The process's parent and when it was started. What stands before them in the file is a name, which may hold anything.
look_at() {
    local stat='' fields=()
    # It may be gone by now: that is an answer, and must end nothing.
    read -r -d '' stat 2>/dev/null <"/proc/$1/stat" || true
    read -r -a fields <<<"${stat##*) }" || true
    [ "${#fields[@]}" -ge 20 ] || return 1
    parent=${fields[1]} started=${fields[19]}
}

# The processes that were started with the mark and have no such ancestor: what descends from one is guarded with it.
tops() {
    local -A marked=()
    local file pid above
    while IFS= read -r file; do
        pid=${file#/proc/}
        marked[${pid%/environ}]=yes
    done < <(grep -lzxF -e "$mark" /proc/[0-9]*/environ 2>/dev/null)
    for pid in "${!marked[@]}"; do
        above=$pid
        while look_at "$above" && [ "$parent" -gt 1 ]; do
            above=$parent
            [ -z "${marked[$above]:-}" ] || continue 2
        done
        echo "$pid"
    done
}

watched() {
    local job
    for job in $(jobs -pr); do
        [ "$job" != "${1:-}" ] || return 0
    done
    return 1
}

# The watchers write their last records before they go.
end() {
    trap '' TERM INT
    # shellcheck disable=SC2046 # one word for each
    kill -TERM $(jobs -pr) 2>/dev/null || true
    wait
    exit 0
}
trap end TERM INT

while true; do
    for pid in $(tops); do
        look_at "$pid" || continue
        key=$pid-$started
        if watched "${watcher[$key]:-}" || [ "$SECONDS" -lt "${due[$key]:-0}" ]; then
            continue
        fi
        pause[$key]=$((${pause[$key]:-0} == 0 ? again : pause[$key] < 1800 ? 2 * pause[$key] : 3600))
        due[$key]=$((SECONDS + pause[$key]))
        "$program" attach --pid "$pid" &
        watcher[$key]=$!
    done
    sleep "$every" &
    wait $! || true
done
