/*
 * ad_show.c -- the graph of derivatives as text
 */
#include "ad/ad_operation.h"
#include "ad/ad_rule.h"
#include "ad/ad_thread.h"
#include "base/error.h"
#include "ir/type.h"

static const char *edge_name(const AdEdge *e)
{
    switch (e->rule) {
    case RULE_IDENTITY:
        return "replace_grad";
    case RULE_MOVES:
        return ((const AdMoves *) (uintptr_t) e->held)->name;
    case RULE_INTO:
    case RULE_OUT_OF:
        return ad_operation_of(e->held)->custom.name;
    default:
        return ad_rule_name(e->rule);
    }
}

/* What made it: the operation of its first edge. */
static const char *node_name(const AdNode *node)
{
    if (!node->in)
        return "input";
    const AdEdge *e = ad_graph_edge(node->in);
    return e->rule == RULE_OUT_OF ? "output" : edge_name(e);
}

static const char *type_of(const AdNode *node)
{
    return node->flags & NODE_OPERATION ? "" : type_info[node->type].name;
}

const char *ad_whos(void)
{
    AdThread *t = ad_thread();
    TRY(t && state_thread(), NULL);
    Text *out = &t->whos;
    text_clear(out);
    text_put(out, "  ID       Type       Size          Refs    Operation        Label\n"
                  "  ==============================================================="
                  "========\n");
    state_lock();
    for (NodeId id = 1; id < ad_graph_end(); id++) {
        const AdNode *node = ad_graph_node(id);
        if (!node->serial)
            continue;
        const char *label = ad_graph_label(id);
        text_putf(out, "  a%-7u %-10s %-13u %-7u %-16s %s\n", id, type_of(node),
                  node->size, node->refs, node_name(node), label ? label : "");
    }
    state_unlock();
    text_put(out, "  ==============================================================="
                  "========\n");
    return text_get(out);
}

static void put_quoted(Text *out, const char *label)
{
    for (; *label; label++) {
        if (*label == '"' || *label == '\\')
            text_put_char(out, '\\');
        text_put_char(out, *label);
    }
}

const char *ad_graphviz(void)
{
    AdThread *t = ad_thread();
    TRY(t && state_thread(), NULL);
    Text *out = &t->graphviz;
    text_clear(out);
    text_put(out, "digraph {\n"
                  "    rankdir=BT;\n"
                  "    graph [fontname=Consolas];\n"
                  "    node [shape=record fontname=Consolas style=filled];\n"
                  "    edge [fontname=Consolas];\n");
    state_lock();
    for (NodeId id = 1; id < ad_graph_end(); id++) {
        const AdNode *node = ad_graph_node(id);
        if (!node->serial)
            continue;
        const char *label = ad_graph_label(id);
        const char *color = label                          ? "wheat"
                            : node->flags & NODE_OPERATION ? "gray90"
                            : !node->in                    ? "salmon"
                            : !node->out                   ? "lightblue2"
                                                           : "white";
        text_putf(out, "    %u [label=\"{", id);
        if (label) {
            text_put(out, "Label: ");
            put_quoted(out, label);
            text_put(out, "|");
        }
        text_putf(out, "%s|{Type: %s|Size: %u}|{a%u|Refs: %u}}\" fillcolor=%s];\n",
                  node_name(node), type_of(node), node->size, id, node->refs, color);
        for (EdgeId e = node->in; e; e = ad_graph_edge(e)->next_in)
            text_putf(out, "    %u -> %u;\n", id, ad_graph_edge(e)->source);
    }
    state_unlock();
    text_put(out, "}\n");
    return text_get(out);
}

bool ad_var_set_label(uint64_t index, const char *label)
{
    TRY(state_thread(), false);
    if (!ad_var_node(index))
        return true;
    state_lock();
    bool ok = ad_graph_set_label(ad_var_node(index), label);
    state_unlock();
    return ok;
}

const char *ad_var_label(uint64_t index)
{
    if (!ad_var_node(index))
        return NULL;
    state_lock();
    const char *label = ad_graph_label(ad_var_node(index));
    state_unlock();
    return label;
}

size_t ad_node_count(void)
{
    state_lock();
    size_t count = ad_graph_count();
    state_unlock();
    return count;
}
