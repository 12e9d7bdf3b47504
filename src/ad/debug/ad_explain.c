/*
 * ad_explain.c -- by which way gradients go from a result to an input, or why by none
 *
 * Where there are ways, these are the paths in the graph. Where there is none, several
 * witnesses are heard, since the graph itself does not know what it does not have:
 *
 *     the trace    what the result was computed from, as far as it is not evaluated: an
 *                  operation between both that has no derivative is the reason
 *     nodes        they remember that a traversal has cleared their edges
 *     losses       in debug mode variables remember where derivatives got lost on the
 *                  way to them (ad_loss.h)
 */
#include <stdlib.h>

#include "ad/debug/ad_show.h"
#include "ad/graph/ad_scope.h"
#include "ad/rule/ad_rule.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"

enum { PATHS = 3, ENDS = 10, ITEMS = 5 }; /* how much is shown */

/* A value that is computed from others, in an order in which these come first. */
typedef struct Value {
    VarId id;
    bool leads;  /* it was computed from the input, */
    bool passes; /* ... by operations that have derivatives */
} Value;

typedef struct Explain {
    uint64_t result, input;
    Text *out;
    /* the graph: a bit for each node */
    uint64_t *below; /* gradients of the result get there */
    uint64_t *above; /* gradients get from there to the input */
    NodeId *stack;
    uint32_t depth, stack_capacity;
    /* the trace of the result */
    Value *values;
    uint32_t value_count, value_capacity;
    uint32_t *number;  /* 1 + its place in the list, for each variable; 0: not met */
    VarId ends[ITEMS]; /* evaluated variables at which it ends; the first few */
    struct {
        VarId id;
        const char *reason;
    } plain[ITEMS]; /* operations that have no derivative; the first few */
    uint32_t end_count, plain_count;
    bool found; /* a reason */
} Explain;

static bool bit(const uint64_t *bits, NodeId id)
{
    return bits[id / 64] >> id % 64 & 1;
}

/* ---------------------------------------------------------------- names */

static void put_variable(const Explain *x, const char *name, uint64_t leaf)
{
    const Var *v = var_get(ad_var_index(leaf));
    text_putf(x->out, "%s (r%u", name, ad_var_index(leaf));
    if (ad_var_node(leaf))
        text_putf(x->out, ", a%u", ad_var_node(leaf));
    text_putf(x->out, ", %s[%u]", type_info[v->type].name, var_lanes(v));
    if (*extra_label(v))
        text_putf(x->out, ", \"%s\"", extra_label(v));
    text_put(x->out, ")");
}

static void put_place(Text *out, const char *before, const char *file, uint32_t line)
{
    if (file)
        text_putf(out, "%s%s:%u", before, file, line);
}

/* "mul (r5) at file:line" */
static void put_operation(const Explain *x, VarId id)
{
    const Var *v = var_get(id);
    const Extra *extra = extra_find(v);
    text_putf(x->out, "%s (r%u", op_info[v->op].name, id);
    if (*extra_label(v))
        text_putf(x->out, ", \"%s\"", extra_label(v));
    text_put(x->out, ")");
    put_place(x->out, " at ", extra ? extra->file : NULL, extra ? extra->line : 0);
}

static void begin_reason(Explain *x)
{
    text_put(x->out, "  - ");
    x->found = true;
}

/* ---------------------------------------------------------------- the graph */

static bool push(Explain *x, uint64_t *seen, NodeId id)
{
    if (bit(seen, id))
        return true;
    TRY(vec_reserve(&x->stack, &x->stack_capacity, x->depth + 1, sizeof(NodeId)),
        false);
    seen[id / 64] |= 1ull << id % 64;
    x->stack[x->depth++] = id;
    return true;
}

/* All nodes that edges lead to from this one, in one direction. */
static uint64_t *reach(Explain *x, NodeId root, bool forward)
{
    uint64_t *seen = alloc_zero((size_t) ad_graph_end() / 64 + 1, sizeof(uint64_t));
    bool ok = seen && (!root || push(x, seen, root));
    while (ok && x->depth) {
        const AdNode *node = ad_graph_node(x->stack[--x->depth]);
        for (EdgeId e = forward ? node->out : node->in; e && ok;) {
            const AdEdge *edge = ad_graph_edge(e);
            ok = push(x, seen, forward ? edge->target : edge->source);
            e = forward ? edge->next_out : edge->next_in;
        }
    }
    x->depth = 0;
    if (!ok) {
        alloc_free(seen);
        seen = NULL;
    }
    return seen;
}

/* A node on a way, and how many ways there are from it. */
typedef struct Step {
    uint64_t serial;
    NodeId id;
    double ways;
} Step;

static int compare_steps(const void *a, const void *b)
{
    const Step *x = a, *y = b;
    return (x->serial > y->serial) - (x->serial < y->serial);
}

static Step *find_step(Step *steps, uint32_t count, NodeId id)
{
    const Step key = { .serial = ad_graph_node(id)->serial };
    return bsearch(&key, steps, count, sizeof(Step), compare_steps);
}

/* Edges by which a node depends twice on the same one are one, unless there are a great
 * many. */
static bool is_repeated(const AdEdge *edge)
{
    uint32_t left = 100;
    for (EdgeId e = edge->next_in; e && left--; e = ad_graph_edge(e)->next_in)
        if (ad_graph_edge(e)->source == edge->source)
            return true;
    return false;
}

/* Nodes on ways, those of the input first. NULL: out of memory. */
static Step *find_steps(const Explain *x, uint32_t *count)
{
    uint32_t n = 0;
    for (NodeId id = 1; id < ad_graph_end(); id++)
        n += bit(x->below, id) && bit(x->above, id);
    Step *steps = alloc_get(n * sizeof(Step));
    TRY(steps, NULL);
    *count = 0;
    for (NodeId id = 1; id < ad_graph_end(); id++)
        if (bit(x->below, id) && bit(x->above, id))
            steps[(*count)++] = (Step){ ad_graph_node(id)->serial, id, 0 };
    qsort(steps, n, sizeof(Step), compare_steps);
    steps[0].ways = 1;
    for (uint32_t i = 1; i < n; i++)
        for (EdgeId e = ad_graph_node(steps[i].id)->in; e;
             e = ad_graph_edge(e)->next_in) {
            const AdEdge *edge = ad_graph_edge(e);
            if (bit(x->above, edge->source) && !is_repeated(edge))
                steps[i].ways += find_step(steps, n, edge->source)->ways;
        }
    return steps;
}

static void put_step(const Explain *x, NodeId id)
{
    const AdNode *node = ad_graph_node(id);
    Text name = { 0 };
    ad_show_put_node(&name, id);
    const char *operation = text_get(&name);
    text_putf(x->out, "    a%-7u %s", id, operation ? operation : "");
    text_free(&name);
    if (!(node->flags & NODE_OPERATION))
        text_putf(x->out, "  %s[%u]", type_info[node->type].name, node->size);
    ad_show_put_where(x->out, id, "  ");
    const AdThread *t = thread_self.ad;
    const AdScopeState *scope = t && t->scope_count ? ad_scope_current() : NULL;
    if (scope && node->serial < scope->border)
        text_put(x->out, "  (beyond isolate_grad(): at its end)");
    text_put_char(x->out, '\n');
}

/* The next node on the way of this number. */
static NodeId next_step(const Explain *x, Step *steps, uint32_t count, NodeId id,
                        double *which)
{
    for (EdgeId e = ad_graph_node(id)->in; e; e = ad_graph_edge(e)->next_in) {
        const AdEdge *edge = ad_graph_edge(e);
        if (!bit(x->above, edge->source) || is_repeated(edge))
            continue;
        double ways = find_step(steps, count, edge->source)->ways;
        if (*which < ways)
            return edge->source;
        *which -= ways;
    }
    return 0;
}

/* The way of this number, into x->stack; its length, 0: out of memory. */
static uint32_t find_way(Explain *x, Step *steps, uint32_t count, double which)
{
    uint32_t n = 0;
    NodeId id = ad_var_node(x->result), last = ad_var_node(x->input);
    for (;; id = next_step(x, steps, count, id, &which)) {
        TRY(vec_reserve(&x->stack, &x->stack_capacity, n + 1, sizeof(NodeId)), 0);
        x->stack[n++] = id;
        if (id == last || !id)
            return n;
    }
}

static bool put_ways(Explain *x)
{
    uint32_t count;
    Step *steps = find_steps(x, &count);
    TRY(steps, false);
    double ways = steps[count - 1].ways;
    text_put(x->out, "Gradients go from ");
    put_variable(x, "the result", x->result);
    text_put(x->out, " to ");
    put_variable(x, "the input", x->input);
    if (ways < 1e6)
        text_putf(x->out, ", %.0f %s:\n", ways, ways == 1 ? "way" : "ways");
    else
        text_putf(x->out, ", about %.1e ways:\n", ways);
    bool ok = true;
    for (uint32_t i = 0; i < PATHS && i < ways && ok; i++) {
        uint32_t n = find_way(x, steps, count, i);
        ok = n != 0;
        if (i)
            text_put(x->out, "  or\n");
        for (uint32_t k = 0; k < n; k++) {
            if (k < ENDS || k + ENDS >= n)
                put_step(x, x->stack[k]);
            else if (k == ENDS)
                text_putf(x->out, "    ... %u more ...\n", n - 2 * ENDS);
        }
    }
    if (ok && ways > PATHS)
        text_put(x->out, "  or others\n");
    alloc_free(steps);
    return ok;
}

/* Edges below the result that are gone. */
static void put_cleared(Explain *x)
{
    uint32_t shown = 0;
    for (NodeId id = 1; id < ad_graph_end(); id++) {
        if (!bit(x->below, id) || !(ad_graph_node(id)->flags & NODE_CUT_IN) ||
            id == ad_var_node(x->input))
            continue;
        if (shown++ == ITEMS)
            break;
        begin_reason(x);
        text_putf(x->out, "edges that led to a%u", id);
        ad_show_put_where(x->out, id, ", ");
        text_put(x->out, " were cleared by a traversal; without ADFlag.ClearEdges they "
                         "are kept\n");
    }
}

/* ---------------------------------------------------------------- the trace */

static Value *value_of(const Explain *x, VarId id)
{
    return id && x->number[id] ? &x->values[x->number[id] - 1] : NULL;
}

/* An operand that is on its way to the end of the walk. */
typedef struct Frame {
    VarId id;
    uint32_t next;
} Frame;

static bool add_value(Explain *x, VarId id)
{
    TRY(vec_reserve(&x->values, &x->value_capacity, x->value_count + 1, sizeof(Value)),
        false);
    x->values[x->value_count++] = (Value){ .id = id };
    x->number[id] = x->value_count;
    const Var *v = var_get(id);
    if (v->op == OP_EVALUATED && x->end_count < ITEMS && var_lanes(v) &&
        id != ad_var_index(x->input))
        x->ends[x->end_count++] = id;
    return true;
}

/* List all that the result was computed from, operands first. */
static bool walk_trace(Explain *x)
{
    Frame *stack = NULL;
    uint32_t depth = 0, capacity = 0;
    x->number = alloc_zero(var_table.end, sizeof(uint32_t));
    uint64_t *seen = alloc_zero(var_table.end / 64 + 1, sizeof(uint64_t));
    VarId next = ad_var_index(x->result);
    bool ok = x->number && seen;
    while (ok && (next || depth)) {
        if (next) {
            ok = vec_reserve(&stack, &capacity, depth + 1, sizeof(Frame));
            if (ok)
                stack[depth++] = (Frame){ next, 0 };
            seen[next / 64] |= 1ull << next % 64;
            next = 0;
            continue;
        }
        Frame *top = &stack[depth - 1];
        uint32_t count;
        const VarId *ids = var_operands(var_get(top->id), &count);
        while (top->next < count && !next) {
            VarId id = ids[top->next++];
            next = id && !bit(seen, id) ? id : 0;
        }
        if (!next) {
            ok = add_value(x, top->id);
            depth--;
        }
    }
    alloc_free(stack);
    alloc_free(seen);
    return ok;
}

/* Why the result of an operation has no derivative by operand number k, of an operation
 * between variables of the trace. NULL: it may have one. */
static const char *plain_reason(const Var *v, uint32_t k)
{
    Op op = (Op) v->op;
    if (ad_rule_reason(op))
        return ad_rule_reason(op);
    if (v->type != VarTypeVoid && v->type != VarTypePointer && v->type < VarTypeFloat16)
        return "the result is not a float";
    bool any = false;
    for (uint32_t i = 0; i < 3; i++)
        any |= ad_rule_of(op, i) != RULE_NONE;
    return any && k < 3 && ad_rule_of(op, k) == RULE_NONE
               ? "it has none with respect to this operand"
               : NULL;
}

/* Does the input lead to a value? Note operations that have no derivative. */
static void follow_value(Explain *x, Value *value)
{
    const Var *v = var_get(value->id);
    uint32_t count;
    const VarId *ids = var_operands(v, &count);
    const char *reason = NULL;
    value->leads = value->passes = value->id == ad_var_index(x->input);
    for (uint32_t k = 0; k < count && !value->passes; k++) {
        const Value *operand = value_of(x, ids[k]);
        if (!operand || !operand->leads)
            continue;
        value->leads = true;
        const char *why = plain_reason(v, k);
        value->passes |= operand->passes && !why;
        if (operand->passes && why)
            reason = why;
    }
    if (reason && !value->passes && x->plain_count < ITEMS) {
        x->plain[x->plain_count].id = value->id;
        x->plain[x->plain_count++].reason = reason;
    }
}

/* Follow the input on its way through the trace. Literals of one value are one
 * variable: where they lead means nothing. */
static void follow_input(Explain *x)
{
    bool literal = var_get(ad_var_index(x->input))->op == OP_LITERAL;
    for (uint32_t i = 0; i < x->value_count && !literal; i++)
        follow_value(x, &x->values[i]);
}

static void put_plain(Explain *x)
{
    for (uint32_t i = 0; i < x->plain_count; i++) {
        begin_reason(x);
        put_operation(x, x->plain[i].id);
        text_putf(x->out, " has no derivative: %s\n", x->plain[i].reason);
    }
}

/* ---------------------------------------------------------------- losses */

/* Has the value that was lost got its derivatives from the input? The graph knows if
 * the node is still there, the trace if the value is part of it. */
static bool is_proof(const Explain *x, const Loss *loss, const Value *value)
{
    bool there = loss->source && ad_graph_has_node(loss->node) &&
                 ad_graph_node(loss->node)->serial == loss->source;
    return there ? bit(x->above, loss->node) : value->passes;
}

static void put_loss(Explain *x, const Loss *loss, bool proven)
{
    begin_reason(x);
    if (!proven)
        text_put(x->out, "perhaps ");
    text_put(x->out, loss->what);
    put_place(x->out, " at ", loss->file, loss->line);
    if (loss->reason)
        text_putf(x->out, ": %s", loss->reason);
    put_place(x->out, ", by suspend_grad() at ", loss->scope_file, loss->scope_line);
    text_put_char(x->out, '\n');
}

static void put_losses(Explain *x, bool proven)
{
    const Loss *shown[ITEMS];
    uint32_t count = 0;
    for (uint32_t i = 0; i < x->value_count; i++) {
        const Value *value = &x->values[i];
        const Extra *extra = extra_find(var_get(value->id));
        const Losses *losses = extra ? extra->losses : NULL;
        for (uint32_t k = 0; losses && k < losses->count && count < ITEMS; k++) {
            const Loss *loss = &losses->list[k];
            bool known = false;
            for (uint32_t j = 0; j < count; j++)
                known |= shown[j]->what == loss->what && shown[j]->file == loss->file &&
                         shown[j]->line == loss->line;
            if (known || is_proof(x, loss, value) != proven)
                continue;
            shown[count++] = loss;
            put_loss(x, loss, proven);
        }
    }
}

/* ---------------------------------------------------------------- no way */

/* Before all else: can there be one? */
static bool put_types(Explain *x)
{
    const uint64_t leaves[] = { x->result, x->input };
    const char *const names[] = { "result", "input" };
    bool floats = true;
    for (int i = 0; i < 2; i++) {
        const Var *v = var_get(ad_var_index(leaves[i]));
        if (v->type >= VarTypeFloat16)
            continue;
        begin_reason(x);
        text_putf(x->out, "the %s is of type %s: only floats have derivatives\n",
                  names[i], type_info[v->type].name);
        floats = false;
    }
    return floats;
}

static void put_untracked_input(Explain *x)
{
    if (ad_var_node(x->input))
        return;
    begin_reason(x);
    text_put(x->out, "the input is not tracked: enable_grad() was not called for it, "
                     "or did nothing, or it was detached\n");
    const Extra *extra = extra_find(var_get(ad_var_index(x->input)));
    for (uint32_t i = 0; extra && extra->losses && i < extra->losses->count; i++)
        if (!extra->losses->list[i].source)
            put_loss(x, &extra->losses->list[i], true);
}

/* No operation is to blame: who then? */
static void put_suspicion(Explain *x)
{
    const Value *result = &x->values[x->value_count - 1];
    if (result->passes) {
        begin_reason(x);
        if (result->id == ad_var_index(x->input))
            text_put(x->out, "the result is the input, detached\n");
        else
            text_put(x->out, "all operations in between have derivatives: a value "
                             "was detached on the way, or computed while gradients "
                             "were suspended\n");
        return;
    }
    bool literal = var_get(ad_var_index(x->input))->op == OP_LITERAL ||
                   var_get(result->id)->op == OP_LITERAL;
    if (!x->end_count && !literal && !result->leads) {
        begin_reason(x);
        text_put(x->out, "the result was not computed from the input\n");
    }
    if (literal) {
        begin_reason(x);
        text_put(x->out, "one of the two is a literal, whose trace says nothing\n");
    }
    for (uint32_t i = 0; i < x->end_count; i++) {
        begin_reason(x);
        const Extra *extra = extra_find(var_get(x->ends[i]));
        text_putf(x->out, "the trace ends at r%u, which is evaluated", x->ends[i]);
        if (extra && extra->label)
            text_putf(x->out, ", \"%s\"", extra->label);
        put_place(x->out, ", of ", extra ? extra->file : NULL, extra ? extra->line : 0);
        text_put(x->out, ": what it was computed from is not recorded\n");
    }
}

static void put_scope(Explain *x)
{
    const uint64_t leaves[] = { x->result, x->input };
    const AdScopeState *s = ad_scope_current();
    for (int i = 0; i < 2; i++)
        if (ad_var_node(leaves[i]) && !ad_scope_tracks(leaves[i])) {
            text_putf(x->out, "  Note: the %s is suspended now",
                      i ? "input" : "result");
            put_place(x->out, ", by suspend_grad() at ", s->file, s->line);
            text_put_char(x->out, '\n');
        }
}

static bool put_no_way(Explain *x)
{
    text_put(x->out, "No gradient goes from ");
    put_variable(x, "the result", x->result);
    text_put(x->out, " to ");
    put_variable(x, "the input", x->input);
    text_put(x->out, ":\n");
    TRY(walk_trace(x), false);
    bool floats = put_types(x);
    put_untracked_input(x);
    put_cleared(x);
    if (floats && ad_var_node(x->input)) {
        follow_input(x);
        put_losses(x, true);
        if (!x->found)
            put_plain(x);
        if (!x->found)
            put_losses(x, false);
        if (!x->found)
            put_suspicion(x);
    }
    return true;
}

static bool explain(Explain *x)
{
    x->below = reach(x, ad_var_node(x->result), false);
    x->above = reach(x, ad_var_node(x->input), true);
    TRY(x->below && x->above, false);
    NodeId node = ad_var_node(x->input);
    TRY(node && bit(x->below, node) ? put_ways(x) : put_no_way(x), false);
    put_scope(x);
    if (!ad_thread_is_debugging())
        text_put(x->out,
                 "  JitFlag.Debug, if it is set from the beginning, adds source "
                 "lines, and where values were detached.\n");
    return true;
}

const char *ad_explain(uint64_t result, uint64_t input)
{
    AdThread *t = ad_thread();
    TRY(t && state_thread(), NULL);
    Explain x = { .result = result, .input = input, .out = &t->explain };
    text_clear(x.out);
    state_lock();
    bool ok = var_exists(ad_var_index(result)) && var_exists(ad_var_index(input));
    if (ok)
        ok = explain(&x);
    else
        error_set(JIT_ERROR_ARGUMENT, "ad_explain(): r%u or r%u is not a variable",
                  ad_var_index(result), ad_var_index(input));
    state_unlock();
    alloc_free(x.below);
    alloc_free(x.above);
    alloc_free(x.stack);
    alloc_free(x.values);
    alloc_free(x.number);
    return ok ? text_get(x.out) : NULL;
}

bool ad_is_cut(ADMode mode, uint64_t index)
{
    if (!ad_var_node(index))
        return false;
    state_lock();
    const AdNode *node = ad_graph_node(ad_var_node(index));
    bool forward = mode == ADModeForward;
    bool cut = !(forward ? node->out : node->in) &&
               node->flags & (forward ? NODE_CUT_OUT : NODE_CUT_IN);
    state_unlock();
    return cut;
}
