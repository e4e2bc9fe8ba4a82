#!/bin/sh
# job_starter.sh CMD...   Run CMD with the library preloaded. LSF, in lsb.queues: JOB_STARTER = /usr/libexec/crosswind/job_starter.sh
# shellcheck source=batch/environment.sh
. "$(dirname "$0")/environment.sh"
exec "$@"
