/*
 * recording_check.c -- do the parts of a recording that was read from a file fit each
 * other?
 *
 * That all references exist is known. Here the commands are followed in order, as they
 * are when it is repeated, blocks of loops once: each uses arrays that are there, and
 * sizes that are known by then; and the arrays are as large as what the command reads
 * and writes of them. Behind a loop, nothing is there that its block makes, as in a
 * repetition without an iteration. Two sizes are equal for all inputs if they are one
 * term, or guards say so, which makes classes of terms.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "recording/recording_check.h"

/* -------------------------------------------------------------------- sizes */

static void join(const Check *c, Width a, Width b)
{
    Width from = c->same[a], to = c->same[b];
    for (uint32_t i = 1; i < c->r->widths.count; ++i)
        if (c->same[i] == from)
            c->same[i] = to;
}

/* It is at least so much. */
static void exceed(const Check *c, Width width, int64_t value)
{
    int64_t *least = &c->least[c->same[width]];
    if (*least < value)
        *least = value;
}

/* It is always the same. */
static void fix(const Check *c, Width width, int64_t value)
{
    if (value >= 0)
        c->fixed[c->same[width]] = value;
    exceed(c, width, value);
}

/* What is known of a term that is computed from others. */
static void make_joined(const Check *c, Width width)
{
    const WidthTerm *term = &c->r->widths.terms[width];
    Width a = c->same[term->a], b = c->same[term->b];
    int64_t value;
    if (c->fixed[a] >= 0 && c->fixed[b] >= 0 &&
        width_apply(term->op, c->fixed[a], c->fixed[b], &value))
        fix(c, width, value);
    bool grows = term->op == WIDTH_ADD || term->op == WIDTH_MUL ||
                 (term->op == WIDTH_DIV && c->fixed[b] > 0);
    if (grows && c->least[a] >= 0 && c->least[b] >= 0 &&
        width_apply(term->op, c->least[a], c->least[b], &value))
        exceed(c, width, value);
}

/* Has a guard been looked at by now? */
static bool is_checked(const Check *c, const WidthGuard *guard)
{
    return check_is_known(c, guard->a) && check_is_known(c, guard->b);
}

/* By what is known by now: anew for each number that is read. */
static void make_classes(const Check *c)
{
    const Widths *w = &c->r->widths;
    for (uint32_t i = 1; i < w->count; ++i) {
        c->same[i] = i;
        c->fixed[i] = -1;
        c->least[i] = INT64_MIN;
    }
    for (uint32_t i = 0; i < w->guard_count; ++i)
        if (w->guards[i].relation == WIDTH_EQUAL && is_checked(c, &w->guards[i]))
            join(c, w->guards[i].a, w->guards[i].b);
    for (uint32_t i = 1; i < w->count; ++i)
        if (w->terms[i].op == WIDTH_CONSTANT)
            fix(c, i, w->terms[i].value);
        else if (w->terms[i].op < WIDTH_ADD)
            exceed(c, i, 0);
    for (uint32_t i = 0; i < w->guard_count; ++i) {
        const WidthGuard *guard = &w->guards[i];
        if (guard->relation == WIDTH_NOT_LESS && width_is_constant(w, guard->b) &&
            is_checked(c, guard))
            exceed(c, guard->a, width_value(w, guard->b));
    }
    for (uint32_t i = 1; i < w->count; ++i)
        if (w->terms[i].op >= WIDTH_ADD)
            make_joined(c, i);
}

/* --------------------------------------------------------------------- uses */

/* Is it made by the block of a loop? */
static bool in_block(const Check *c, const FrozenLoop *loop, uint32_t array)
{
    return c->since[array] >= loop->first + 2;
}

/* Is it the state of the loop? */
static bool is_state(const Check *c, const FrozenLoop *loop, uint32_t array)
{
    for (uint32_t i = 0; i < loop->states; ++i)
        if (c->r->states[loop->state + i].array == array)
            return true;
    return false;
}

/* Is there an array, or one that need not be written, from some point on, behind all
 * commands up to 'last'? */
static bool is_there(const Check *c, uint32_t array, uint32_t point, uint32_t last)
{
    const FrozenArray *a = &c->r->arrays[array];
    if (a->kind == FROZEN_MADE && !c->since[array] && a->number == FROZEN_UNDEFINED)
        c->since[array] = point;
    return a->kind == FROZEN_INPUT || a->kind == FROZEN_CONSTANT ||
           (a->kind == FROZEN_MADE && c->since[array] && a->last >= last);
}

static bool check_use(const Check *c, const FrozenUse *use, uint32_t command)
{
    const FrozenArray *a = &c->r->arrays[use->array];
    bool made = a->kind == FROZEN_MADE;
    if (!check_is_known(c, use->width) || !check_is_known(c, a->width))
        return false;
    if (made && use->access == SLOT_WRITE && !c->since[use->array])
        c->since[use->array] = command + 2;
    if (!use->access || !is_there(c, use->array, command + 2, command) ||
        (!made && use->access != SLOT_READ))
        return false;
    for (uint32_t i = c->inside; made && i != RECORDER_UNKNOWN;
         i = recording_outer(c->r, i)) {
        const FrozenLoop *loop = &c->r->loops[i];
        if (in_block(c, loop, use->array))
            return true;
        if (a->last < loop->end || /* the next iteration needs it, too */
            (use->access != SLOT_READ && is_state(c, loop, use->array)))
            return false;
    }
    return true;
}

static bool check_array(const Check *c, const FrozenArray *a)
{
    const Recording *r = c->r;
    int64_t width = c->fixed[c->same[a->width]];
    return a->kind != FROZEN_CONSTANT ||
           (a->number < r->constant_count && width >= 0 &&
            (uint64_t) width * a->entry <= r->constants[a->number]->size);
}

/* -------------------------------------------------------------------- whole */

/* What is read after 'behind' commands, each time before their arrays are given up. */
static bool check_reads(Check *c, uint32_t behind)
{
    const Recording *r = c->r;
    uint32_t last = behind ? behind - 1 : 0, reads = c->reads;
    for (; c->reads < r->read_count && r->reads[c->reads].behind == behind;
         ++c->reads) {
        const FrozenRead *read = &r->reads[c->reads];
        const WidthTerm *term = &r->widths.terms[read->width];
        if (term->op != WIDTH_READ || term->a != c->reads ||
            !check_is_known(c, read->place) ||
            r->arrays[read->array].kind != FROZEN_MADE ||
            !is_there(c, read->array, behind + 1, last) ||
            !recording_writer(r, behind, read->array))
            return false;
    }
    if (c->reads != reads)
        make_classes(c);
    for (; c->contents < r->content_count && r->contents[c->contents].behind == behind;
         ++c->contents) {
        const FrozenContent *content = &r->contents[c->contents];
        if (!is_there(c, content->array, behind + 1, last) ||
            content->offset > SIZE_MAX - content->bytes ||
            content->first > r->content_bytes ||
            content->bytes > r->content_bytes - content->first)
            return false;
    }
    return true;
}

static bool check_command(const Check *c, uint32_t number)
{
    const FrozenCommand *f = &c->r->commands[number];
    if (!check_is_known(c, f->size))
        return false;
    for (uint32_t i = 0; i < f->count; ++i)
        if (!check_use(c, &c->r->uses[f->first + i], number))
            return false;
    return check_parameters(c, f);
}

static bool same_bytes(const Check *c, uint32_t array, uint32_t other)
{
    const FrozenArray *a = &c->r->arrays[array], *b = &c->r->arrays[other];
    return a->entry == b->entry && check_is_known(c, a->width) &&
           check_is_known(c, b->width) && c->same[a->width] == c->same[b->width];
}

/* A byte that is there, made by a command behind a point: is there an iteration? */
static bool check_byte(const Check *c, uint32_t array, uint32_t since, uint32_t last)
{
    const FrozenArray *a = &c->r->arrays[array];
    return a->kind == FROZEN_MADE && c->since[array] >= since && a->last >= last &&
           c->fixed[c->same[a->width]] >= 1;
}

/* Is a loop where it can be, in the one around it? */
static bool check_loop(const Check *c, const FrozenLoop *loop)
{
    const Recording *r = c->r;
    const uint32_t inside = c->inside;
    const uint32_t end = inside == RECORDER_UNKNOWN
                             ? r->loop_count : inside + 1 + r->loops[inside].inner;
    if (loop->end < loop->first || loop->end > r->command_count || loop->least > 1 ||
        loop->least > loop->most || loop->inner > end - c->loops ||
        loop->arrays > loop->arrays_end || loop->arrays_end > r->array_count ||
        loop->state > r->state_count || loop->states > r->state_count - loop->state)
        return false;
    if (!loop->most && (loop->end > loop->first || loop->inner || loop->states))
        return false;
    return inside == RECORDER_UNKNOWN || (loop->first > r->loops[inside].first &&
                                          loop->end <= r->loops[inside].end);
}

/* Arrays are what the state is in the beginning. */
static bool enter_loop(Check *c)
{
    const Recording *r = c->r;
    const uint32_t number = c->loops++;
    const FrozenLoop *loop = &r->loops[number];
    TRY(check_loop(c, loop) && check_byte(c, loop->enter, 1, UINT32_MAX), false);
    for (uint32_t i = loop->arrays; i < loop->arrays_end; ++i)
        if (c->since[i])
            return false;
    for (uint32_t i = 0; i < loop->states; ++i) {
        const FrozenState *s = &r->states[loop->state + i];
        if (r->arrays[s->array].kind != FROZEN_MADE || c->since[s->array] ||
            !is_there(c, s->initial, loop->first + 1, loop->first))
            return false;
        if (same_bytes(c, s->array, s->initial))
            c->since[s->array] = loop->first + 1;
    }
    if (loop->most)
        c->inside = number;
    return true;
}

/* It is read whether there is another iteration, and what the block has made becomes
 * the state, which is there also before an iteration if it has the same size. All else
 * that the block has made is gone. */
static bool leave_loop(Check *c)
{
    const Recording *r = c->r;
    const FrozenLoop *loop = &r->loops[c->inside];
    TRY(c->loops == c->inside + 1 + loop->inner, false); /* all of them were met */
    const bool single = loop->again == loop->enter;
    TRY(single ? loop->most == 1
               : check_byte(c, loop->again, loop->first + 2, loop->end - 1), false);
    for (uint32_t i = 0; i < loop->states; ++i) {
        const FrozenState *s = &r->states[loop->state + i];
        if (r->arrays[s->next].kind != FROZEN_MADE || !in_block(c, loop, s->next) ||
            r->arrays[s->next].last != UINT32_MAX || !same_bytes(c, s->array, s->next))
            return false;
        if (!c->since[s->array] && loop->most > 1)
            return false;
        if (loop->least)
            c->since[s->array] = loop->first + 1;
    }
    for (uint32_t i = 0; i < r->array_count; ++i) {
        const bool own = i >= loop->arrays && i < loop->arrays_end;
        if (!own && in_block(c, loop, i) && r->arrays[i].number != FROZEN_UNDEFINED)
            return false;
        if (own)
            c->since[i] = 0;
    }
    c->inside = recording_outer(r, c->inside);
    return true;
}

static bool check_commands(Check *c)
{
    const Recording *r = c->r;
    bool ok = check_reads(c, 0);
    uint32_t i = 0;
    for (bool more = true; ok && more;) {
        if (recording_enters(r, c->loops, c->inside, i))
            ok = enter_loop(c);
        else if (recording_leaves(r, c->inside, i))
            ok = leave_loop(c);
        else if ((more = i < r->command_count))
            ok = check_command(c, i++);
        if (c->inside == RECORDER_UNKNOWN)
            ok = ok && check_reads(c, i);
    }
    return ok && c->inside == RECORDER_UNKNOWN && c->loops == r->loop_count &&
           c->reads == r->read_count && c->contents == r->content_count;
}

static bool check_all(Check *c)
{
    const Recording *r = c->r;
    make_classes(c);
    for (uint32_t i = 0; i < r->array_count; ++i)
        if (!check_array(c, &r->arrays[i]))
            return false;
    return check_commands(c);
}

bool recording_check(Recording *r)
{
    TRY(width_check(&r->widths, r->read_count), false);
    Check c = { .r = r, .inside = RECORDER_UNKNOWN };
    c.same = alloc_zero(r->widths.count + 1, sizeof(Width));
    c.fixed = alloc_zero(r->widths.count + 1, sizeof(int64_t));
    c.least = alloc_zero(r->widths.count + 1, sizeof(int64_t));
    c.since = alloc_zero(r->array_count + 1, sizeof(uint32_t));
    bool ok = c.same && c.fixed && c.least && c.since && check_all(&c);
    alloc_free(c.same);
    alloc_free(c.fixed);
    alloc_free(c.least);
    alloc_free(c.since);
    return ok;
}

bool recording_has_result(const Recording *r, uint32_t array)
{
    if (array >= r->array_count || r->arrays[array].kind != FROZEN_MADE ||
        r->arrays[array].last != UINT32_MAX)
        return false;
    for (uint32_t i = 0; i < r->loop_count; ++i)
        if (array >= r->loops[i].arrays && array < r->loops[i].arrays_end)
            return false;
    bool made = r->arrays[array].number == FROZEN_UNDEFINED ||
                recording_writer(r, r->command_count, array);
    for (uint32_t i = 0; i < r->state_count; ++i)
        made |= r->states[i].array == array;
    return made;
}
