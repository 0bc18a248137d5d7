# Does an installed program do its four jobs here? exercise.sh PROGRAM
#
# It needs a POSIX shell and nothing else: it runs on machines that have little.
set -u
program=$1
ground=$(mktemp -d /var/tmp/blastradius-exercise-XXXXXX)
trap 'rm -rf "$ground"' EXIT
export HOME=$ground/home XDG_STATE_HOME=$ground/state
mkdir -p "$HOME/project/build" "$HOME/photos"
echo 'worth keeping' >"$HOME/photos/a.jpg"
touch "$HOME/project/build/object"
cd "$HOME/project" || exit 1

fail() {
    echo "FAILED: $1" >&2
    exit 1
}

# expect STATUS COMMAND...: what the command prints, in both ways, is in $said.
expect() {
    wanted=$1
    shift
    said=$("$@" 2>&1)
    status=$?
    [ "$status" = "$wanted" ] || fail "$*: exit $status instead of $wanted: $said"
}

holds() {
    case $said in *"$1"*) ;; *) fail "no \`$1\` in: $said" ;; esac
}

expect 0 "$program" --version
holds blastradius

expect 0 "$program" check 'rm -rf build'
expect 1 "$program" check 'rm -rf "$NEVER_SET/"'
holds empty-variable-expansion

question() {
    printf '{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash","cwd":"%s","tool_input":{"command":"%s"}}' "$PWD" "$1" |
        "$program" hook --agent claude-code
}
expect 0 question 'ls -l'
[ -z "$said" ] || fail "the hook has something to say about ls: $said"
expect 0 question 'rm -rf ~/photos'
holds '"deny"'

# Nothing in a text: the shell that runs under the guard finds out by itself what it is to remove.
expect 0 "$program" run --require any -- sh -c 'rm -r build && echo rebuilt >result'
[ ! -e build ] && [ -f result ] || fail 'work in the project does not work under the guard'
printf 'cd ..\nrm -r "$(echo pho)tos"\n' >lost.sh
"$program" run --require any -- sh lost.sh >said 2>&1 && fail "the loss went unnoticed: $(cat said)"
[ -f "$HOME/photos/a.jpg" ] || fail "the photos are gone: $(cat said)"

expect 0 "$program" doctor --json
holds '"ok":true'

echo "check, hook, run and doctor work"
