// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <infiniband/verbs.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace rdmend::test {

// One end of an RC connection: a device, memory that the other end may do everything with, and a QP that is made anew for
// each pattern, so that nothing of the pattern before is left in it.
class RcEnd {
 public:
  static constexpr std::size_t kMemory = 1 << 20;
  static constexpr std::uint32_t kMtu = 1024;

  explicit RcEnd(const std::string& device) : memory(kMemory) {
    int count = 0;
    ibv_device** list = ibv_get_device_list(&count);
    for (int i = 0; i < count; ++i)
      if (device == ibv_get_device_name(list[i])) context_ = ibv_open_device(list[i]);
    ibv_free_device_list(list);
    REQUIRE(context_ != nullptr);
    pd_ = ibv_alloc_pd(context_);
    cq_ = ibv_create_cq(context_, 1024, nullptr, nullptr, 0);
    mr_ = ibv_reg_mr(pd_, memory.data(), memory.size(), kAccess | IBV_ACCESS_LOCAL_WRITE);
    REQUIRE((pd_ != nullptr && cq_ != nullptr && mr_ != nullptr));
    REQUIRE(ibv_query_gid(context_, 1, 1, &gid_) == 0);
  }
  ~RcEnd() {
    if (qp_ != nullptr) ibv_destroy_qp(qp_);
    ibv_dereg_mr(mr_);
    ibv_destroy_cq(cq_);
    ibv_dealloc_pd(pd_);
    ibv_close_device(context_);
  }
  RcEnd(const RcEnd&) = delete;
  RcEnd& operator=(const RcEnd&) = delete;

  void renew(std::uint32_t sq_psn) {
    if (qp_ != nullptr) REQUIRE(ibv_destroy_qp(qp_) == 0);
    ibv_qp_init_attr attributes{};
    attributes.send_cq = attributes.recv_cq = cq_;
    attributes.qp_type = IBV_QPT_RC;
    attributes.cap = {.max_send_wr = 64, .max_recv_wr = 64, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
    qp_ = ibv_create_qp(pd_, &attributes);
    REQUIRE(qp_ != nullptr);
    psn_ = sq_psn;
    for (ibv_wc wc; poll(wc);) {}
  }
  void connect(const RcEnd& peer, std::uint8_t retry_cnt) {
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_INIT;
    a.port_num = 1;
    a.qp_access_flags = kAccess;
    modify(a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    a.qp_state = IBV_QPS_RTR;
    a.path_mtu = IBV_MTU_1024;
    a.dest_qp_num = peer.qp_->qp_num;
    a.rq_psn = peer.psn_;
    a.max_dest_rd_atomic = a.max_rd_atomic = 16;
    a.min_rnr_timer = 12;
    a.ah_attr.is_global = 1;
    a.ah_attr.port_num = 1;
    a.ah_attr.grh.dgid = peer.gid_;
    a.ah_attr.grh.sgid_index = 1;
    a.ah_attr.grh.hop_limit = 64;
    modify(a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
                  IBV_QP_MIN_RNR_TIMER);
    a.qp_state = IBV_QPS_RTS;
    a.timeout = 8;
    a.retry_cnt = retry_cnt;
    a.rnr_retry = 3;
    a.sq_psn = psn_;
    modify(a, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
  }
  void to_error() {
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_ERR;
    modify(a, IBV_QP_STATE);
  }
  // The responder's expected PSN.
  std::uint32_t rq_psn() {
    ibv_qp_attr a{};
    ibv_qp_init_attr made{};
    REQUIRE(ibv_query_qp(qp_, &a, IBV_QP_RQ_PSN | IBV_QP_STATE, &made) == 0);
    return a.rq_psn & 0xffffff;
  }
  bool poll(ibv_wc& wc) { return ibv_poll_cq(cq_, 1, &wc) == 1; }
  void post_receive(std::uint64_t id, std::size_t offset, std::uint32_t length) {
    ibv_sge sge = at(offset, length);
    ibv_recv_wr wr{}, *bad = nullptr;
    wr.wr_id = id;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    REQUIRE(ibv_post_recv(qp_, &wr, &bad) == 0);
  }
  void post(ibv_send_wr& wr) {
    ibv_send_wr* bad = nullptr;
    REQUIRE(ibv_post_send(qp_, &wr, &bad) == 0);
  }
  ibv_sge at(std::size_t offset, std::uint32_t length) { return {remote(offset), length, mr_->lkey}; }
  std::uint64_t remote(std::size_t offset) { return reinterpret_cast<std::uint64_t>(memory.data() + offset); }
  [[nodiscard]] std::uint32_t rkey() const { return mr_->rkey; }

  std::vector<std::uint8_t> memory;

 private:
  static constexpr unsigned kAccess = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

  void modify(ibv_qp_attr& attributes, int mask) {
    INFO("modify to state " << attributes.qp_state);
    REQUIRE(ibv_modify_qp(qp_, &attributes, mask) == 0);
  }

  ibv_context* context_ = nullptr;
  ibv_pd* pd_ = nullptr;
  ibv_cq* cq_ = nullptr;
  ibv_mr* mr_ = nullptr;
  ibv_qp* qp_ = nullptr;
  union ibv_gid gid_{};
  std::uint32_t psn_ = 0;
};

}  // namespace rdmend::test
