#!/bin/bash
# file-server-up.sh STATE [MBIT]   Start a file server for the nodes of slurm-up.sh, behind a link of MBIT (400); root only.
#
# A glusterfsd (user space, no glusterd) in the network namespace cw-fs1 (10.78.0.100) exports STATE/fs/brick, and every
# node mounts it on STATE/shared through FUSE, in its own mount namespace: the host sees an empty directory there. Both
# directions of the server's link are limited, so the nodes compete for it as the clients of a storage server do. The
# clients keep nothing back (direct I/O, no write-behind, no cache): what a job has written has crossed the link. The
# server's data lie in memory, 4 GiB at most: whatever else uses this machine's disk is no part of what is shared. Run
# again, it sets the limit anew and mounts on nodes that have come back. To be run after slurm-up.sh.
set -euo pipefail
state=${1:?usage: file-server-up.sh STATE [MBIT]} rate=${2:-400}mbit
net=10.78.0 port=24999 link=cwv-fs1 space=cw-fs1 fs=$state/fs

fail() {
  printf 'file-server-up: %s\n' "$1" >&2
  exit 1
}

# alive PIDFILE
alive() { [ -s "$1" ] && kill -0 "$(cat "$1")" 2>/dev/null; }

connect_server() {
  if [ -e "/run/netns/$space" ]; then return; fi
  ip netns add $space
  ip link add $link type veth peer name eth0 netns $space
  ip link set $link master cwbr0 up
  ip -n $space addr add $net.100/24 dev eth0
  ip -n $space link set lo up
  ip -n $space link set eth0 up
}

# $link leads to the server (what is written), its eth0 away from it (what is read)
limit_link() {
  local limit=(tbf rate "$rate" burst 256kb latency 50ms)
  if ! tc qdisc replace dev $link root "${limit[@]}" || ! tc -n $space qdisc replace dev eth0 root "${limit[@]}"; then
    fail "the kernel cannot limit a link (no sch_tbf)"
  fi
}

write_volumes() {
  cat >"$fs/server.vol" <<VOLUME
volume brick
  type storage/posix
  option directory $fs/brick
end-volume
volume locks
  type features/locks
  subvolumes brick
end-volume
volume threads
  type performance/io-threads
  option thread-count 8
  subvolumes locks
end-volume
volume server
  type protocol/server
  option transport-type tcp
  option transport.socket.listen-port $port
  option auth.addr.threads.allow $net.*
  subvolumes threads
end-volume
VOLUME
  cat >"$fs/client.vol" <<VOLUME
volume shared
  type protocol/client
  option transport-type tcp
  option remote-host $net.100
  option remote-port $port
  option remote-subvolume threads
end-volume
VOLUME
}

start_server() {
  if ! alive "$fs/server.pid"; then
    ip netns exec $space glusterfsd -f "$fs/server.vol" -p "$fs/server.pid" -l "$fs/server.log"
  fi
  for _ in $(seq 100); do # a client that finds no server gives up for good
    if ip netns exec $space ss -Hltn "sport = :$port" | grep -q .; then return; fi
    sleep 0.1
  done
  fail "the file server did not start: see $fs/server.log"
}

# mount_on NODE PID   PID: the node's process 1
mount_on() {
  local enter=(nsenter --target "$2" --mount --uts --net --pid)
  if "${enter[@]}" mountpoint -q "$state/shared"; then return; fi
  "${enter[@]}" glusterfs -f "$fs/client.vol" --direct-io-mode=enable -l "$fs/client-$1.log" "$state/shared"
  for _ in $(seq 100); do
    if "${enter[@]}" mountpoint -q "$state/shared"; then return; fi
    sleep 0.1
  done
  fail "$1 did not mount: see $fs/client-$1.log"
}

[ "$(id -u)" = 0 ] || fail "root needed"
mkdir -p "$fs/brick" "$state/shared"
mountpoint -q "$fs/brick" || mount -t tmpfs -o size=4g,mode=1777 crosswind-brick "$fs/brick"
connect_server
limit_link
write_volumes
start_server
for pid_file in "$state"/run/init-*.pid; do
  node=${pid_file##*/init-}
  mount_on "${node%.pid}" "$(cat "$pid_file")"
done
