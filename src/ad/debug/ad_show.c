/*
 * ad_show.c -- the graph of derivatives as text
 */
#include "ad/debug/ad_show.h"

#include <string.h>

#include "ad/graph/ad_place.h"
#include "ad/graph/ad_thread.h"
#include "ad/rule/ad_operation.h"
#include "ad/rule/ad_rule.h"
#include "base/error.h"
#include "ir/type.h"

/* ---------------------------------------------------------------- names */

static void put_operation(Text *out, const AdOperation *op)
{
    if (op->kind)
        text_putf(out, "%s: ", op->kind);
    text_put(out, op->custom.name);
}

void ad_show_put_edge(Text *out, const AdEdge *e)
{
    switch (e->rule) {
    case RULE_IDENTITY:
        text_put(out, ad_graph_node(e->target)->flags & NODE_INNER ? "output"
                                                                   : "replace_grad");
        break;
    case RULE_MOVES:
        text_put(out, ((const AdMoves *) (uintptr_t) e->held)->name);
        break;
    case RULE_INTO:
    case RULE_OUT_OF:
        put_operation(out, ad_operation_of(e->held));
        break;
    default:
        text_put(out, ad_rule_name(e->rule));
    }
}

void ad_show_put_node(Text *out, NodeId id)
{
    const AdNode *node = ad_graph_node(id);
    const AdEdge *e = node->in ? ad_graph_edge(node->in) : NULL;
    if (!e) {
        text_put(out, node->flags & NODE_CUT_IN  ? "(cleared)"
                      : node->flags & NODE_ENTRY ? "entry"
                                                 : "input");
        return;
    }
    ad_show_put_edge(out, e);
    if (e->rule == RULE_OUT_OF)
        text_putf(out, " [out %u]", e->port);
}

bool ad_show_put_where(Text *out, NodeId id, const char *separator)
{
    uint32_t line = 0;
    const char *file = ad_place_of(id, &line), *label = ad_graph_label(id);
    if (file)
        text_putf(out, "%s%s:%u", separator, file, line);
    if (label)
        text_putf(out, "%s\"%s\"", separator, label);
    return file || label;
}

static const char *type_of(const AdNode *node)
{
    return node->flags & NODE_OPERATION ? "void" : type_info[node->type].short_name;
}

/* ---------------------------------------------------------------- tables */

static const char rule[] =
    "  ============================================================================="
    "\n";

static void put_row(Text *out, NodeId id)
{
    const AdNode *node = ad_graph_node(id);
    Text name = { 0 };
    ad_show_put_node(&name, id);
    const char *operation = text_get(&name);
    text_putf(out, "  %-9u %-9s %6u %8u    ", id, type_of(node), node->size,
              node->refs);
    uint32_t line = 0;
    const char *label = ad_graph_label(id);
    const char *file = label ? NULL : ad_place_of(id, &line);
    text_putf(out, label || file ? "%-22s " : "%s", operation ? operation : "");
    if (label)
        text_put(out, label);
    else if (file)
        text_putf(out, "%s:%u", file, line);
    text_free(&name);
    text_put_char(out, '\n');
}

const char *ad_whos(void)
{
    AdThread *t = ad_thread();
    TRY(t && state_thread(), NULL);
    Text *out = &t->whos;
    text_clear(out);
    text_put(out, "\n  ID        Type        Size     Refs    Operation              "
                  "Label\n");
    text_put(out, rule);
    state_lock();
    for (NodeId id = 1; id < ad_graph_end(); id++)
        if (ad_graph_has_node(id))
            put_row(out, id);
    if (!ad_graph_count())
        text_put(out, "                       -- No variables registered --\n");
    state_unlock();
    text_put(out, rule);
    return text_get(out);
}

/* ---------------------------------------------------------------- diagrams */

/* Labels come from users: quote what the dot language would misread. */
static void put_quoted(Text *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\' || strchr("{}|<>", *text))
            text_put_char(out, '\\');
        if (*text == '\n')
            text_put(out, "\\n");
        else
            text_put_char(out, *text);
    }
}

static const char *color_of(NodeId id)
{
    const AdNode *node = ad_graph_node(id);
    return node->grad                     ? "yellowgreen"
           : ad_graph_label(id)           ? "wheat"
           : node->flags & NODE_OPERATION ? "gray90"
           : !node->in                    ? "salmon"
           : !node->out                   ? "lightblue2"
                                          : "white";
}

static void put_box(Text *out, NodeId id)
{
    const AdNode *node = ad_graph_node(id);
    const char *label = ad_graph_label(id);
    Text name = { 0 };
    ad_show_put_node(&name, id);
    const char *operation = text_get(&name);
    text_putf(out, "    %u [label=\"{", id);
    if (label) {
        text_put(out, "Label: \\\"");
        put_quoted(out, label);
        text_put(out, "\\\"|");
    }
    put_quoted(out, operation ? operation : "");
    if (node->flags & (NODE_INNER | NODE_ENTRY))
        text_put(out, "|{Symbolic}");
    uint32_t line;
    const char *file = ad_place_of(id, &line);
    if (file) {
        text_put(out, "|");
        put_quoted(out, file);
        text_putf(out, ":%u", line);
    }
    text_putf(out, "|{Type: %s|Size: %u}|{a%u|Refs: %u}}\" fillcolor=%s];\n",
              type_of(node), node->size, id, node->refs, color_of(id));
    text_free(&name);
}

/* The innermost isolating scope of the thread that a node was made in, counted from 1;
 * 0: none. */
static uint32_t scope_of(const AdThread *t, NodeId id)
{
    for (uint32_t i = t->scope_count; i > 0; i--) {
        const AdScopeState *s = &t->scopes[i - 1];
        bool isolates = s->border && (i == 1 || s->border != s[-1].border);
        if (isolates && ad_graph_node(id)->serial >= s->border)
            return i;
    }
    return 0;
}

static void put_edges(Text *out, const AdThread *t, NodeId id)
{
    for (EdgeId e = ad_graph_node(id)->in; e; e = ad_graph_edge(e)->next_in) {
        const AdEdge *edge = ad_graph_edge(e);
        text_putf(out, "    %u -> %u", id, edge->source);
        bool crosses = scope_of(t, id) != scope_of(t, edge->source),
             numbered = ad_graph_edge(ad_graph_node(id)->in)->next_in;
        if (numbered && edge->rule != RULE_OUT_OF)
            text_putf(out, " [label=\" %u\"%s]", edge->port + 1u,
                      crosses ? " color=red style=dashed" : "");
        else if (crosses)
            text_put(out, " [color=red style=dashed]");
        text_put(out, ";\n");
    }
}

static void put_boxes(Text *out, const AdThread *t, uint32_t scope)
{
    for (NodeId id = 1; id < ad_graph_end(); id++)
        if (ad_graph_has_node(id) && scope_of(t, id) == scope)
            put_box(out, id);
}

/* Nodes within scopes that isolate, one scope within the other. */
static void put_scopes(Text *out, const AdThread *t)
{
    uint32_t depth = 0;
    for (uint32_t i = 1; i <= t->scope_count; i++) {
        const AdScopeState *s = &t->scopes[i - 1];
        if (!s->border || (i > 1 && s->border == s[-1].border))
            continue;
        text_putf(out,
                  "    subgraph cluster_isolate_%u {\n"
                  "    label=\"isolate_grad()\";\n"
                  "    style=dashed;\n"
                  "    color=red;\n",
                  ++depth);
        put_boxes(out, t, i);
    }
    while (depth--)
        text_put(out, "    }\n");
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
    put_boxes(out, t, 0);
    put_scopes(out, t);
    for (NodeId id = 1; id < ad_graph_end(); id++)
        if (ad_graph_has_node(id))
            put_edges(out, t, id);
    state_unlock();
    text_put(out, "    subgraph cluster_legend {\n"
                  "        label=\"Legend\";\n"
                  "        l5 [fillcolor=yellowgreen label=\"Gradient present\"];\n"
                  "        l4 [fillcolor=salmon label=\"Input\"];\n"
                  "        l3 [fillcolor=lightblue2 label=\"Output\"];\n"
                  "        l2 [fillcolor=wheat label=\"Labeled\"];\n"
                  "        l1 [fillcolor=gray90 label=\"Custom operation, region\"];\n"
                  "    }\n"
                  "}\n");
    return text_get(out);
}

/* ---------------------------------------------------------------- labels */

bool ad_var_set_label(uint64_t index, const char *label)
{
    const ThreadState *ts = state_thread();
    TRY(ts, false);
    if (!ad_var_node(index))
        return true;
    Text text = { 0 };
    for (uint32_t i = 0; label && i < ts->prefix_count; i++)
        text_putf(&text, "%s/", ts->prefixes[i]);
    if (label) {
        text_put(&text, label);
        label = text_get(&text);
    }
    state_lock();
    bool ok = !text.failed && ad_graph_set_label(ad_var_node(index), label);
    state_unlock();
    text_free(&text);
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
