#!/bin/bash
# file-server-down.sh STATE   Stop what file-server-up.sh started; before slurm-down.sh, which takes the nodes away.
set -uo pipefail
state=${1:?usage: file-server-down.sh STATE}

for pid_file in "$state"/run/init-*.pid; do
  [ -e "$pid_file" ] || continue
  pid=$(cat "$pid_file")
  # The client ends with its mount. A pid can be reused: only what was started for this cluster.
  if grep -qsaF "$state" "/proc/$pid/cmdline"; then
    nsenter --target "$pid" --mount umount --lazy "$state/shared" 2>/dev/null
  fi
done
pid=$(cat "$state/fs/server.pid" 2>/dev/null)
if [ -n "$pid" ] && grep -qsaF "$state" "/proc/$pid/cmdline"; then kill -9 "$pid"; fi
if mountpoint -q "$state/fs/brick"; then umount --lazy "$state/fs/brick"; fi
ip netns del cw-fs1 2>/dev/null
ip link del cwv-fs1 2>/dev/null
true
