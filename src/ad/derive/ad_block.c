/*
 * ad_block.c -- see ad_block.h
 */
#include "ad/derive/ad_block.h"

#include "ad/region/ad_placeholder.h"
#include "ad/region/ad_region.h"
#include "base/error.h"

bool ad_block_open(AdBlock *b, const AdTemplate *t)
{
    *b = (AdBlock){ .handle = record_new_scope() }; /* that no recording has */
    TRY(b->handle, false);
    AdOpen *open = ad_region_open(b->handle, REGION_CALL, t->device, 0, t->name);
    TRY(open, false);
    b->is_open = true;
    open->t->block = true;
    open->t->family = t->family;
    open->t->scope = t->scope;
    open->t->size = t->size;
    if (ad_template_share_entries(open->t, t, true))
        return true;
    ad_block_drop(b);
    return false;
}

/* Where it is: put aside, or in the list of the thread. */
static AdTemplate *template_of(AdBlock *b)
{
    return b->aside ? b->open.t : ad_open_find(b->handle)->t;
}

uint64_t ad_block_placeholder(AdBlock *b, VarId like, VarId placeholder)
{
    NodeId node = ad_placeholder_entry(template_of(b), like);
    if (!node) {
        var_dec(placeholder);
        return 0;
    }
    ad_graph_ref(node);
    return (uint64_t) node << 32 | placeholder;
}

bool ad_block_end(AdBlock *b)
{
    TRY(template_of(b)->end = record_new_scope(), false);
    b->open = ad_open_pop();
    b->aside = true;
    return true;
}

bool ad_block_input(AdBlock *b, VarId placeholder, uint64_t value, uint32_t entry)
{
    AdTemplate *t = template_of(b);
    if (entry)
        ad_placeholder_set_outer(t, entry - 1, value);
    return ad_template_add_input(t, ad_var_index(value), placeholder);
}

bool ad_block_close(AdBlock *b, VarId active, uint32_t n, const uint64_t *outputs,
                    const ReplayGap *gaps, uint32_t gap_count, uint64_t *results)
{
    if (b->aside) {
        TRY(ad_open_push(&b->open), false);
        b->aside = false;
    }
    AdOpen *open = ad_open_find(b->handle);
    bool ok = ad_region_add_body(open, active, n, outputs) &&
              ad_template_set_gaps(open->t, gaps, gap_count);
    ok = ok && ad_region_close(b->handle, results);
    ad_block_drop(b);
    return ok;
}

void ad_block_drop(AdBlock *b)
{
    if (b->aside)
        ad_region_drop(&b->open);
    else if (b->is_open)
        ad_region_abandon(b->handle); /* nothing if it was closed */
    b->is_open = b->aside = false;
}
