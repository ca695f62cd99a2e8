// SPDX-License-Identifier: Apache-2.0
// qp_owner MODE COUNT: an ordinary verbs program that has never heard of rdmend. Makes COUNT pairs of RC queue pairs, one on rxe1 and
// one on rxe2, connected to each other, says "qp DEVICE QPN TIMER" for each and "ready", then does what it is told on stdin, a word a line:
//   timers            reads every QP's min_rnr_timer and state back from the driver: "timer DEVICE QPN CODE STATE", then "ok"
//   start | stop      messages go through all pairs, without end | until here: "stopped MESSAGES FAILED"
//   churn COUNT       destroys and makes again (connected) COUNT QPs: "churned COUNT ebusy N tries WORST us WORST failed N"
//   destroy           destroys every QP: "destroyed COUNT ebusy N failed N"
//   handover          a forked child goes on, we end: "child PID"
//   exit              ends without destroying anything
// MODE: main, threads (each pair made by a thread that lives on), ended (by a thread that has ended), leaderless (as threads, and the main
// thread has ended), rtr (rxe1's stay in RTR), alike (COUNT on rxe1, all with the same peer and PSNs), twice (a second, unused context).
#include <errno.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 5000, DEPTH = 8, BUFFER = 4096 };

struct side {
  const char* name;
  struct ibv_context* context;
  struct ibv_pd* pd;
  struct ibv_cq* cq;
  struct ibv_mr* mr;
  union ibv_gid gid;
  char* buffer;
};
struct end {
  struct side* side;
  struct ibv_qp* qp;
  uint32_t psn;
  uint8_t timer;
};

static struct side sides[2] = {{.name = "rxe1"}, {.name = "rxe2"}};
static struct end ends[MOST][2];
static int count;
static const char* mode;
static atomic_int made, traffic, messages, failures;

static void die(const char* what) {
  fprintf(stderr, "qp_owner: %s: %s\n", what, strerror(errno));
  exit(1);
}

static struct ibv_context* open_device(const char* name) {
  struct ibv_device** list = ibv_get_device_list(NULL);
  struct ibv_context* context = NULL;
  for (int i = 0; list && list[i]; i++)
    if (!strcmp(ibv_get_device_name(list[i]), name)) context = ibv_open_device(list[i]);
  if (list) ibv_free_device_list(list);
  if (!context) die(name);
  return context;
}

static void open_side(struct side* s) {
  s->context = open_device(s->name);
  s->pd = ibv_alloc_pd(s->context);
  s->cq = ibv_create_cq(s->context, 2 * DEPTH * (count + 1) < 30000 ? 2 * DEPTH * (count + 1) : 30000, NULL, NULL, 0);
  s->buffer = aligned_alloc(4096, 2 * BUFFER);
  s->mr = ibv_reg_mr(s->pd, s->buffer, 2 * BUFFER, IBV_ACCESS_LOCAL_WRITE);
  if (!s->pd || !s->cq || !s->mr || ibv_query_gid(s->context, 1, 1, &s->gid)) die("resources");
}

static int make(struct end* e) {
  struct ibv_qp_init_attr init = {.send_cq = e->side->cq, .recv_cq = e->side->cq, .qp_type = IBV_QPT_RC,
                                  .cap = {.max_send_wr = DEPTH, .max_recv_wr = DEPTH, .max_send_sge = 1, .max_recv_sge = 1}};
  e->qp = ibv_create_qp(e->side->pd, &init);
  return e->qp ? 0 : errno;
}

static int connect_to(struct end* e, const struct end* peer, int rts) {
  struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = 1};
  struct ibv_qp_attr rtr = {.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = peer->qp->qp_num, .rq_psn = peer->psn,
                            .max_dest_rd_atomic = 1, .min_rnr_timer = e->timer,
                            .ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = peer->side->gid, .sgid_index = 1, .hop_limit = 64}}};
  struct ibv_qp_attr up = {.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .sq_psn = e->psn, .max_rd_atomic = 1};
  int error = ibv_modify_qp(e->qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  if (!error)
    error = ibv_modify_qp(e->qp, &rtr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  if (!error && rts)
    error = ibv_modify_qp(e->qp, &up, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
  return error;
}

static int is(const char* name) { return !strcmp(mode, name); }

static void make_pair(int i) {
  struct end *a = &ends[i][0], *b = &ends[i][1];
  for (int k = 0; k < 2; k++) {
    struct end* e = &ends[i][k];
    e->side = &sides[k];
    e->psn = is("alike") ? 0 : (uint32_t)lrand48() & 0xffffff;
    // Every timer code in turn: a hand that takes one QP for another reads or writes the wrong one.
    e->timer = is("alike") ? 12 : (uint8_t)(1 + (2 * i + k) % 31);
    if (is("alike") && k == 1 && i > 0) ends[i][1] = ends[0][1];
    else if (make(e)) die("ibv_create_qp");
  }
  if (connect_to(a, b, !is("rtr"))) die("connecting rxe1's");
  if ((!is("alike") || i == 0) && connect_to(b, a, 1)) die("connecting rxe2's");
  atomic_fetch_add(&made, 1);
}

static void* maker(void* argument) {
  make_pair((int)(intptr_t)argument);
  if (!is("ended"))
    for (;;) pause();
  return NULL;
}

static void post_receive(struct end* e) {
  struct ibv_sge sge = {(uintptr_t)e->side->buffer + BUFFER, 64, e->side->mr->lkey};
  struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;
  if (ibv_post_recv(e->qp, &wr, &bad)) atomic_fetch_add(&failures, 1);
}

static void poll_side(struct side* s, int* done) {
  struct ibv_wc wc[32];
  int n = ibv_poll_cq(s->cq, 32, wc);
  for (int i = 0; i < n; i++)
    if (wc[i].status) atomic_fetch_add(&failures, 1);
  *done += n > 0 ? n : 0;
}

// One message a pair at a time, both completions waited for, one pair after the other.
static void* pump(void* unused) {
  (void)unused;
  for (int i = 0; traffic && !failures; i = (i + 1) % count) {
    struct ibv_sge sge = {(uintptr_t)sides[0].buffer, 64, sides[0].mr->lkey};
    struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED}, *bad;
    post_receive(&ends[i][1]);
    if (ibv_post_send(ends[i][0].qp, &wr, &bad)) atomic_fetch_add(&failures, 1);
    int sent = 0, received = 0;
    while ((!sent || !received) && !failures) {
      poll_side(&sides[0], &sent);
      poll_side(&sides[1], &received);
    }
    atomic_fetch_add(&messages, 1);
  }
  return NULL;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

// As a patient application does: EBUSY is tried again. How often, how many times at most and how long at most go into the figures.
struct figures {
  int ebusy, tries, failed;
  double worst;
};
static void destroy(struct end* e, struct figures* f) {
  double began = now();
  int tries = 0, error;
  while ((error = ibv_destroy_qp(e->qp)) == EBUSY && tries < 1000000) tries++;
  if (error) f->failed++;
  f->ebusy += tries;
  if (tries > f->tries) f->tries = tries;
  if (tries && now() - began > f->worst) f->worst = now() - began;
  e->qp = NULL;
}

static void churn(int rounds) {
  struct figures f = {0};
  for (int r = 0; r < rounds; r++) {
    struct end* e = &ends[r % count][0];
    destroy(e, &f);
    e->psn = (uint32_t)lrand48() & 0xffffff;
    if (make(e) || connect_to(e, &ends[r % count][1], 1)) die("making a QP again");
  }
  printf("churned %d ebusy %d tries %d us %.0f failed %d\n", rounds, f.ebusy, f.tries, f.worst, f.failed);
}

static void destroy_all(void) {
  struct figures f = {0};
  int n = 0;
  for (int i = 0; i < count; i++)
    for (int k = 0; k < 2; k++)
      if (ends[i][k].qp && (k == 0 || i == 0 || !is("alike"))) destroy(&ends[i][k], &f), n++;
  printf("destroyed %d ebusy %d failed %d\n", n, f.ebusy, f.failed);
}

static void timers(void) {
  for (int i = 0; i < count; i++)
    for (int k = 0; k < (is("alike") && i ? 1 : 2); k++) {
      struct ibv_qp_attr attr;
      struct ibv_qp_init_attr init;
      if (ibv_query_qp(ends[i][k].qp, &attr, IBV_QP_STATE | IBV_QP_MIN_RNR_TIMER, &init)) die("ibv_query_qp");
      printf("timer %s %u %d %d\n", sides[k].name, ends[i][k].qp->qp_num, attr.min_rnr_timer, attr.qp_state);
    }
  puts("ok");
}

static void* obey(void* unused) {
  (void)unused;
  char line[64];
  pthread_t thread;
  while (fgets(line, sizeof line, stdin)) {
    line[strcspn(line, "\n")] = 0;
    if (!strcmp(line, "timers")) {
      timers();
    } else if (!strcmp(line, "start")) {
      traffic = 1;
      pthread_create(&thread, NULL, pump, NULL);
      puts("started");
    } else if (!strcmp(line, "stop")) {
      traffic = 0;
      pthread_join(thread, NULL);
      printf("stopped %d %d\n", messages, failures);
    } else if (!strncmp(line, "churn ", 6)) {
      churn(atoi(line + 6));
    } else if (!strcmp(line, "destroy")) {
      destroy_all();
    } else if (!strcmp(line, "handover")) {
      fflush(stdout);
      pid_t child = fork();
      if (child) _exit(child < 0);
      setvbuf(stdout, NULL, _IOLBF, 0);
      printf("child %d\n", getpid());
    } else if (!strcmp(line, "exit")) {
      _exit(0);
    } else {
      printf("what is '%s'?\n", line);
    }
    fflush(stdout);
  }
  _exit(0);
}

int main(int argc, char** argv) {
  if (argc != 3 || (count = atoi(argv[2])) < 1 || count > MOST) {
    fputs("usage: qp_owner MODE COUNT\n", stderr);
    return 2;
  }
  mode = argv[1];
  srand48(getpid());
  open_side(&sides[0]);
  open_side(&sides[1]);
  if (is("twice")) open_device("rxe1");
  const int threads = is("threads") || is("ended") || is("leaderless");
  for (int i = 0; i < count; i++) {
    pthread_t thread;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 128 * 1024);
    if (!threads) make_pair(i);
    else if (pthread_create(&thread, &small, maker, (void*)(intptr_t)i)) die("pthread_create");
    else if (is("ended")) pthread_join(thread, NULL);
    while (made <= i) usleep(100);
  }
  for (int i = 0; i < count; i++)
    for (int k = 0; k < (is("alike") && i ? 1 : 2); k++) printf("qp %s %u %d\n", sides[k].name, ends[i][k].qp->qp_num, ends[i][k].timer);
  printf("ready\n");
  fflush(stdout);
  if (is("leaderless")) {
    pthread_t thread;
    pthread_create(&thread, NULL, obey, NULL);
    pthread_exit(NULL);
  }
  obey(NULL);
}
