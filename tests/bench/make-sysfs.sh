#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# make-sysfs.sh DIRECTORY DEVICES: a tree that stands for /sys, with so many InfiniBand devices of one port as mlx5 shows them. Its
# values are always the same.
set -euo pipefail
root=$1 devices=$2
counters=(VL15_dropped excessive_buffer_overrun_errors link_downed link_error_recovery local_link_integrity_errors multicast_rcv_packets
  multicast_xmit_packets port_rcv_constraint_errors port_rcv_data port_rcv_errors port_rcv_packets port_rcv_remote_physical_errors
  port_rcv_switch_relay_errors port_xmit_constraint_errors port_xmit_data port_xmit_discards port_xmit_packets port_xmit_wait symbol_error
  unicast_rcv_packets unicast_xmit_packets)
hw_counters=(duplicate_request implied_nak_seq_err local_ack_timeout_err np_cnp_sent np_ecn_marked_roce_packets out_of_buffer
  out_of_sequence packet_seq_err req_cqe_error req_cqe_flush_error req_remote_access_errors req_remote_invalid_request
  req_transport_retries_exceeded resp_cqe_error resp_cqe_flush_error resp_local_length_error resp_remote_access_errors rnr_nak_retry_err
  roce_adp_retrans roce_adp_retrans_to roce_slow_restart roce_slow_restart_cnps roce_slow_restart_trans rp_cnp_handled rp_cnp_ignored
  rx_atomic_requests rx_dct_connect rx_icrc_encapsulated rx_read_requests rx_vport_rdma_multicast_bytes rx_vport_rdma_multicast_packets
  rx_vport_rdma_unicast_bytes rx_vport_rdma_unicast_packets rx_write_requests tx_vport_rdma_multicast_bytes
  tx_vport_rdma_multicast_packets tx_vport_rdma_unicast_bytes tx_vport_rdma_unicast_packets)

mkdir -p "$root/class/infiniband"
for ((device = 0; device < devices; device++)); do
  printf -v guid 'b8ce:f603:0000:%04x' $((0x1000 + device))
  here=$root/class/infiniband/mlx5_$device port=$here/ports/1
  mkdir -p "$port"/{counters,hw_counters,gids,gid_attrs/ndevs}
  while read -r file value; do echo "$value" > "$here/$file"; done << END
board_id MT_0000000838
fw_ver 28.39.1002
hca_type MT4129
hw_rev 0
node_desc host mlx5_$device
node_guid $guid
node_type 1: CA
sys_image_guid $guid
ports/1/cap_mask 0xa751e848
ports/1/gids/0 fe80:0000:0000:0000:$guid
ports/1/hw_counters/lifespan 10
ports/1/lid 0x$((device + 1))
ports/1/link_layer InfiniBand
ports/1/phys_state 5: LinkUp
ports/1/rate 400 Gb/sec (4X NDR)
ports/1/sm_lid 0x1
ports/1/state 4: ACTIVE
END
  for name in "${counters[@]}"; do
    case $name in
      *_data) value=$((123456789012 + device * 1000003));;
      *_packets) value=$((9876543210 + device * 10007));;
      *) value=$((device % 3));;
    esac
    echo "$value" > "$port/counters/$name"
  done
  for name in "${hw_counters[@]}"; do echo $(((device * 7 + ${#name}) % 5)) > "$port/hw_counters/$name"; done
done
