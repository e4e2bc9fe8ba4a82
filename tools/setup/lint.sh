#!/bin/bash
# lint.sh   Style and static checks. Runs all of them, then fails if one did.
cd "$(dirname "$0")/../.." || exit 1
bin=.venv/bin
status=0

check() {
  local name=$1 output
  shift
  if output=$("$@" 2>&1); then
    printf '%-44s ok\n' "$name"
  else
    printf '%-44s FAILED\n%s\n' "$name" "$output"
    status=1
  fi
}

mapfile -t c_files < <(git ls-files --cached --others --exclude-standard '*.c' '*.h' '*.inc')

# The files that clang-format would change, one a line.
c_format() {
  local file status=0
  for file in "${c_files[@]}"; do
    clang-format --dry-run --Werror "$file" 2>/dev/null || {
      printf '%s: not formatted (make format)\n' "$file"
      status=1
    }
  done
  return $status
}
check "ruff check" $bin/ruff check .
check "ruff format --check" $bin/ruff format --check .
check "mypy" $bin/python tools/setup/typecheck.py
check "generated files are current" $bin/python libprofiler/spec/generate.py --check
check "clang-format (${#c_files[@]} files)" c_format
exit $status
