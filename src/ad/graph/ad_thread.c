/*
 * ad_thread.c -- see ad_thread.h
 */
#include "ad/graph/ad_thread.h"

#include <pthread.h>

#include "ad/graph/ad_open.h"
#include "ad/graph/ad_scope.h"
#include "base/alloc.h"
#include "base/error.h"
#include "trace/graph/record.h"

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void thread_end(void *payload)
{
    AdThread *t = payload;
    thread_self.ad = NULL;
    state_lock();
    ad_open_drop_all(t);
    ad_border_drop(t->due, t->due_count);
    while (t->scope_count)
        ad_scope_drop(t);
    state_unlock();
    alloc_free(t->scopes);
    ad_visits_free(&t->visits);
    text_free(&t->whos);
    text_free(&t->graphviz);
    text_free(&t->explain);
    alloc_free(t);
}

static void make_key(void)
{
    pthread_key_create(&key, thread_end);
}

AdThread *ad_thread_make(void)
{
    pthread_once(&once, make_key);
    AdThread *t = alloc_zero(1, sizeof(AdThread));
    TRY(t, NULL);
    pthread_setspecific(key, t);
    thread_self.ad = t;
    return t;
}

bool ad_thread_in_body(void)
{
    const ThreadState *ts = state_thread();
    for (const Body *b = ts ? ts->body : NULL; b; b = b->outer)
        if (!b->has_values &&
            (b->kind == BODY_LOOP || b->kind == BODY_SIDE || b->kind == BODY_CALLABLE))
            return true;
    return false;
}
