#!/usr/bin/env bash
# Runs GUARD_RUN under the guard, and writes what was refused into the summary of the job.
#
# GUARD_REQUIRE, GUARD_FAIL_ON_REFUSAL and GUARD_PROGRAM are the inputs of action.yml. The exit status is that of the commands; 3 if
# something was refused, they succeeded all the same, and GUARD_FAIL_ON_REFUSAL is true; 125 if the guard did not start.
set -euo pipefail

program=${GUARD_PROGRAM:-}
if [ -z "$program" ]; then
    if ! program=$(command -v blastradius); then
        python3 -m pip install --quiet --user blastradius-guard
        program=$(python3 -c 'import site; print(site.USER_BASE)')/bin/blastradius
    fi
fi

# The log of this step alone.
state=$(mktemp -d "${RUNNER_TEMP:-/tmp}/blastradius-XXXXXX")
export XDG_STATE_HOME=$state

options=(--require "${GUARD_REQUIRE:-any}")
if [ "${GUARD_FAIL_ON_REFUSAL:-false}" = true ]; then
    options+=(--fail-on-refusal)
fi

status=0
"$program" run "${options[@]}" -- bash --noprofile --norc -eo pipefail -c "$GUARD_RUN" || status=$?

# One row for each refusal. Text in a table: no bars, no line ends, nothing that Markdown or HTML would read.
refusals=$("$program" log --json 2>/dev/null | python3 -c '
import html, json, sys

def cell(text):
    text = html.escape(str(text or "").replace("\r", " ").replace("\n", " "), quote=False)
    for character in "\\`*_[]|":
        text = text.replace(character, "&#%d;" % ord(character))
    return text

refused = [record for record in map(json.loads, sys.stdin) if record.get("event") == "refused"]
with open(sys.argv[1], "a", encoding="utf-8") as summary:
    if refused:
        summary.write("### blastradius refused %d\n\n| rule | what | reason | instead |\n|---|---|---|---|\n" % len(refused))
    for record in refused[:100]:
        reasons = record.get("reasons")
        reason = "; ".join(reasons) if isinstance(reasons, list) else reasons
        what = record.get("resolved") or record.get("target") or record.get("command")
        cells = (record.get("rule"), what, reason, record.get("advice"))
        summary.write("| %s |\n" % " | ".join(map(cell, cells)))
    if len(refused) > 100:
        summary.write("\n%d more are in the log of the step.\n" % (len(refused) - 100))
print(len(refused))
' "${GITHUB_STEP_SUMMARY:-/dev/null}") || refusals=unknown

echo "refusals=$refusals" >>"${GITHUB_OUTPUT:-/dev/null}"
exit "$status"
