/*
 * ad_loss.c -- see ad_loss.h
 */
#include "ad/rule/ad_loss.h"

#include "ad/graph/ad_scope.h"
#include "ad/rule/ad_rule.h"
#include "trace/graph/extra.h"

static void note(VarId result, NodeId source, const char *what, const char *reason,
                 const AdScopeState *scope)
{
    const ThreadState *ts = thread_self.state;
    Loss loss = { .source = source ? ad_graph_node(source)->serial : 0,
                  .node = source,
                  .what = what,
                  .reason = reason,
                  .file = ts->file,
                  .line = ts->line };
    if (scope) {
        loss.scope_file = scope->file;
        loss.scope_line = scope->line;
    }
    extra_add_loss(var_get(result), &loss);
}

static void note_suspended(uint64_t operand, VarId result)
{
    note(result, ad_var_node(operand), "suspended", NULL, ad_scope_current());
}

void ad_loss_note_moved(uint32_t n, const uint64_t *operands, uint64_t result)
{
    for (uint32_t i = 0; i < n; i++)
        if (ad_var_node(operands[i]) && !ad_scope_tracks(operands[i]))
            note_suspended(operands[i], ad_var_index(result));
}

void ad_loss_note_result(Op op, uint32_t n, const uint64_t *operands, uint64_t result)
{
    ad_loss_note_moved(n, operands, result);
    VarId id = ad_var_index(result);
    const char *reason = ad_rule_reason(op);
    if (!reason && var_get(id)->type < VarTypeFloat16)
        reason = "the result is not a float";
    for (uint32_t i = 0; reason && i < n; i++)
        if (ad_scope_tracks(operands[i]))
            note(id, ad_var_node(operands[i]), op_info[op].name, reason, NULL);
}

void ad_loss_note(uint64_t leaf, const char *what, const char *reason)
{
    note(ad_var_index(leaf), ad_var_node(leaf), what, reason,
         ad_var_node(leaf) ? NULL : ad_scope_current());
}
