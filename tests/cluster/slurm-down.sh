#!/bin/bash
# slurm-down.sh STATE   Stop what slurm-up.sh started, by recorded pid, and only what still is that program.
set -uo pipefail
state=${1:?usage: slurm-down.sh STATE}
export SLURM_CONF=$state/etc/slurm.conf

# stop PIDFILE NAME   TERM, then KILL after three seconds
stop() {
  local pid
  pid=$(cat "$1" 2>/dev/null) || return 0
  if [ -n "$pid" ] && [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "$2" ]; then
    kill "$pid"
    for _ in $(seq 30); do
      kill -0 "$pid" 2>/dev/null || break
      sleep 0.1
    done
    kill -9 "$pid" 2>/dev/null
  fi
  rm -f "$1"
}

for pid_file in "$state"/run/init-*.pid; do
  [ -e "$pid_file" ] || continue
  name=${pid_file##*/init-}
  name=${name%.pid}
  pid=$(cat "$pid_file")
  # Process 1 of the node: all others die with it. A pid can be reused: only what was started for this cluster.
  if [ -n "$pid" ] && grep -qsaF "$state" "/proc/$pid/cmdline"; then kill -9 "$pid"; fi
  rm -f "$pid_file"
  ip netns del "cw-$name" 2>/dev/null
  ip link del "cwv-$name" 2>/dev/null
done
stop "$state/run/slurmctld.pid" slurmctld
stop "$state/run/munged.pid" munged
ip link del cwbr0 2>/dev/null
for group in /sys/fs/cgroup/freezer/cw-*; do
  [ ! -d "$group" ] || find "$group" -depth -type d -exec rmdir {} + 2>/dev/null
done
true
