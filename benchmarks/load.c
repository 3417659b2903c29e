/* Pages at a fixed rate, whatever becomes of those before, and feedback on each; prints how many milliseconds each page
   took, the shortest first.

       cc -O2 -o load load.c && ./load PORT RATE SECONDS CONNECTIONS NAME < BODY

   A page takes from the moment at which it was due to its answer. So that little of a machine with few cores goes to
   the one that asks, this is C and does not parse JSON. RATE 0: all connections are busy all the time, and there is no
   feedback. Feedback has connections of its own, as many. NAME begins the names of events; - means no feedback. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define ROOM 65536
#define WAITING (1 << 20)

struct line { int file, busy, feedback, used, whole; double due; char found[ROOM + 1]; };
struct told { char impression[128], item[128]; };

static char body[1 << 20], request[(1 << 20) + 256];
static struct told *clicks;
static long given, asked;

static void fail(const char *what) { perror(what); exit(1); }

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

static void copy_field(const char *text, const char *name, char *to) {
    const char *begin = strstr(text, name);
    if (!begin) { fprintf(stderr, "no %s in %s\n", name, text); exit(1); }
    begin += strlen(name);
    size_t size = strcspn(begin, "\"");
    if (size > 127) size = 127;
    memcpy(to, begin, size);
    to[size] = 0;
}

static void send_all(struct line *line, const char *text, size_t size) {
    while (size) {
        ssize_t sent = send(line->file, text, size, MSG_NOSIGNAL);
        if (sent < 0) fail("send");
        text += sent;
        size -= sent;
    }
    line->busy = 1;
    line->used = line->whole = 0;
}

static void post(struct line *line, const char *path, const char *content, size_t size) {
    int head = sprintf(request, "POST %s HTTP/1.1\r\nhost: x\r\ncontent-length: %zu\r\n\r\n", path, size);
    memcpy(request + head, content, size);
    send_all(line, request, head + size);
}

static void give(struct line *line, const char *name) {
    char text[512];
    struct told *told = &clicks[given % WAITING];
    int size = sprintf(text, "{\"impression\": \"%s\", \"event\": \"%s-%ld\", \"clicks\": [\"%s\"]}", told->impression,
                       name, given, told->item);
    given++;
    post(line, "/feedback", text, size);
}

/* What has come; 1 once an answer is whole. */
static int take(struct line *line) {
    ssize_t size = recv(line->file, line->found + line->used, ROOM - line->used, MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    if (size <= 0) { fprintf(stderr, "a connection was closed\n"); exit(1); }
    line->used += size;
    line->found[line->used] = 0;
    char *end = strstr(line->found, "\r\n\r\n");
    if (!end) return 0;
    if (!line->whole) {
        if (strncmp(line->found, "HTTP/1.1 200", 12)) { fprintf(stderr, "%.300s\n", line->found); exit(1); }
        char *length = strcasestr(line->found, "content-length:");
        line->whole = end + 4 - line->found + atoi(length + 15);
    }
    return line->used >= line->whole;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int count, char **words) {
    if (count < 6) { fprintf(stderr, "load PORT RATE SECONDS CONNECTIONS NAME < BODY\n"); return 2; }
    double rate = atof(words[2]), seconds = atof(words[3]);
    int replies = rate > 0 && strcmp(words[5], "-");
    int each = atoi(words[4]), lines = replies ? 2 * each : each, queue = epoll_create1(0);
    size_t size = fread(body, 1, sizeof body, stdin);
    long pages = rate > 0 ? (long)(rate * seconds) : 0, due = 0, done = 0, answered = 0, most = 64 + 50000 * seconds;
    double *taken = malloc(sizeof(double) * (pages + most)), *late = malloc(sizeof(double) * (pages + most));
    struct line *all = calloc(lines, sizeof *all);
    clicks = malloc(sizeof *clicks * WAITING);
    for (int i = 0; i < lines; i++) {
        struct sockaddr_in place = {.sin_family = AF_INET, .sin_port = htons(atoi(words[1]))};
        int one = 1;
        place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        all[i].file = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(all[i].file, (struct sockaddr *)&place, sizeof place)) fail("connect");
        setsockopt(all[i].file, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        all[i].feedback = i >= each;
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &all[i]};
        epoll_ctl(queue, EPOLL_CTL_ADD, all[i].file, &event);
    }
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    struct epoll_event tick = {.events = EPOLLIN, .data.ptr = NULL};
    epoll_ctl(queue, EPOLL_CTL_ADD, timer, &tick);
    double begun = now() + 0.05, end = begun + seconds;
    for (;;) {
        double at = now();
        if (rate > 0) while (due < pages && begun + due / rate <= at) due++;
        for (int i = 0; i < lines; i++) {
            struct line *line = &all[i];
            if (line->busy) continue;
            if (line->feedback) {
                if (given < answered) give(line, words[5]);
            } else if (rate > 0 ? asked < due : at < end) {
                line->due = rate > 0 ? begun + asked / rate : at;
                late[asked] = at - line->due;
                asked++;
                post(line, "/rank", body, size);
            }
        }
        int busy = 0;
        for (int i = 0; i < lines; i++) busy += all[i].busy;
        if (!busy && (rate > 0 ? done == pages && given == answered : at >= end)) break;
        if (rate > 0 && due < pages) {
            double next = begun + due / rate;
            struct itimerspec when = {.it_value = {(time_t)next, (long)(1e9 * (next - (time_t)next))}};
            timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL);
        }
        struct epoll_event events[256];
        int found = epoll_wait(queue, events, 256, 1000);
        for (int i = 0; i < found; i++) {
            struct line *line = events[i].data.ptr;
            if (!line) {
                uint64_t times;
                if (read(timer, &times, sizeof times) < 0 && errno != EAGAIN) fail("timer");
                continue;
            }
            if (!take(line)) continue;
            line->busy = 0;
            if (line->feedback) continue;
            taken[done++] = now() - line->due;
            if (replies) {
                struct told *told = &clicks[answered++ % WAITING];
                copy_field(line->found, "\"impression\":\"", told->impression);
                copy_field(line->found, "\"item\":\"", told->item);
            }
        }
    }
    qsort(taken, done, sizeof(double), by_size);
    qsort(late, done, sizeof(double), by_size);
    printf("{\"pages\": %ld, \"rate\": %.1f, \"late_p99\": %.3f, \"taken\": [", done, done / (now() - begun),
           done ? 1000 * late[(long)(0.99 * (done - 1))] : 0.0);
    for (long i = 0; i < done; i++) printf("%s%.3f", i ? ", " : "", 1000 * taken[i]);
    printf("]}\n");
    return 0;
}
