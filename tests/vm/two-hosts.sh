# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# two-hosts.sh: source it in the guest and call `two_hosts`: two Soft-RoCE "hosts" in ONE network namespace (rxe of Linux 6.1 works in
# the first one only), joined by a "switch" namespace:
#   rxe1 = v1 10.0.0.1 -- p1 [bridge in netns sw] p2 -- v2 10.0.0.2 = rxe2
# Policy routing sends what host 1 has for host 2 over the wire. GID 1 of each is its IPv4 RoCE v2 address.
#   impair the wire towards host 2:  ip netns exec sw tc qdisc add dev p2 root netem loss 1%
#   pull host 2's cable:             ip -n sw link set p2 down        take host 1's link down:  ip link set v1 down
#   bring it up again:               host_up 1   (the kernel forgets host 1's route when v1 goes down)
host_route() { ip route replace 10.0.0.0/24 dev "v$1" src "10.0.0.$1" table $((100 + $1)); }
host_up() { ip link set "v$1" up && host_route "$1"; }

two_hosts() {
  local count=${1:-2} mtu=${2:-1500} i k
  ip netns add sw; ip -n sw link set lo up
  ip -n sw link add br0 type bridge; ip -n sw link set br0 up
  for k in all default; do
    sysctl -qw net.ipv4.conf.$k.rp_filter=0 net.ipv4.conf.$k.accept_local=1 net.ipv4.conf.$k.arp_ignore=1 net.ipv4.conf.$k.arp_announce=2
  done
  sysctl -qw net.ipv6.conf.default.accept_dad=0   # the link-local GID is there at once, no GID_CHANGE a second later
  ip rule add pref 300 lookup local
  for i in $(seq "$count"); do
    ip link add "v$i" mtu "$mtu" type veth peer name "p$i" mtu "$mtu" netns sw
    ip -n sw link set "p$i" master br0 up
    ip addr add "10.0.0.$i/24" dev "v$i"; ip link set "v$i" up
    sysctl -qw "net.ipv4.conf.v$i.rp_filter=0" "net.ipv4.conf.v$i.accept_local=1"
    ip rule add pref 100 iif "v$i" lookup local                              # what comes in over the wire may be ours
    ip rule add pref 150 from "10.0.0.$i" to "10.0.0.$i" lookup local
    ip rule add pref 200 from "10.0.0.$i" to 10.0.0.0/24 lookup $((100 + i))   # what host i sends takes its own wire
    host_route "$i"
  done
  ip rule del pref 0
  for i in $(seq "$count"); do rdma link add "rxe$i" type rxe netdev "v$i" || return; done
  for i in $(seq "$count"); do wait_for 30 "rdma link show rxe$i/1 | grep -q 'state ACTIVE' && grep -q : /sys/class/infiniband/rxe$i/ports/1/gids/1" || return; done
}

# wait_for SECONDS CONDITION: until the shell text CONDITION holds; 1 and a message when it does not in time.
wait_for() {
  local end=$((SECONDS + $1 + 1))
  until eval "$2"; do
    [ $SECONDS -lt $end ] || { echo "not within $1 s: $2" >&2; return 1; }
    sleep 0.2
  done
}
