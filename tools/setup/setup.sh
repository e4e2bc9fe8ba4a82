#!/bin/bash
# setup.sh [PART]   Install the system packages that are missing and the Python environment in .venv.
# PART: system, python, tests for what only the tests need, cluster for the simulated site, or
# experiments for the programs that experiments/ runs; without it, system and python.
# Needs root or sudo only when a package is missing. Safe to run again.
set -euo pipefail
cd "$(dirname "$0")/../.."
here=tools/setup
step=$here/step.sh

fail() {
  printf 'crosswind setup: %s\n' "$1" >&2
  exit 1
}

# missing_packages LIST   The packages of the list that are not installed.
missing_packages() {
  sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' "$1" | while read -r package; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || printf '%s\n' "$package"
  done
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  else
    command -v sudo >/dev/null || fail "system packages are missing and there is no sudo: run 'make setup' as root"
    sudo "$@"
  fi
}

install_packages() {
  local known=() package
  as_root apt-get update -q
  for package in "$@"; do
    if apt-cache show "$package" >/dev/null 2>&1; then
      known+=("$package")
    else
      printf 'not in this distribution, its tests will be skipped: %s\n' "$package"
    fi
  done
  [ ${#known[@]} -eq 0 ] || as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -q -y --no-install-recommends "${known[@]}"
}

# system_packages LIST
system_packages() {
  command -v dpkg-query >/dev/null || {
    printf 'no dpkg here: install the equivalents of %s yourself\n' "$1"
    return 0
  }
  local missing
  mapfile -t missing < <(missing_packages "$1")
  [ ${#missing[@]} -eq 0 ] && return 0
  printf 'missing: %s\n' "${missing[*]}"
  install_packages "${missing[@]}"
}

# The first interpreter that is new enough and can make environments; the system's own is preferred.
find_python() {
  local candidate
  for candidate in /usr/bin/python3 python3 python3.13 python3.12 python3.11; do
    if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      command -v "$candidate"
      return 0
    fi
  done
  fail "Python 3.11 or newer with the venv module is needed; none found in PATH"
}

python_environment() {
  if ! .venv/bin/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    local python
    python=$(find_python)
    "$python" -m venv --clear .venv
  fi
  .venv/bin/python -m pip install -qq --disable-pip-version-check --upgrade pip 'setuptools>=77'
  .venv/bin/python -m pip install -qq --disable-pip-version-check -e '.[dev,postgresql]'
}

case ${1:-all} in
system) system_packages $here/apt-packages.txt ;;
tests) (system_packages $here/apt-packages-test.txt) || printf 'not installed: their tests will be skipped\n' ;;
cluster) system_packages $here/apt-packages-cluster.txt ;;
experiments) system_packages $here/apt-packages-experiments.txt ;;
python) python_environment ;;
all)
  $step "system packages" "$here/setup.sh" system
  $step "Python environment in .venv" "$here/setup.sh" python
  ;;
*) fail "unknown part '$1': system, python, tests, cluster, experiments or nothing" ;;
esac
