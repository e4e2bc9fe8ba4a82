#!/bin/bash
# slurm-up.sh STATE [N]   Start a simulated Slurm cluster of N nodes (default 2) on this machine; root only.
#
# Each node is a real slurmd in its own uts, net, mount, pid and cgroup namespace: its own hostname (n1, n2, ...), its
# own address on a bridge, its own /dev/shm, its own pids, and STATE/local, a directory of its own that outlives the
# node as a local disk does (outside: STATE/nodes/nX/local). All else is shared, like a parallel file system. A node
# dies by `kill -9` of the pid in STATE/run/init-nX.pid; run again, the script starts what is missing. Everything lies
# in STATE, /etc/slurm is not touched: commands find the cluster by SLURM_CONF=STATE/etc/slurm.conf.
#
#   SLURM_EXTRA       lines to add to slurm.conf
#   SLURM_PLUGSTACK   lines of plugstack.conf (SPANK plugins)
set -euo pipefail
state=${1:?usage: slurm-up.sh STATE [N]} count=${2:-2}
net=10.78.0 bridge=cwbr0
export SLURM_CONF=$state/etc/slurm.conf
freezer=/sys/fs/cgroup/freezer
process_tracking=proctrack/linuxproc
if [ -d $freezer ]; then process_tracking=proctrack/cgroup; fi # as in production: grandchildren are killed, too

fail() {
  printf 'slurm-up: %s\n' "$1" >&2
  exit 1
}

# alive PIDFILE
alive() { [ -s "$1" ] && kill -0 "$(cat "$1")" 2>/dev/null; }

write_configuration() {
  local i
  cat >"$SLURM_CONF" <<CONF
ClusterName=sim
SlurmctldHost=$(hostname)($net.1)
SlurmctldPort=16817
SlurmdPort=16818
SlurmUser=slurm
AuthType=auth/munge
AuthInfo=cred_expire=5
CredType=cred/munge
StateSaveLocation=$state/controller
SlurmctldPidFile=$state/run/slurmctld.pid
SlurmctldLogFile=$state/log/slurmctld.log
SlurmdPidFile=$state/run/slurmd-%n.pid
SlurmdSpoolDir=$state/nodes/%n/slurmd
SlurmdLogFile=$state/log/slurmd-%n.log
SlurmdParameters=config_overrides
PropagateResourceLimits=NONE
ProctrackType=$process_tracking
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=5
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
ReturnToService=2
InactiveLimit=0
MinJobAge=300
KillWait=2
OverTimeLimit=0
SlurmdTimeout=6
SchedulerParameters=batch_sched_delay=0,sched_min_interval=100000,bf_interval=2
$(for ((i = 1; i <= count; i++)); do
    printf 'NodeName=n%d NodeAddr=%s.%d CPUs=16 RealMemory=8000 State=UNKNOWN\n' "$i" $net $((10 + i))
  done)
PartitionName=normal Nodes=n[1-$count] Default=YES MaxTime=60 DefaultTime=5 State=UP
${SLURM_EXTRA:-}
CONF
  printf '%s\n' "${SLURM_PLUGSTACK:-}" >"$state/etc/plugstack.conf"
  # For srun --mpi=pmix: /tmp is shared between the nodes, so the PMIx server must keep its files elsewhere. It is no
  # default: what a dead node left of it keeps the step that runs anew there from starting.
  echo "PMIxCliTmpDirBase=/dev/shm" >"$state/etc/mpi.conf"
  printf '%s\n' CgroupPlugin=cgroup/v1 CgroupMountpoint=/sys/fs/cgroup CgroupAutomount=no >"$state/etc/cgroup.conf"
  { # seen inside the nodes only
    echo "127.0.0.1 localhost"
    echo "$net.1 $(hostname)"
    for ((i = 1; i <= count; i++)); do echo "$net.$((10 + i)) n$i"; done
  } >"$state/etc/hosts"
}

start_munge() {
  if munge -n >/dev/null 2>&1; then return; fi
  install -d -o munge -g munge -m 755 /run/munge
  install -d -o munge -g munge -m 700 /var/lib/munge /var/log/munge
  runuser -u munge -- munged --force --num-threads=4 2>"$state/log/munged.err"
  cp /run/munge/munged.pid "$state/run/munged.pid"
}

start_network() {
  if ip link show $bridge >/dev/null 2>&1; then return; fi
  ip link add $bridge type bridge
  ip addr add $net.1/24 dev $bridge
  ip link set $bridge up
}

start_controller() {
  if ! alive "$state/run/slurmctld.pid"; then slurmctld; fi
}

# connect_node NAME ADDRESS
connect_node() {
  if [ -e "/run/netns/cw-$1" ]; then return; fi
  ip netns add "cw-$1"
  ip link add "cwv-$1" type veth peer name eth0 netns "cw-$1"
  ip link set "cwv-$1" master $bridge up
  ip -n "cw-$1" addr add "$2/24" dev eth0
  ip -n "cw-$1" link set lo up
  ip -n "cw-$1" link set eth0 up
  ip -n "cw-$1" route add default via $net.1
}

# What runs as process 1 of a node. It reaps orphans; killing it kills the whole node at once.
# shellcheck disable=SC2016
node_program='
set -e
name=$0 state=$1 freezer=$2
if [ -d "$freezer" ]; then umount "$freezer"; mount -t cgroup -o freezer cgroup "$freezer"; fi
hostname "$name"
mount --bind "$state/etc/hosts" /etc/hosts
mount --bind "$state/etc" /etc/slurm # also for commands without SLURM_CONF in their environment (--export=NONE)
mount --bind "$state/nodes/$name/local" "$state/local"
mount -t tmpfs -o size=2g,mode=1777 shm /dev/shm
trap "kill \$daemon" TERM
slurmd -D &
daemon=$!
while kill -0 $daemon 2>/dev/null; do wait $daemon || :; done
'

# start_node NAME ADDRESS
start_node() {
  local name=$1 pid_file=$state/run/init-$1.pid outer
  if alive "$pid_file" && [ "/proc/$(cat "$pid_file")/ns/net" -ef "/run/netns/cw-$name" ]; then return; fi
  mkdir -p "$state/nodes/$name"/{slurmd,local}
  connect_node "$name" "$2"
  # A root of its own in the hierarchy by which proctrack/cgroup finds a job's processes
  if [ -d $freezer ]; then mkdir -p "$freezer/cw-$name"; fi
  (
    # No other command here: its only child has to be the node's process 1, for which it is searched below.
    if [ -d $freezer ]; then echo "$BASHPID" >"$freezer/cw-$name/cgroup.procs"; fi
    exec setsid nsenter --net="/run/netns/cw-$name" unshare --cgroup --uts --mount --pid --fork --mount-proc \
      bash -c "$node_program" "$name" "$state" $freezer
  ) </dev/null >>"$state/log/node-$name.out" 2>&1 &
  outer=$!
  for _ in $(seq 100); do # the pid, seen from outside, of the node's process 1
    pgrep -P "$outer" >"$pid_file" && return
    sleep 0.05
  done
  fail "node $name did not start: see $state/log/node-$name.out"
}

wait_for_nodes() {
  local up
  for _ in $(seq 300); do
    up=$(sinfo -h -N -p normal -o '%N %t' 2>/dev/null | grep -cE ' (idle|mix|alloc|comp)$' || :)
    if [ "$up" = "$count" ]; then return; fi
    sleep 0.1
  done
  fail "the nodes did not come up: see $state/log"
}

[ "$(id -u)" = 0 ] || fail "root needed"
mkdir -p "$state"/{etc,run,log,controller,nodes,local}
chmod 755 "$state" "$state"/{etc,log,nodes,local}
chown slurm "$state"/{controller,log}
[ -e "$SLURM_CONF" ] || write_configuration
start_munge
start_network
start_controller
for ((i = 1; i <= count; i++)); do start_node "n$i" "$net.$((10 + i))"; done
wait_for_nodes
