/*
 * ad_apply.c -- see ad_apply.h; the elementwise functions of ad.h
 */
#include "ad/rule/ad_apply.h"

#include <string.h>

#include "ad/graph/ad_border.h"
#include "ad/graph/ad_scope.h"
#include "ad/rule/ad_loss.h"
#include "base/alloc.h"
#include "base/error.h"
#include "trace/graph/arith.h"

/* ---------------------------------------------------------------- making nodes */

/* A new node, tracked in the current scope: 0 if out of memory. */
static NodeId admitted(NodeId node)
{
    if (!node || ad_scope_admit(node))
        return node;
    ad_graph_unref(node);
    return 0;
}

/* The node of a result: 0 if out of memory. */
static NodeId make_node(VarId result)
{
    return admitted(ad_graph_new_for(result));
}

static uint64_t with_node(VarId result, NodeId node, bool ok)
{
    if (ok)
        return (uint64_t) node << 32 | result;
    if (node)
        ad_graph_unref(node);
    var_dec(result);
    return 0;
}

/* The operand that a selection with a literal mask has chosen: it is the result. */
static uint64_t chosen(Op op, const uint64_t *operands, VarId result)
{
    if (op != OP_SELECT)
        return 0;
    const Var *mask = var_get(ad_var_index(operands[0]));
    if (mask->op != OP_LITERAL)
        return 0;
    uint64_t operand = operands[(mask->value.literal & 1) ? 1 : 2];
    return ad_var_index(operand) == result ? operand : 0;
}

/* The result, tracked by the operands that are and have a rule. */
static uint64_t track(Op op, uint32_t n, const uint64_t *operands, VarId result)
{
    uint64_t plain[3];
    AdRuleId rules[3];
    bool any = false;
    for (uint32_t i = 0; i < n; i++) {
        bool tracked = ad_scope_tracks(operands[i]);
        plain[i] = tracked ? operands[i] : ad_var_index(operands[i]);
        rules[i] = tracked ? ad_rule_of(op, i) : RULE_NONE;
        any |= rules[i] != RULE_NONE;
    }
    if (!any || var_get(result)->type < VarTypeFloat16)
        return result;
    uint64_t passed = chosen(op, plain, result);
    if (passed) {
        if (ad_var_node(passed))
            ad_graph_ref(ad_var_node(passed));
        return passed; /* with the result's reference to the variable */
    }
    NodeId node = make_node(result);
    bool ok = node != 0;
    for (uint32_t i = 0; i < n && ok; i++)
        if (rules[i]) {
            uint64_t held;
            ok = ad_rule_hold(rules[i], n, plain, result, &held) &&
                 ad_graph_new_edge(ad_var_node(plain[i]), node, rules[i], i, held);
        }
    if (ok)
        ad_size_note(node, result, n, plain);
    return with_node(result, node, ok);
}

uint64_t ad_apply(Op op, uint32_t n, const uint64_t *operands)
{
    ThreadState *ts = state_thread();
    TRY(ts, 0);
    state_lock();
    uint64_t result;
    NodeId nodes = ad_var_node(operands[0]);
    if (n == 1) {
        result = arith_unary(ts, op, ad_var_index(operands[0]));
    } else if (n == 2) {
        result =
            arith_binary(ts, op, ad_var_index(operands[0]), ad_var_index(operands[1]));
        nodes |= ad_var_node(operands[1]);
    } else {
        result = arith_ternary(ts, op, ad_var_index(operands[0]),
                               ad_var_index(operands[1]), ad_var_index(operands[2]));
        nodes |= ad_var_node(operands[1]) | ad_var_node(operands[2]);
    }
    if (nodes && result) {
        result = track(op, n, operands, (VarId) result);
        if (state_flag(ts, JitFlagDebug) && result)
            ad_loss_note_result(op, n, operands, result);
    }
    state_unlock();
    return result;
}

bool ad_apply_tracks(uint32_t n, const uint64_t *operands)
{
    NodeId nodes = 0;
    for (uint32_t i = 0; i < n; i++)
        nodes |= ad_var_node(operands[i]);
    if (!nodes)
        return false;
    bool any = false;
    state_lock();
    for (uint32_t i = 0; i < n; i++)
        any |= ad_scope_tracks(operands[i]);
    state_unlock();
    return any;
}

static void note_moved(uint32_t n, const uint64_t *operands, uint64_t result)
{
    state_lock();
    ad_loss_note_moved(n, operands, result);
    state_unlock();
}

/* A copy with one reference, for edges to hold; NULL: out of memory. */
static AdMoves *hold_moves(const AdMoves *moves, size_t size)
{
    AdMoves *m = (AdMoves *) ad_graph_held(size);
    TRY(m, NULL);
    memcpy(m, moves, size);
    m->held.refs = 1;
    state_lock();
    for (uint32_t i = 0; i < m->held.count; i++)
        ad_graph_retain(m->held.leaves[i]);
    state_unlock();
    return m;
}

uint64_t ad_apply_moves(uint32_t result, uint32_t n, const uint64_t *operands,
                        const AdMoves *moves, size_t size)
{
    if (!result || !ad_apply_tracks(n, operands)) {
        if (result && ad_thread_is_debugging())
            note_moved(n, operands, result);
        return result;
    }
    AdMoves *m = hold_moves(moves, size);
    state_lock();
    NodeId node = m ? make_node(result) : 0;
    bool ok = node != 0;
    for (uint32_t i = 0; i < n && ok; i++)
        if (ad_scope_tracks(operands[i])) {
            m->held.refs++;
            ok = ad_graph_new_edge(ad_var_node(operands[i]), node, RULE_MOVES, i,
                                   (uintptr_t) m);
        }
    uint64_t leaf = with_node(result, node, ok);
    if (leaf && ad_thread_is_debugging())
        ad_loss_note_moved(n, operands, leaf);
    if (m)
        ad_graph_drop_held(&m->held);
    state_unlock();
    return leaf;
}

/* ---------------------------------------------------------------- the functions */

/* As jit_var_step(). Its derivative is 0. */
static uint64_t step(uint64_t a, uint64_t b)
{
    const uint64_t below = ad_apply(OP_LT, 2, (uint64_t[]){ a, b });
    const uint64_t reached = below ? ad_apply(OP_NOT, 1, &below) : 0;
    uint64_t result = 0;
    if (reached)
        result = ad_var_cast(reached, jit_var_type(ad_var_index(a)), 0);
    ad_var_dec_ref(below);
    ad_var_dec_ref(reached);
    return result;
}

uint64_t ad_var_op(JitOp op, const uint64_t *operands)
{
    if (!operands)
        return (uint64_t) error_set(JIT_ERROR_ARGUMENT,
                                    "ad_var_op(): 'operands' is NULL");
    if (op == JitOpStep)
        return step(operands[0], operands[1]);
    if ((unsigned) op >= JitOpCount)
        return (uint64_t) error_set(JIT_ERROR_ARGUMENT,
                                    "ad_var_op(): operation is %d, expected a JitOp",
                                    (int) op);
    Op mine = op_of(op);
    return ad_apply(mine, op_info[mine].arity, operands);
}

uint64_t ad_var_neg(uint64_t a)
{
    return ad_apply(OP_NEG, 1, &a);
}

#define BINARY(name, op)                              \
    uint64_t ad_var_##name(uint64_t a, uint64_t b)    \
    {                                                 \
        return ad_apply(op, 2, (uint64_t[]){ a, b }); \
    }
BINARY(add, OP_ADD)
BINARY(sub, OP_SUB)
BINARY(mul, OP_MUL)
BINARY(div, OP_DIV)

uint64_t ad_var_fma(uint64_t a, uint64_t b, uint64_t c)
{
    return ad_apply(OP_FMA, 3, (uint64_t[]){ a, b, c });
}

uint64_t ad_var_select(uint64_t mask, uint64_t a, uint64_t b)
{
    return ad_apply(OP_SELECT, 3, (uint64_t[]){ mask, a, b });
}

uint64_t ad_var_cast(uint64_t index, VarType type, int reinterpret)
{
    ThreadState *ts = state_thread();
    TRY(ts, 0);
    state_lock();
    VarId from = ad_var_index(index);
    uint64_t result = arith_cast(ts, from, type, reinterpret != 0);
    if (result == from && ad_scope_tracks(index)) /* to the type it has */
        ad_graph_ref(ad_var_node(result = index));
    else if (result && ad_var_node(index) && !reinterpret)
        result = track(OP_CAST, 1, &index, (VarId) result);
    if (result && ad_var_node(index) && state_flag(ts, JitFlagDebug))
        ad_loss_note_result(reinterpret ? OP_BITCAST : OP_CAST, 1, &index, result);
    state_unlock();
    return result;
}

uint64_t ad_var_track(uint32_t index)
{
    TRY(state_thread(), 0);
    ad_thread_read(index);
    state_lock();
    uint64_t result = 0;
    if (!var_exists(index)) {
        error_set(JIT_ERROR_ARGUMENT, "ad_var_track(): index %u is not a variable",
                  index);
    } else {
        var_inc(index);
        result = index;
        if (var_get(index)->type >= VarTypeFloat16 && var_lanes_of(index) &&
            !ad_scope_refuses()) {
            NodeId node = make_node(index);
            if (node)
                ad_size_note_always(node, index);
            result = with_node(index, node, node != 0);
        } else if (ad_thread_is_debugging()) {
            ad_loss_note(index, "enable_grad()",
                               ad_scope_refuses() ? "all is suspended"
                                                  : "it is not a float");
        }
    }
    state_unlock();
    return result;
}

uint64_t ad_var_track_none(JitBackend backend, VarType type)
{
    TRY(state_thread(), 0);
    if (type < VarTypeFloat16 || type >= VarTypeCount)
        return 0;
    state_lock();
    NodeId node =
        ad_scope_refuses() ? 0 : admitted(ad_graph_new_node(backend, type, 0));
    state_unlock();
    return (uint64_t) node << 32;
}

uint64_t ad_var_detach(uint64_t index)
{
    TRY(state_thread(), 0);
    VarId plain = ad_var_index(index);
    if (!plain)
        return 0;
    state_lock();
    var_inc(plain);
    if (ad_var_node(index) && ad_thread_is_debugging())
        ad_loss_note(index, "detach()", NULL);
    state_unlock();
    return plain;
}

uint64_t ad_var_replace_grad(uint64_t a, uint64_t b)
{
    AdSize n = ad_size_of(ad_var_index(a)), m = ad_size_of(ad_var_index(b));
    if (jit_var_type(ad_var_index(a)) != jit_var_type(ad_var_index(b)))
        return (uint64_t) error_set(JIT_ERROR_ARGUMENT,
                                    "ad_var_replace_grad(): types differ, expected "
                                    "variables of one type");
    if (n.count != 1 && m.count != 1 && !ad_size_is(n, ad_var_index(b)))
        return (uint64_t) error_set(JIT_ERROR_ARGUMENT,
                                    "ad_var_replace_grad(): sizes are %zu and %zu, "
                                    "expected equal ones or 1",
                                    n.count, m.count);
    AdSize size = n.count > m.count ? n : m;
    ad_size_next(size);
    uint32_t value = jit_var_resize(ad_var_index(a), size.count);
    TRY(value, 0);
    ad_thread_read(b);
    state_lock();
    uint64_t result = value;
    if (ad_scope_tracks(b)) {
        NodeId node = make_node(value);
        result = with_node(
            value, node,
            node && ad_graph_new_edge(ad_var_node(b), node, RULE_IDENTITY, 0, 0));
        if (result)
            ad_size_note(node, value, 1, &b);
    }
    state_unlock();
    return result;
}

uint64_t ad_var_enable(uint64_t index)
{
    ad_thread_read(index);
    state_lock();
    bool plain = ad_graph_is_plain(index), assumed = false;
    bool ok = plain || ad_scope_refuses() ||
              ad_border_is_assumed(ad_var_node(index), &assumed);
    ok = ok && (!assumed || ad_border_take_plain(ad_var_node(index)));
    state_unlock();
    TRY(ok, 0);
    return plain || assumed ? ad_var_track(ad_var_index(index)) : ad_var_inc_ref(index);
}

bool ad_is_leaf(uint64_t index)
{
    state_lock();
    const AdNode *node =
        ad_graph_is_plain(index) ? NULL : ad_graph_node(ad_var_node(index));
    bool found = node && !node->in;
    state_unlock();
    return found;
}

bool ad_in_body(void)
{
    return ad_border().serial != 0;
}

uint64_t ad_var_enter(uint64_t index)
{
    AdBorder b = ad_border();
    NodeId node = ad_var_node(index);
    if (!b.serial || !node || !ad_var_index(index))
        return ad_var_inc_ref(index);
    state_lock();
    bool enters = ad_border_is_outside(&b, node) || ad_border_is_between(&b, node);
    state_unlock();
    return enters ? ad_var_replace_grad(index, index) : ad_var_inc_ref(index);
}

uint64_t ad_var_inc_ref(uint64_t index)
{
    if (index) {
        state_lock();
        ad_graph_retain(index);
        state_unlock();
    }
    return index;
}

void ad_var_dec_ref(uint64_t index)
{
    if (!ad_var_node(index)) {
        jit_var_dec_ref(ad_var_index(index));
        return;
    }
    state_lock();
    ad_graph_release(index);
    state_unlock();
}

bool ad_grad_enabled(uint64_t index)
{
    ad_thread_read(index);
    return ad_apply_tracks(1, &index);
}
