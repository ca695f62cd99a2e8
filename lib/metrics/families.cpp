// SPDX-License-Identifier: Apache-2.0
// The table of every series that rdmend exports. Names and units: base units, counters end in _total, one meaning whatever
// the driver calls it. `promtool check metrics` reads every row in the tests.
#include <array>

#include "metrics/exposition.hpp"

namespace rdmend::metrics {
namespace {

using enum FamilyType;

FamilySection ourselves() {
  return {"rdmend itself",
          {
              {"rdmend_build_info", gauge, "version, kernel", "Always 1; which rdmend this is."},
              {"rdmend_start_time_seconds", gauge, "", "When rdmend started, in seconds since the epoch."},
              {"rdmend_mode", gauge, "mode", "1 for the mode in force: observe (decide only) or act (mend)."},
              {"rdmend_devices", gauge, "", "RDMA devices that rdmend watches."},
              {"rdmend_config_last_reload_successful", gauge, "", "1 if the last reading of configuration and rules was accepted, 0 if the old ones were kept."},
              {"rdmend_config_last_reload_success_timestamp_seconds", gauge, "", "When configuration and rules were last accepted, in seconds since the epoch."},
              {"rdmend_metrics_series", gauge, "", "Series in this answer."},
              {"rdmend_metrics_dropped_series", gauge, "", "Series left out of this answer because of metrics.max_series."},
              {"rdmend_loop_wakeups_total", counter, "", "Times that the event loop woke up."},
              {"rdmend_loop_busy_seconds_total", counter, "", "Time that the event loop spent working."},
              {"rdmend_loop_longest_seconds", gauge, "", "The longest that one wake-up of the event loop has worked since the start."},
              {"rdmend_http_connections", gauge, "address", "Connections to an address of listen, or to the control socket."},
              {"rdmend_http_dropped_total", counter, "address", "Connections that rdmend ended: the oldest of whoever has the most makes room when there are too many, and who is too slow is cut off."},
              {"rdmend_store_series", gauge, "", "Series held in memory for the rules."},
              {"rdmend_store_points", gauge, "", "Samples held in memory for the rules."},
              {"rdmend_store_bytes", gauge, "", "Memory that series and samples take."},
              {"rdmend_store_max_bytes", gauge, "", "What that memory may take: store.max_bytes."},
              {"rdmend_store_evicted_points_total", counter, "", "Samples dropped before their time to stay below store.max_bytes."},
              {"rdmend_store_rejected_points_total", counter, "", "Samples refused because they were older than their series' last."},
              {"rdmend_rule_evaluations_total", counter, "group, rule", "Evaluations of a rule."},
              {"rdmend_rule_evaluation_failures_total", counter, "group, rule", "Evaluations of a rule that failed: too many samples, too slow, many-to-many and the like."},
              {"rdmend_rule_last_evaluation_seconds", gauge, "group, rule", "How long a rule's last evaluation took."},
              {"rdmend_rule_last_evaluation_timestamp_seconds", gauge, "group, rule", "When a rule was last evaluated, in seconds since the epoch."},
              {"rdmend_rule_alerts", gauge, "group, rule, state", "Active alerts of a rule by state: pending or firing."},
              {"rdmend_remedies_total", counter, "action, outcome", "Outcomes of remedies; a refusal and a dry run are outcomes too."},
              {"rdmend_remedy_seconds", summary, "action", "How long remedies took from their start to their verdict."},
              {"rdmend_remedy_breaker_open", gauge, "", "1 while the breaker is open: too much failed at once, nothing is acted on until it is reset."},
              {"rdmend_journal_writable", gauge, "", "1 while decisions and undos are written to disk; 0 while they are kept in memory only, and nothing is done that needs an undo."},
              {"rdmend_journal_errors_total", counter, "", "Openings and writings of the journal that failed."},
              {"rdmend_journal_set_aside_total", counter, "", "Journals that were broken, and were renamed to rdmend.db.broken-N for a new one."},
              {"rdmend_journal_entries", gauge, "", "Decisions and outcomes that the journal holds on disk."},
              {"rdmend_journal_bytes", gauge, "", "What the journal takes of the disk; beyond 64 MiB the oldest decisions go."},
              {"rdmend_journal_dropped_total", counter, "reason", "Decisions and outcomes that are no longer known: the oldest, because of the journal's bound, and those that could not be written in time (unwritten)."},
              {"rdmend_notifications_sent_total", counter, "alertmanager", "Alerts that an Alertmanager accepted."},
              {"rdmend_notifications_failed_total", counter, "alertmanager", "Alerts of requests that an Alertmanager refused or did not answer; their next re-send is the retry."},
              {"rdmend_notifications_dropped_total", counter, "alertmanager", "Alerts dropped because the queue was full, oldest first."},
              {"rdmend_notifications_queued", gauge, "alertmanager", "Alerts that wait to be sent."},
              {"rdmend_notifications_last_success_timestamp_seconds", gauge, "alertmanager", "When an Alertmanager last accepted alerts, in seconds since the epoch."},
              {"rdmend_event_to_notification_seconds", gauge, "", "How long the last alert due to an event took from the wake-up that read the event to the last byte of its POST."},
          }};
}

// promtool refuses the word "counter" in a metric's name, but not "counters".
FamilySection honesty() {
  return {"How far the rest can be believed",
          {
              {"rdma_device_stale", gauge, "device", "1 while the device's counters cannot be read within the deadline; its other series have ended."},
              {"rdma_source_stale", gauge, "source", "1 while what is not read device by device does not answer within the deadline, or fails: devices (the search for those that come and go), neighbours."},
              {"rdma_counters_saturated", gauge, "device, port, name", "1 while a counter stands at the largest value of its width and can count no further."},
              {"rdma_counters_resets_total", counter, "device, port", "Falls of a counter that were resets, not wraps: a driver reload, or another tool that cleared it."},
              {"rdma_raw_series_dropped", gauge, "device, port", "Raw counters that are read and not told, because of raw_counters or because there are too many."},
              {"rdma_read_errors_total", counter, "device, port, name, errno", "Readings of a counter or attribute that failed."},
          }};
}

FamilySection ports() {
  return {"Ports",
          {
              {"rdma_device_info", gauge, "device, pci, driver, fw, node_guid, board_id, hca_type", "Always 1; what the device is."},
              {"rdma_port_info", gauge, "device, port, link_layer, netdev, pci, function, driver, fw, node_guid", "Always 1; what the port is. function is pf or vf of a PCI device."},
              {"rdma_port_state", gauge, "device, port", "Logical state of the port: 1 down, 2 init, 3 armed, 4 active."},
              {"rdma_port_physical_state", gauge, "device, port", "Physical state of the port: 1 sleep, 2 polling, 3 disabled, 4 training, 5 link up, 6 error recovery, 7 test."},
              {"rdma_port_rate_bytes_per_second", gauge, "device, port", "Signalling rate of the port."},
              {"rdma_port_lid", gauge, "device, port", "InfiniBand's local identifier of the port; 0 on Ethernet."},
              {"rdma_port_sm_lid", gauge, "device, port", "Local identifier of the subnet manager that the port answers to; 0 on Ethernet."},
              {"rdma_bytes_sent_total", counter, "device, port", "Bytes sent."},
              {"rdma_bytes_received_total", counter, "device, port", "Bytes received."},
              {"rdma_packets_sent_total", counter, "device, port", "Packets sent."},
              {"rdma_packets_received_total", counter, "device, port", "Packets received."},
              {"rdma_link_downed_total", counter, "device, port", "Times that the link went down."},
              {"rdma_link_error_recoveries_total", counter, "device, port", "Times that the link recovered from an error by retraining."},
              {"rdma_symbol_errors_total", counter, "device, port", "Symbol errors on the lanes of the link."},
              {"rdma_pcs_symbol_errors_total", counter, "device, port", "Symbol errors that the link's coding layer saw and forward error correction did not mend."},
              {"rdma_corrected_errors_total", counter, "device, port", "Bits that forward error correction mended."},
              {"rdma_receive_errors_total", counter, "device, port", "Packets received with an error of the link."},
              {"rdma_receive_remote_physical_errors_total", counter, "device, port", "Packets received that were marked bad on their way."},
              {"rdma_receive_switch_relay_errors_total", counter, "device, port", "Packets received that could not be forwarded."},
              {"rdma_receive_constraint_errors_total", counter, "device, port", "Packets received that the port's partition or version rules refused."},
              {"rdma_send_constraint_errors_total", counter, "device, port", "Packets not sent because the port's partition or version rules refused them."},
              {"rdma_local_link_integrity_errors_total", counter, "device, port", "Times that local errors passed the link's threshold."},
              {"rdma_excessive_buffer_overruns_total", counter, "device, port", "Times that receive buffers overran for too long."},
              {"rdma_receive_discards_total", counter, "device, port", "Packets received and dropped."},
              {"rdma_send_discards_total", counter, "device, port", "Packets that were to be sent and were dropped."},
              {"rdma_send_wait_ticks_total", counter, "device, port", "Ticks, of a length that the hardware chooses, in which data was ready and could not be sent."},
              {"rdma_vl15_dropped_total", counter, "device, port", "Management packets dropped for want of a buffer."},
              {"rdma_icrc_errors_total", counter, "device, port", "RoCE packets received with a wrong invariant CRC."},
          }};
}

FamilySection transport() {
  return {"Reliable transport",
          {
              {"rdma_rnr_naks_received_total", counter, "device, port", "Receiver-not-ready NAKs received: the peer had posted no receive."},
              {"rdma_rnr_naks_sent_total", counter, "device, port", "Receiver-not-ready NAKs sent: a message came and no receive was posted here."},
              {"rdma_ack_timeouts_total", counter, "device, port", "Requests whose acknowledgement did not come within the local ACK timeout."},
              {"rdma_sequence_naks_received_total", counter, "device, port", "Sequence-error NAKs received: the peer missed a packet of ours."},
              {"rdma_implied_naks_received_total", counter, "device, port", "Answers to READs and atomics that came out of sequence."},
              {"rdma_out_of_sequence_received_total", counter, "device, port", "Requests received out of sequence: a packet of the peer was lost or overtaken."},
              {"rdma_duplicate_requests_received_total", counter, "device, port", "Requests received a second time: the peer retransmits to us."},
              {"rdma_retransmissions_total", counter, "device, port", "Retransmissions started, whatever the cause."},
              {"rdma_adaptive_retransmissions_total", counter, "device, port", "Retransmissions by the device's own adaptive timer; they overlap the others."},
              {"rdma_retry_exceeded_total", counter, "device, port", "Requests given up because no acknowledgement came within all retries."},
              {"rdma_rnr_retry_exceeded_total", counter, "device, port", "Requests given up because the receiver was not ready within all retries."},
              {"rdma_requester_completion_errors_total", counter, "device, port", "Requests that completed with an error."},
              {"rdma_responder_completion_errors_total", counter, "device, port", "Receives that completed with an error."},
              {"rdma_flush_errors_total", counter, "device, port", "Requests flushed because their QP was in error or going away: a consequence, never a cause."},
              {"rdma_remote_access_errors_total", counter, "device, port", "Requests that the peer refused for want of access."},
          }};
}

FamilySection congestion() {
  return {"Congestion and flow control",
          {
              {"rdma_cnp_sent_total", counter, "device, port", "Congestion notification packets sent, for marked packets received."},
              {"rdma_cnp_handled_total", counter, "device, port", "Congestion notification packets received and acted on by slowing down."},
              {"rdma_cnp_ignored_total", counter, "device, port", "Congestion notification packets received and ignored."},
              {"rdma_ecn_marked_received_total", counter, "device, port", "Packets received that a switch had marked for congestion."},
              {"rdma_pause_frames_received_total", counter, "device, port", "Pause frames for the whole link received: the network held this host back."},
              {"rdma_pause_storms_total", counter, "device, port", "Times that this host paused the network for so long that the device put an end to it."},
              {"rdma_pfc_pause_frames_sent_total", counter, "device, port, priority", "Priority pause frames sent: this host could not take more."},
              {"rdma_pfc_pause_frames_received_total", counter, "device, port, priority", "Priority pause frames received: the network held this host back."},
              {"rdma_pfc_pause_seconds_sent_total", counter, "device, port, priority", "Time for which this host paused the network."},
              {"rdma_pfc_pause_seconds_received_total", counter, "device, port, priority", "Time for which the network paused this host."},
          }};
}

FamilySection events() {
  return {"Events and queue pairs",
          {
              {"rdma_async_events_total", counter, "device, port, event", "Asynchronous events of the device, 0 for every kind from the start."},
              {"rdma_qps", gauge, "device, type, state", "Queue pairs of all processes and of the kernel."},
              {"rdma_qps_stuck_in_error", gauge, "device", "Queue pairs that stayed in the error state from one dump to the next while their process lives."},
              {"rdma_qps_truncated", gauge, "device", "1 when the device has more queue pairs than sampling.qp_cap, and the rest is not seen."},
          }};
}

FamilySection neighbours() {
  return {"Neighbours: the peers' ARP and ND entries (RoCE)",
          {
              {"rdma_neighbours", gauge, "device, port, state", "Entries on the port's network device and on those above it (VLANs, bonds), by the kernel's states."},
              {"rdma_neighbour_failures_total", counter, "device, port", "How often an entry of the port failed: the kernel asked for an address and nobody answered."},
              {"rdma_neighbours_truncated", gauge, "device, port", "1 when there are more than 4096 entries on the RDMA ports of this host, or more than 256 network devices, and the rest is not seen."},
              {"rdma_neighbour_state", gauge, "device, port, netdev, neighbour",
               "The kernel's number of an entry's state: 1 incomplete, 2 reachable, 4 stale, 8 delay, 16 probe, 32 failed, 128 permanent. In 1 and 32 no link address is known.", true},
              {"rdma_neighbour_queue_pairs", gauge, "device, port, netdev, neighbour", "Connected queue pairs of the port that rdma_cm led to the address.", true},
              {"rdma_neighbour_moves_total", counter, "device, port, netdev, neighbour", "How often another link address answered for the address than before.", true},
          }};
}

FamilySection raw() {
  return {"Raw counters, under the driver's own names",
          {
              {"rdma_raw_total", counter, "device, port, name, source", "A counter as the driver names it; source says where it was read."},
              {"rdma_raw", gauge, "device, port, name, source", "A value that can fall, as the driver names it; source says where it was read."},
          }};
}

FamilySection queue_pairs() {
  return {"One series a queue pair",
          {
              {"rdma_qp_info", gauge, "device, port, qpn, type, state, pid, comm, peer",
               "Always 1; what the queue pair is and whose. `peer` is the address that rdma_cm connected it to; it is empty where the application "
               "exchanged addresses itself, for the kernel tells nobody then.",
               true},
          }};
}

}  // namespace

std::span<const FamilySection> family_sections() {
  static const std::array kSections{ourselves(), honesty(), ports(), transport(), congestion(), events(), neighbours(), raw(), queue_pairs()};
  return kSections;
}

const std::vector<FamilyRow>& families() {
  static const std::vector<FamilyRow> kRows = [] {
    std::vector<FamilyRow> rows;
    for (const FamilySection& section : family_sections()) rows.insert(rows.end(), section.rows.begin(), section.rows.end());
    return rows;
  }();
  return kRows;
}

}  // namespace rdmend::metrics
