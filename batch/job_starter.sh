#!/bin/sh
# job_starter.sh "%USRCMD"   Run a job's command with the library preloaded. LSF, in lsb.queues:
#
#   JOB_STARTER = /usr/libexec/crosswind/job_starter.sh "%USRCMD"
#
# One argument is a program, or a command line for the shell, as LSF puts it in place of "%USRCMD". Several are a command with its
# arguments, as LSF gives them without "%USRCMD". The command runs whatever is missing here.
crosswind_here=.
case $0 in
*/*) crosswind_here=${0%/*} ;;
esac
# shellcheck source=batch/environment.sh
[ ! -r "$crosswind_here/environment.sh" ] || . "$crosswind_here/environment.sh"
unset crosswind_here

# Whether the word is what a shell takes for an assignment.
is_assignment() {
  case $1 in
  [A-Za-z_]*=*) ;;
  *) return 1 ;;
  esac
  case ${1%%=*} in
  *[!A-Za-z0-9_]*) return 1 ;;
  esac
}

if [ $# -eq 1 ] && [ ! -x "$1" ]; then
  exec /bin/sh -c "$1"
elif is_assignment "${1-}"; then
  exec env "$@"
elif [ "$(command -v "${1-}")" = "${1-}" ] && [ ! -x "${1-}" ]; then
  "$@" # a builtin of the shell
else
  exec "$@"
fi
