/* The roads by which a program can destroy: `roads ROAD TARGET OTHER`. Exits with the errno, 0 for success.
 *
 * TARGET is a file (a directory for rmdir); OTHER a name beside it that is free (for rename) or taken (for exchange and
 * rename-over). io_uring is driven by bare system calls, so that no library has to be installed. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *target, *other;

static int result(int status) { return status < 0 ? errno : 0; }

static void *in_thread(void *out) {
    *(int *)out = result(unlink(target));
    return NULL;
}

static int by_thread(void) {
    pthread_t thread;
    int out = 0;
    if (pthread_create(&thread, NULL, in_thread, &out)) return EAGAIN;
    pthread_join(thread, NULL);
    return out;
}

/* Forks twice, leaves the session and the parent behind, and reports through a pipe. */
static int by_daemon(void) {
    int ends[2], out = EIO;
    if (pipe(ends)) return errno;
    if (fork() == 0) {
        setsid();
        if (fork() == 0) {
            usleep(100000);
            out = result(unlink(target));
            if (write(ends[1], &out, sizeof out) < 0) _exit(1);
        }
        _exit(0);
    }
    wait(NULL);
    close(ends[1]);
    if (read(ends[0], &out, sizeof out) != sizeof out) return EPIPE;
    return out;
}

static int by_grandchild(void) {
    int status = 0;
    if (fork() == 0) {
        if (fork() == 0) _exit(result(unlink(target)));
        wait(&status);
        _exit(WEXITSTATUS(status));
    }
    wait(&status);
    return WEXITSTATUS(status);
}

/* IORING_OP_UNLINKAT; `async` sends it to a worker thread of the kernel. */
static int by_ring(int async) {
    struct io_uring_params params = {0};
    int ring = syscall(SYS_io_uring_setup, 4, &params);
    if (ring < 0) return errno == ENOSYS || errno == EPERM ? 254 : errno;
    char *sq = mmap(0, params.sq_off.array + params.sq_entries * 4, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring,
                    IORING_OFF_SQ_RING);
    char *cq = mmap(0, params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_CQ_RING);
    struct io_uring_sqe *sqe = mmap(0, params.sq_entries * sizeof *sqe, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring,
                                    IORING_OFF_SQES);
    if (sq == MAP_FAILED || cq == MAP_FAILED || sqe == MAP_FAILED) return errno;
    sqe->opcode = IORING_OP_UNLINKAT;
    sqe->flags = async ? IOSQE_ASYNC : 0;
    sqe->fd = AT_FDCWD;
    sqe->addr = (unsigned long)target;
    unsigned tail = *(unsigned *)(sq + params.sq_off.tail);
    ((unsigned *)(sq + params.sq_off.array))[tail & *(unsigned *)(sq + params.sq_off.ring_mask)] = 0;
    __atomic_store_n((unsigned *)(sq + params.sq_off.tail), tail + 1, __ATOMIC_RELEASE);
    if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0) return errno;
    struct io_uring_cqe *cqe = (struct io_uring_cqe *)(cq + params.cq_off.cqes);
    return cqe[*(unsigned *)(cq + params.cq_off.head) & *(unsigned *)(cq + params.cq_off.ring_mask)].res ? -cqe->res : 0;
}

static int by_descriptor(void) {
    int fd = open(target, O_WRONLY);
    if (fd < 0) return errno;
    return result(ftruncate(fd, 0));
}

int main(int count, char **words) {
    if (count != 4) return 255;
    const char *road = words[1];
    target = words[2];
    other = words[3];
    if (!strcmp(road, "unlink")) return result(unlink(target));
    if (!strcmp(road, "unlinkat")) return result(unlinkat(AT_FDCWD, target, 0));
    if (!strcmp(road, "rmdir")) return result(rmdir(target));
    if (!strcmp(road, "unlinkat-dir")) return result(unlinkat(AT_FDCWD, target, AT_REMOVEDIR));
    if (!strcmp(road, "rename")) return result(rename(target, other));
    if (!strcmp(road, "rename-over")) return result(rename(other, target));
    if (!strcmp(road, "exchange")) return result(syscall(SYS_renameat2, AT_FDCWD, target, AT_FDCWD, other, 2));
    if (!strcmp(road, "truncate")) return result(truncate(target, 0));
    if (!strcmp(road, "ftruncate")) return by_descriptor();
    if (!strcmp(road, "open-truncate")) return result(open(target, O_WRONLY | O_TRUNC));
    if (!strcmp(road, "thread")) return by_thread();
    if (!strcmp(road, "grandchild")) return by_grandchild();
    if (!strcmp(road, "daemon")) return by_daemon();
    if (!strcmp(road, "ring")) return by_ring(0);
    if (!strcmp(road, "ring-worker")) return by_ring(1);
    return 255;
}
