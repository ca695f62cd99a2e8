/* SPDX-License-Identifier: Apache-2.0
 *
 * rnr_pair: an ordinary pair of RDMA processes with a receiver that can be slowed. Plain verbs, knows nothing of rdmend.
 *
 *   rnr_pair server --device rxe2 [options]     the responder: posts receives, verifies every message
 *   rnr_pair client --device rxe1 [options]     the requester: sends as fast as it can, or --rate messages a second
 *
 * While it is slowed, the server posts --post-burst receives a QP each --post-interval (ms) instead of each at once, so that it goes on at
 * a fixed rate and answers all that comes too early with an RNR NAK. It is slowed from --slow-from for --slow-for seconds, and for --slow-for seconds
 * (or until SIGUSR2) after each SIGUSR1. Both print a line a second; both exit 0 when every message arrived once, in order and whole.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { most_qps = 64, batch = 64 };

static struct {
	const char *device;
	int port, gid_index, qps, size, depth, window, min_rnr_timer, rnr_retry, timeout, rate, post_burst;
	double duration, slow_from, slow_for, post_interval;
	bool server;
} opt = {
	.device = "rxe1", .port = 18600, .gid_index = 1, .qps = 2, .size = 512, .depth = 256, .window = 16, .min_rnr_timer = 1,
	.rnr_retry = 7, .timeout = 14, .post_burst = 1, .duration = 10, .slow_from = -1, .slow_for = 30, .post_interval = 0.002,
};

struct connection {
	struct ibv_qp *qp;
	uint64_t sent, completed, received;
	int owed; /* receives consumed and not yet posted again */
	uint32_t psn;
};

static struct connection connections[most_qps];
static struct ibv_context *context;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static union ibv_gid gid;
static char *memory; /* a slot a QP and request */
static volatile sig_atomic_t stopped, slow_asked, slow_ended;

__attribute__((noreturn, format(printf, 1, 2))) static void die(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	fprintf(stderr, "rnr_pair %s: ", opt.server ? "server" : "client");
	vfprintf(stderr, format, list);
	fputc('\n', stderr);
	va_end(list);
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void on_signal(int number)
{
	if (number == SIGUSR1)
		slow_asked = 1;
	else if (number == SIGUSR2)
		slow_ended = 1;
	else
		stopped = 1;
}

static int slots(void)
{
	return opt.server ? opt.depth : opt.window;
}

static char *slot(int connection, int index)
{
	return memory + ((size_t)connection * (size_t)slots() + (size_t)index) * (size_t)opt.size;
}

/* Every byte depends on the message's number and the connection, so that a lost, doubled or mixed up message cannot pass. */
static void fill(char *message, int connection, uint64_t number)
{
	memcpy(message, &number, sizeof number);
	memset(message + sizeof number, (int)((number * 31 + (uint64_t)connection * 7) & 0xff), (size_t)opt.size - sizeof number);
}

static void verify(const char *message, int connection, uint64_t number)
{
	static char expected[65536];
	uint64_t got;

	fill(expected, connection, number);
	if (memcmp(message, expected, (size_t)opt.size) == 0)
		return;
	memcpy(&got, message, sizeof got);
	die("connection %d: message %" PRIu64 " expected, %" PRIu64 " or a damaged one came", connection, number, got);
}

static void post_receive(int connection, int index)
{
	struct ibv_sge sge = { (uintptr_t)slot(connection, index), (uint32_t)opt.size, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = (uint64_t)connection << 32 | (uint64_t)index, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (ibv_post_recv(connections[connection].qp, &wr, &bad))
		die("ibv_post_recv: %s", strerror(errno));
}

static void post_send(int connection)
{
	struct connection *c = &connections[connection];
	char *message = slot(connection, (int)(c->sent % (uint64_t)opt.window));
	struct ibv_sge sge = { (uintptr_t)message, (uint32_t)opt.size, mr->lkey };
	struct ibv_send_wr wr = { .wr_id = (uint64_t)connection << 32, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;

	fill(message, connection, c->sent++);
	if (ibv_post_send(c->qp, &wr, &bad))
		die("ibv_post_send: %s", strerror(errno));
}

static void open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	size_t bytes = (size_t)opt.qps * (size_t)slots() * (size_t)opt.size;
	struct ibv_pd *pd;

	for (int i = 0; list && list[i]; i++)
		if (strcmp(ibv_get_device_name(list[i]), opt.device) == 0)
			context = ibv_open_device(list[i]);
	if (!context)
		die("device %s cannot be opened", opt.device);
	ibv_free_device_list(list);
	if (ibv_query_gid(context, 1, opt.gid_index, &gid))
		die("%s has no GID %d", opt.device, opt.gid_index);
	pd = ibv_alloc_pd(context);
	cq = ibv_create_cq(context, opt.qps * slots() + 1, NULL, NULL, 0);
	memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
	mr = pd && memory ? ibv_reg_mr(pd, memory, bytes, IBV_ACCESS_LOCAL_WRITE) : NULL;
	if (!cq || !mr)
		die("the device's objects cannot be made: %s", strerror(errno));
	for (int i = 0; i < opt.qps; i++) {
		struct ibv_qp_init_attr init = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
			.cap = { .max_send_wr = (uint32_t)opt.window, .max_recv_wr = (uint32_t)opt.depth, .max_send_sge = 1, .max_recv_sge = 1 } };
		struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

		connections[i].qp = ibv_create_qp(pd, &init);
		connections[i].psn = (uint32_t)random() & 0xffffff;
		if (!connections[i].qp ||
		    ibv_modify_qp(connections[i].qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
			die("QP %d: %s", i, strerror(errno));
	}
}

static void connect_qp(int index, uint32_t qpn, uint32_t psn, const union ibv_gid *remote)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = qpn, .rq_psn = psn,
		.max_dest_rd_atomic = 1, .min_rnr_timer = (uint8_t)opt.min_rnr_timer,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .dgid = *remote, .sgid_index = (uint8_t)opt.gid_index, .hop_limit = 64 } } };
	struct ibv_qp *qp = connections[index].qp;

	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
		die("QP %d to RTR: %s", index, strerror(errno));
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .timeout = (uint8_t)opt.timeout, .retry_cnt = 7,
		.rnr_retry = (uint8_t)opt.rnr_retry, .sq_psn = connections[index].psn, .max_rd_atomic = 1 };
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
			  IBV_QP_MAX_QP_RD_ATOMIC))
		die("QP %d to RTS: %s", index, strerror(errno));
}

/* The TCP connection over which both ends tell each other their QPs, and the client at the end how much it sent. */
struct peer {
	FILE *in, *out;
};

static struct peer meet(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)opt.port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1, peer = -1;
	double limit = now() + 30;

	if (opt.server) {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
		if (bind(fd, (struct sockaddr *)&address, sizeof address) || listen(fd, 1) || (peer = accept(fd, NULL, NULL)) < 0)
			die("port %d: %s", opt.port, strerror(errno));
		close(fd);
		return (struct peer){ fdopen(peer, "r"), fdopen(dup(peer), "w") };
	}
	while (connect(fd, (struct sockaddr *)&address, sizeof address)) {
		if (now() > limit || stopped)
			die("no server at port %d: %s", opt.port, strerror(errno));
		close(fd);
		usleep(50000);
		fd = socket(AF_INET, SOCK_STREAM, 0);
	}
	return (struct peer){ fdopen(fd, "r"), fdopen(dup(fd), "w") };
}

static void exchange(struct peer peer)
{
	char line[96], text[INET6_ADDRSTRLEN];

	if (opt.server) /* all receives stand before the client may send */
		for (int i = 0; i < opt.qps; i++)
			for (int r = 0; r < opt.depth; r++)
				post_receive(i, r);
	for (int turn = 0; turn < 2; turn++) {
		bool tell = opt.server == (turn == 1);

		for (int i = 0; i < opt.qps; i++) {
			uint32_t qpn, psn;
			union ibv_gid remote;

			if (tell) {
				inet_ntop(AF_INET6, &gid, text, sizeof text);
				fprintf(peer.out, "%u %u %s\n", connections[i].qp->qp_num, connections[i].psn, text);
			} else if (!fgets(line, sizeof line, peer.in) || sscanf(line, "%u %u %45s", &qpn, &psn, text) != 3 || inet_pton(AF_INET6, text, &remote) != 1) {
				die("the other end does not name %d QPs", opt.qps);
			} else {
				connect_qp(i, qpn, psn, &remote);
			}
		}
		fflush(peer.out);
	}
}

static int poll_completions(struct ibv_wc *wc)
{
	int n = ibv_poll_cq(cq, batch, wc);

	if (n < 0)
		die("ibv_poll_cq failed");
	for (int i = 0; i < n; i++)
		if (wc[i].status != IBV_WC_SUCCESS)
			die("connection %d failed: %s", (int)(wc[i].wr_id >> 32), ibv_wc_status_str(wc[i].status));
	return n;
}

/* A line a second: what went through in it. */
static void report(double began, uint64_t total, const char *remark)
{
	static double last;
	static uint64_t before;
	double t = now();

	if (last == 0)
		last = began;
	if (t - last < 1)
		return;
	printf("%s %6.1f s  %8.0f msg/s  %10" PRIu64 " total%s\n", opt.server ? "server" : "client", t - began,
	       (double)(total - before) / (t - last), total, remark);
	fflush(stdout);
	last = t;
	before = total;
}

static uint64_t sum(size_t offset)
{
	uint64_t total = 0;

	for (int i = 0; i < opt.qps; i++)
		total += *(uint64_t *)((char *)&connections[i] + offset);
	return total;
}
#define SUM(member) sum(offsetof(struct connection, member))

static void pay_back(int most)
{
	for (int i = 0; i < opt.qps; i++)
		for (int n = 0; n < most && connections[i].owed > 0; n++)
			/* receives complete in order, so the slot owed longest is the next one in the ring */
			post_receive(i, (int)((connections[i].received - (uint64_t)connections[i].owed--) % (uint64_t)opt.depth));
}

static void serve(struct peer peer)
{
	double began = now(), slow_until = 0, next_post = 0;
	uint64_t promised = UINT64_MAX;
	char line[64];
	struct ibv_wc wc[batch];

	if (opt.slow_from >= 0)
		slow_until = began + opt.slow_from + opt.slow_for;
	while (!stopped && SUM(received) < promised) {
		int n = poll_completions(wc);
		double t = now();
		bool slow;

		if (slow_asked)
			slow_until = t + opt.slow_for;
		if (slow_ended)
			slow_until = 0;
		if (slow_asked || slow_ended)
			opt.slow_from = -1;
		slow_asked = slow_ended = 0;
		slow = t < slow_until && t >= began + (opt.slow_from > 0 ? opt.slow_from : 0);
		for (int i = 0; i < n; i++) {
			int c = (int)(wc[i].wr_id >> 32);

			verify(slot(c, (int)(wc[i].wr_id & 0xffffffff)), c, connections[c].received++);
			connections[c].owed++;
		}
		if (!slow) {
			pay_back(opt.depth);
			next_post = 0;
		} else if (t >= next_post) {
			pay_back(opt.post_burst);
			next_post = (next_post > 0 && t - next_post < 0.1 ? next_post : t) + opt.post_interval;
		}
		report(began, SUM(received), slow ? "  slowed" : "");
		if (n == 0) {
			usleep(100);
			if (recv(fileno(peer.in), line, 1, MSG_PEEK | MSG_DONTWAIT) >= 0) {
				if (!fgets(line, sizeof line, peer.in))
					die("the client went away after %" PRIu64 " messages", SUM(received));
				promised = strtoull(line, NULL, 10);
			}
		}
	}
	if (!stopped)
		fprintf(peer.out, "%" PRIu64 "\n", SUM(received));
	fflush(peer.out);
	printf("server: %" PRIu64 " messages received, each once, in order and whole\n", SUM(received));
}

static void request(struct peer peer)
{
	double began = now(), end = began + opt.duration, before = began, allowance = 0;
	struct ibv_wc wc[batch];
	char line[64];
	int next = 0;

	for (;;) {
		double t = now();
		bool sending = t < end && !stopped;
		int n = poll_completions(wc), posted = 0;

		for (int i = 0; i < n; i++)
			connections[wc[i].wr_id >> 32].completed++;
		/* what could not be sent in time is not made up for, but for a tenth of a second's worth */
		allowance += (t - before) * opt.rate;
		if (allowance > opt.rate / 10.0)
			allowance = opt.rate / 10.0;
		before = t;
		for (int tries = 0; sending && tries < opt.qps; tries++, next = (next + 1) % opt.qps)
			while (connections[next].sent - connections[next].completed < (uint64_t)opt.window && (!opt.rate || allowance >= 1)) {
				post_send(next);
				allowance -= 1;
				posted++;
				if (opt.rate)
					break; /* paced: the connections take turns */
			}
		report(began, SUM(completed), "");
		if (!sending && SUM(completed) == SUM(sent))
			break;
		if (n + posted == 0)
			usleep(100);
	}
	fprintf(peer.out, "%" PRIu64 "\n", SUM(sent));
	fflush(peer.out);
	if (!fgets(line, sizeof line, peer.in) || strtoull(line, NULL, 10) != SUM(sent))
		die("%" PRIu64 " messages sent, the server confirms %s", SUM(sent), line);
	printf("client: %" PRIu64 " messages sent, all confirmed\n", SUM(sent));
}

static void parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "device", 1, 0, 'd' }, { "port", 1, 0, 'p' }, { "gid-index", 1, 0, 'g' }, { "qps", 1, 0, 'q' }, { "size", 1, 0, 's' },
		{ "depth", 1, 0, 'D' }, { "window", 1, 0, 'w' }, { "min-rnr-timer", 1, 0, 'm' }, { "rnr-retry", 1, 0, 'n' },
		{ "timeout", 1, 0, 't' }, { "rate", 1, 0, 'r' }, { "duration", 1, 0, 'e' }, { "slow-from", 1, 0, 'f' },
		{ "slow-for", 1, 0, 'l' }, { "post-interval", 1, 0, 'i' }, { "post-burst", 1, 0, 'b' }, { 0 },
	};
	int c;

	if (argc < 2 || (strcmp(argv[1], "server") && strcmp(argv[1], "client")))
		die("first argument: server or client");
	opt.server = !strcmp(argv[1], "server");
	optind = 2;
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
		switch (c) {
		case 'd': opt.device = optarg; break;
		case 'p': opt.port = atoi(optarg); break;
		case 'g': opt.gid_index = atoi(optarg); break;
		case 'q': opt.qps = atoi(optarg); break;
		case 's': opt.size = atoi(optarg); break;
		case 'D': opt.depth = atoi(optarg); break;
		case 'w': opt.window = atoi(optarg); break;
		case 'm': opt.min_rnr_timer = atoi(optarg); break;
		case 'n': opt.rnr_retry = atoi(optarg); break;
		case 't': opt.timeout = atoi(optarg); break;
		case 'r': opt.rate = atoi(optarg); break;
		case 'e': opt.duration = atof(optarg); break;
		case 'f': opt.slow_from = atof(optarg); break;
		case 'l': opt.slow_for = atof(optarg); break;
		case 'i': opt.post_interval = atof(optarg) / 1000; break; /* milliseconds */
		case 'b': opt.post_burst = atoi(optarg); break;
		default: exit(2);
		}
	if (opt.qps < 1 || opt.qps > most_qps || opt.size < 8 || opt.size > 65536 || opt.depth < 1 || opt.window < 1 ||
	    opt.min_rnr_timer < 0 || opt.min_rnr_timer > 31)
		die("a number is out of range");
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct peer peer;

	parse(argc, argv);
	srandom((unsigned)getpid() ^ (unsigned)time(NULL));
	for (const int *s = (const int[]){ SIGUSR1, SIGUSR2, SIGTERM, SIGINT, 0 }; *s; s++)
		sigaction(*s, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	open_device();
	peer = meet();
	exchange(peer);
	if (opt.server)
		serve(peer);
	else
		request(peer);
	return 0;
}
