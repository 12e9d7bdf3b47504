/*
 * fuzz_replay.c -- random Programs, traced and recorded again
 *
 *     fuzz_replay [--count N] [--seed S] [--ops N] [--print]
 *
 * Each Program is traced in a recording of its own. Recorded again with the same inputs
 * it has to give the same Programs; with other inputs, the values and prints of tracing
 * anew, and what it writes goes to other arrays. Status 1 if any did not.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "trace/flow/region_replay.h"
#include "traced_program.h"

#define CPU JitBackendLLVM
enum { OTHER_SEED = 77 };

typedef struct Options {
    uint64_t seed, count;
    uint32_t ops;
    bool print;
} Options;

static void never(ThreadState *ts, Body *body)
{
    (void) ts;
    (void) body;
}

/* A recording that keeps its effects for us. */
static Body *open_body(Body *body)
{
    *body = (Body){ .abandon = never };
    state_lock();
    bool ok = record_open(state_thread(), body, BODY_RECORD, CPU, 0);
    state_unlock();
    return ok ? body : NULL;
}

/* Close it; 'recorded' receives its effects. */
static void close_body(Body *body, RecordedBody *recorded)
{
    state_lock();
    while (state_thread()->body && state_thread()->body != body)
        record_abandon(state_thread(), state_thread()->body);
    record_close_into(state_thread(), body, recorded, "fuzz_replay");
    state_unlock();
}

static void drop_body(RecordedBody *body)
{
    state_lock();
    record_release(body);
    state_unlock();
}

/* Record effects and outputs of 't' again; inputs and targets come from 'other', NULL:
 * they are the same. 'now' receives the outputs. */
static bool replay(const TracedProgram *t, const TracedProgram *other, const Body *body,
                   RecordedBody *now)
{
    const Program *p = t->random->program;
    RecordedBody before = { .effects = body->effects,
                            .outputs = { t->outputs, t->output_count, 0 } };
    RegionReplay r;
    state_lock();
    bool ok = region_replay_begin(&r, state_thread(), body->scope);
    for (uint32_t i = 0; ok && other && i < p->param_count; ++i) {
        if (!t->slots[i])
            continue;
        ok = p->params[i].written
                 ? region_replay_redirect(&r, t->slots[i], other->slots[i])
                 : region_replay_set(&r, t->slots[i], other->slots[i]);
    }
    ok = ok && region_replay_recorded(&r, &before, now);
    region_replay_end(&r);
    state_unlock();
    return ok;
}

/* ------------------------------------------------------------------- comparison */

static char *program_text(uint32_t id)
{
    VarState kind = jit_var_state(id);
    if (kind == VarStateEvaluated || kind == VarStateLiteral)
        return strdup("a leaf");
    const char *text = jit_program_str(id);
    return strdup(text ? text : jit_error_message());
}

static bool same_texts(uint64_t seed, const uint32_t *a, const uint32_t *b,
                       uint32_t count)
{
    bool same = true;
    for (uint32_t i = 0; i < count && same; ++i) {
        char *x = program_text(a[i]), *y = program_text(b[i]);
        same = strcmp(x, y) == 0;
        if (!same)
            printf("seed %llu, output %u:\n%s---- recorded again:\n%s\n",
                   (unsigned long long) seed, i, x, y);
        free(x);
        free(y);
    }
    return same;
}

/* NaNs of any kind are the same. */
static bool same_value(VarType type, uint64_t a, uint64_t b)
{
    if (a == b || !type_info[type].is_float)
        return a == b;
    uint32_t size = type_info[type].size;
    uint64_t infinity = size == 2 ? 0x7c00 : size == 4 ? 0x7f800000
                                                       : 0x7ff0000000000000;
    uint64_t bits = ~(1ull << (size * 8 - 1));
    return (a & bits) > infinity && (b & bits) > infinity;
}

static bool same_entries(uint64_t seed, const char *what, uint32_t number, uint32_t a,
                         uint32_t b)
{
    void *x, *y;
    uint32_t stored[] = { jit_var_data(a, &x), jit_var_data(b, &y) };
    VarType type = jit_var_type(a);
    size_t size = type_info[type].size, count = jit_var_size(a);
    bool same = stored[0] && stored[1] && jit_var_size(b) == count;
    if (!same)
        printf("seed %llu, %s %u: %s\n", (unsigned long long) seed, what, number,
               jit_error_message());
    for (size_t i = 0; same && i < count; ++i) {
        uint64_t bits[2] = { 0, 0 };
        memcpy(&bits[0], (char *) x + i * size, size);
        memcpy(&bits[1], (char *) y + i * size, size);
        same = same_value(type, bits[0], bits[1]);
        if (!same)
            printf("seed %llu, %s %u, entry %zu: %llx, expected %llx\n",
                   (unsigned long long) seed, what, number, i,
                   (unsigned long long) bits[0], (unsigned long long) bits[1]);
    }
    for (int i = 0; i < 2; ++i)
        if (stored[i])
            jit_var_dec_ref(stored[i]);
    return same;
}

/* Evaluate variables, and the effects of a body, which is left with its outputs. */
static bool evaluate(const uint32_t *ids, uint32_t count, RecordedBody *body)
{
    VarIds effects = body->effects;
    body->effects = (VarIds){ 0 };
    state_lock();
    bool ok = record_hand_over(state_thread(), effects.ids, effects.count);
    var_ids_drop(&effects);
    state_unlock();
    for (uint32_t i = 0; ok && i < count; ++i)
        jit_var_schedule(ids[i]);
    return ok && jit_eval() && jit_sync_thread();
}

/* ------------------------------------------------------------------- one Program */

/* With the same inputs. The recording is dropped. */
static bool check_identity(uint64_t seed, const TracedProgram *t, const Body *body)
{
    RecordedBody again = { 0 };
    Body inner;
    open_body(&inner);
    bool ok = replay(t, NULL, body, &again);
    if (!ok)
        printf("seed %llu: %s\n", (unsigned long long) seed, jit_error_message());
    ok = ok && same_texts(seed, t->outputs, again.outputs.ids, t->output_count);
    close_body(&inner, &again);
    if (ok && again.effects.count != body->effects.count) {
        printf("seed %llu: %u effects, expected %u\n", (unsigned long long) seed,
               again.effects.count, body->effects.count);
        ok = false;
    }
    drop_body(&again);
    return ok;
}

/* The outputs and effects in 'now' against those of tracing anew. */
static bool check_values(uint64_t seed, const TracedProgram *t,
                         const TracedProgram *other, RecordedBody *now)
{
    TracedProgram anew;
    RecordedBody effects = { 0 };
    const Program *p = t->random->program;
    Body body;
    bool ok = traced_program_begin(&anew, t->random, OTHER_SEED);
    open_body(&body); /* what can be recorded can be evaluated */
    ok = ok && traced_program_record(&anew);
    close_body(&body, &effects);
    bool possible = evaluate(anew.outputs, anew.output_count, &effects);
    bool done = evaluate(now->outputs.ids, now->outputs.count, now);
    ok = ok && possible == done;
    if (!ok)
        printf("seed %llu: %s: %s\n", (unsigned long long) seed,
               possible ? "recorded again" : "traced anew", jit_error_message());
    for (uint32_t i = 0; ok && done && i < t->output_count; ++i)
        ok = same_entries(seed, "output", i, now->outputs.ids[i], anew.outputs[i]);
    for (uint32_t i = 0; ok && done && i < p->param_count; ++i)
        if (p->params[i].written && p->params[i].kind == PARAM_POINTER)
            ok = same_entries(seed, "array", i, other->slots[i], anew.slots[i]);
    if (ok && done && !t->lost && !anew.lost && t->printed != anew.printed) {
        printf("seed %llu: prints differ\n", (unsigned long long) seed);
        ok = false;
    }
    drop_body(&effects);
    jit_sync_thread();
    traced_program_free(&anew);
    return ok;
}

/* With other inputs and targets. */
static bool check_others(uint64_t seed, const TracedProgram *t, Body *body)
{
    RecordedBody now = { 0 }, before = { 0 };
    TracedProgram other;
    Body inner;
    bool ok = traced_program_begin(&other, t->random, OTHER_SEED);
    open_body(&inner);
    ok = ok && replay(t, &other, body, &now);
    if (!ok)
        printf("seed %llu: %s\n", (unsigned long long) seed, jit_error_message());
    close_body(&inner, &now);
    close_body(body, &before);
    drop_body(&before);
    ok = ok && check_values(seed, t, &other, &now);
    drop_body(&now);
    traced_program_free(&other);
    return ok;
}

/* Programs are recorded in all kinds of ways. */
static void set_flags(uint64_t seed)
{
    jit_set_flag(JitFlagMergeFunctions, seed % 4 != 0);
    jit_set_flag(JitFlagOptimizeCalls, seed % 3 != 0);
    jit_set_flag(JitFlagOptimizeLoops, seed % 5 != 0);
    jit_set_flag(JitFlagPacketOps, seed % 7 != 0);
    jit_set_flag(JitFlagDebug, seed % 11 == 0);
}

typedef struct Tally {
    uint32_t programs, untraceable, failed, regions;
} Tally;

static void check(uint64_t seed, const Options *options, Tally *tally)
{
    RandomProgram *random = random_program_new(seed, options->ops);
    if (!random)
        return;
    tally->programs++;
    set_flags(seed);
    tally->regions += random->program->region_count;
    TracedProgram t;
    Body body;
    bool ok = traced_program_begin(&t, random, 0);
    open_body(&body);
    if (!ok || !traced_program_record(&t)) {
        if (options->print)
            printf("seed %llu: %s\n", (unsigned long long) seed, jit_error_message());
        tally->untraceable++;
        RecordedBody dropped = { 0 };
        close_body(&body, &dropped);
        drop_body(&dropped);
    } else {
        for (uint32_t i = 0; options->print && i < t.output_count; ++i) {
            char *text = program_text(t.outputs[i]);
            puts(text);
            free(text);
        }
        ok = check_identity(seed, &t, &body);
        ok = check_others(seed, &t, &body) && ok;
        tally->failed += !ok;
    }
    traced_program_free(&t);
    random_program_free(random);
}

int main(int argc, char **argv)
{
    Options options = { .seed = 1, .count = 500, .ops = 60 };
    for (int i = 1; i < argc; ++i) {
        const char *value = i + 1 < argc ? argv[i + 1] : "0";
        if (strcmp(argv[i], "--print") == 0)
            options.print = true;
        else if (strcmp(argv[i], "--seed") == 0)
            options.seed = strtoull(value, NULL, 10), i++;
        else if (strcmp(argv[i], "--ops") == 0)
            options.ops = (uint32_t) strtoul(value, NULL, 10), i++;
        else if (strcmp(argv[i], "--count") == 0)
            options.count = strtoull(value, NULL, 10), i++;
    }
    if (!jit_init(CPU))
        return 1;
    Tally tally = { 0 };
    for (uint64_t k = 0; k < options.count; ++k)
        check(options.seed + k, &options, &tally);
    printf("%u Programs with %u regions: %u recorded again as they should, %u not, %u "
           "cannot be traced\n", tally.programs, tally.regions,
           tally.programs - tally.failed - tally.untraceable, tally.failed,
           tally.untraceable);
    jit_shutdown(1);
    return tally.failed != 0;
}
