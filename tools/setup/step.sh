#!/bin/bash
# step.sh NAME CMD...   Run CMD as a named step: say that it starts, how long it took, and whether it failed.
# With CROSSWIND_STEPS=FILE, append "seconds<TAB>name<TAB>ok|failed" to it.
name=$1
shift
begin=$(date +%s.%N)
printf '>> %s\n' "$name"
"$@"
status=$?
seconds=$(awk -v a="$begin" -v b="$(date +%s.%N)" 'BEGIN { printf "%.1f", b - a }')
if [ "$status" -eq 0 ]; then result=ok; else result=failed; fi
printf '<< %s: %s after %s s\n' "$name" "$result" "$seconds"
[ -z "$CROSSWIND_STEPS" ] || printf '%s\t%s\t%s\n' "$seconds" "$name" "$result" >>"$CROSSWIND_STEPS"
exit "$status"
