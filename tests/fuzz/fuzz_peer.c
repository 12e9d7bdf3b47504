/*
 * fuzz_peer.c -- see fuzz_peer.h
 */
#include "fuzz_peer.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"

enum { MOST_SECONDS = 60 }; /* for one job */

/* What travels before the reductions. */
typedef struct Request {
    uint64_t seed;
    uint32_t ops, lanes, reduction_count, guard;
    uint32_t last; /* no job: the end */
    uint32_t unused;
} Request;

static bool transfer(int file, void *data, size_t size, bool out)
{
    char *at = data;
    while (size) {
        ssize_t n = out ? write(file, at, size) : read(file, at, size);
        if (n <= 0)
            return false;
        at += n;
        size -= (size_t) n;
    }
    return true;
}

/* ------------------------------------------------------------------ in the process */

static bool answer(const FuzzPeer *peer, FuzzOutcome *out)
{
    return transfer(peer->to, &out->size, sizeof out->size, true) &&
           transfer(peer->to, out->error, sizeof out->error, true) &&
           transfer(peer->to, out->data, out->size, true);
}

/* Jobs until there are no more; true if that was the end that was asked for. '*busy' is
 * set while one runs. */
static bool serve(const FuzzPeer *peer, volatile bool *busy)
{
    Request request;
    while (transfer(peer->from, &request, sizeof request, false) && !request.last) {
        uint8_t *reductions = alloc_get(request.reduction_count);
        FuzzOutcome out;
        FuzzJob job = { request.seed,  request.ops,
                        request.lanes, request.reduction_count,
                        reductions,    (FuzzGuard) request.guard };
        if (!reductions ||
            !transfer(peer->from, reductions, request.reduction_count, false)) {
            alloc_free(reductions);
            return false;
        }
        *busy = true;
        alarm(MOST_SECONDS);
        if (peer->variant.prepare)
            peer->variant.prepare(job.seed);
        fuzz_run(&job, peer->variant.engine, &out);
        alarm(0);
        *busy = false;
        alloc_free(reductions);
        bool ok = answer(peer, &out);
        fuzz_outcome_free(&out);
        if (!ok)
            return false;
    }
    return request.last;
}

/* Answer for a server that died. */
static bool answer_crash(const FuzzPeer *peer, int status)
{
    const char *name = peer->variant.name;
    FuzzOutcome out = { 0 };
    if (!WIFSIGNALED(status))
        snprintf(out.error, sizeof out.error, "%s ended", name);
    else if (WTERMSIG(status) == SIGALRM)
        snprintf(out.error, sizeof out.error, "%s takes longer than %d s", name,
                 MOST_SECONDS);
    else
        snprintf(out.error, sizeof out.error, "%s crashed: %s", name,
                 strsignal(WTERMSIG(status)));
    return answer(peer, &out);
}

/* Servers until one ends while it has nothing to do. */
static int supervise(const FuzzPeer *peer)
{
    bool *busy = mmap(NULL, sizeof *busy, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (busy == MAP_FAILED)
        return 1;
    for (;;) {
        int status = 0;
        *busy = false;
        pid_t pid = fork();
        if (pid == 0) {
            if (peer->variant.variable)
                setenv(peer->variant.variable, peer->variant.value, 1);
            exit(serve(peer, busy) ? 0 : 2);
        }
        if (pid < 0 || waitpid(pid, &status, 0) != pid)
            return 1;
        if (!*busy)
            return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
        if (!answer_crash(peer, status))
            return 1;
    }
}

/* ------------------------------------------------------------------- in the parent */

bool fuzz_peer_start(FuzzPeer *peer, const FuzzVariant *variant)
{
    int down[2], up[2];
    peer->variant = *variant;
    if (pipe(down) != 0 || pipe(up) != 0)
        return false;
    fflush(NULL);
    peer->pid = fork();
    if (peer->pid < 0)
        return false;
    bool child = peer->pid == 0;
    close(child ? down[1] : down[0]);
    close(child ? up[0] : up[1]);
    peer->to = child ? up[1] : down[1];
    peer->from = child ? down[0] : up[0];
    if (child)
        _exit(supervise(peer));
    return true;
}

void fuzz_peer_send(const FuzzPeer *peer, const FuzzJob *job)
{
    Request request;
    memset(&request, 0, sizeof request);
    request.seed = job->seed;
    request.ops = job->ops;
    request.lanes = job->lanes;
    request.reduction_count = job->reduction_count;
    request.guard = job->guard;
    /* If the peer is gone, receiving will tell. */
    if (transfer(peer->to, &request, sizeof request, true))
        transfer(peer->to, (void *) job->reductions, job->reduction_count, true);
}

void fuzz_peer_receive(const FuzzPeer *peer, FuzzOutcome *out)
{
    memset(out, 0, sizeof *out);
    if (transfer(peer->from, &out->size, sizeof out->size, false) &&
        transfer(peer->from, out->error, sizeof out->error, false)) {
        out->data = out->size ? alloc_aligned(out->size) : NULL;
        if (!out->data || transfer(peer->from, out->data, out->size, false))
            return;
    }
    fuzz_outcome_free(out);
    snprintf(out->error, sizeof out->error, "the process of %s is gone",
             peer->variant.name);
}

bool fuzz_peer_stop(const FuzzPeer *peer)
{
    Request request;
    memset(&request, 0, sizeof request);
    request.last = 1;
    bool ok = transfer(peer->to, &request, sizeof request, true);
    close(peer->to);
    close(peer->from);
    int status = 0;
    return waitpid(peer->pid, &status, 0) == peer->pid && ok && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}
