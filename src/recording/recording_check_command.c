/*
 * recording_check_command.c -- see recording_check.h
 */
#include "recording/recording_check.h"
#include "ir/reduce_rule.h"
#include "ir/type.h"
#include "kernel/cache.h"

/* -------------------------------------------------------------------- sizes */

/* A number that was read is at most the size of the command that has computed it, as
 * is checked when it is read. */
static Width most(const Check *c, Width width)
{
    const WidthTerm *term = &c->r->widths.terms[width];
    if (term->op != WIDTH_READ)
        return width;
    const FrozenRead *read = &c->r->reads[term->a];
    uint32_t writer = recording_writer(c->r, read->behind, read->array);
    const FrozenCommand *f = &c->r->commands[writer - 1]; /* check_reads(): exists */
    return f->unit == 1 ? f->size : width;
}

/* Is a size equal to another one and a constant, which is at least 0? */
static bool is_larger(const Check *c, Width width, Width than)
{
    const Widths *w = &c->r->widths;
    for (Width i = 1; i < w->count; ++i) {
        const WidthTerm *term = &w->terms[i];
        if (c->same[i] == c->same[width] && term->op == WIDTH_ADD &&
            c->same[term->a] == c->same[than] && width_is_constant(w, term->b) &&
            width_value(w, term->b) >= 0)
            return true;
    }
    return false;
}

/* Are there as many bytes as a number of entries takes, whatever the inputs? */
static bool covers(const Check *c, const FrozenUse *use, Width count, uint64_t entry)
{
    const Width bound = most(c, count);
    int64_t have = c->fixed[c->same[use->width]], need = c->fixed[c->same[bound]];
    uint64_t bytes, wanted;
    if (c->same[use->width] == c->same[count] ||
        c->same[use->width] == c->same[bound] || is_larger(c, use->width, bound))
        return use->entry >= entry;
    return have >= 0 && need >= 0 &&
           !__builtin_mul_overflow((uint64_t) have, use->entry, &bytes) &&
           !__builtin_mul_overflow((uint64_t) need, entry, &wanted) && bytes >= wanted;
}

/* Is a number of bytes there? */
static bool covers_bytes(const Check *c, const FrozenUse *use, uint64_t bytes)
{
    int64_t least = c->least[c->same[use->width]];
    uint64_t have = least > 0 ? (uint64_t) least : 0;
    return !__builtin_mul_overflow(have, use->entry, &have) && have >= bytes;
}

/* Is a size equal to what two others make? */
static bool is_made_of(const Check *c, Width width, WidthOp op, Width a, Width b)
{
    const Widths *w = &c->r->widths;
    for (Width i = 1; i < w->count; ++i) {
        const WidthTerm *term = &w->terms[i];
        if (c->same[i] == c->same[width] && term->op == op &&
            c->same[term->a] == c->same[a] && c->same[term->b] == c->same[b])
            return true;
    }
    return false;
}

/* Is a size the product of two others, or is one the other divided by the third? */
static bool is_product(const Check *c, Width product, Width a, Width b)
{
    return is_made_of(c, a, WIDTH_DIV, product, b) ||
           is_made_of(c, product, WIDTH_MUL, a, b) ||
           is_made_of(c, product, WIDTH_MUL, b, a);
}

/* A parameter of a command that is a size. */
static Width extent(const Check *c, const FrozenCommand *f, uint32_t number)
{
    return c->r->extents[f->extent + number];
}

/* Is there room for an entry of each of these blocks? */
static bool covers_blocks(const Check *c, const FrozenUse *use, const FrozenCommand *f,
                          uint32_t number, uint64_t entry)
{
    const Width block = extent(c, f, number);
    int64_t size = c->fixed[c->same[f->size]], fixed = c->fixed[c->same[block]];
    if (f->unit == 1 && c->same[f->size] == c->same[block])
        return covers_bytes(c, use, entry);
    if (f->unit == 1 && is_product(c, f->size, use->width, block))
        return use->entry >= entry;
    return size >= 0 && fixed >= 1 &&
           covers_bytes(c, use, (uint64_t) size * f->unit / (uint64_t) fixed * entry);
}

/* Is a size another one and 1? */
static bool is_next(const Check *c, Width width, Width size)
{
    for (Width i = 1; i < c->r->widths.count; ++i)
        if (c->fixed[c->same[i]] == 1 && is_made_of(c, width, WIDTH_ADD, size, i))
            return true;
    return false;
}

/* The same for one of each item, and one more. */
static bool covers_more(const Check *c, const FrozenUse *use, const FrozenCommand *f,
                        uint64_t entry)
{
    int64_t size = c->fixed[c->same[f->size]];
    if (f->unit == 1 && is_next(c, use->width, f->size))
        return use->entry >= entry;
    return size >= 0 &&
           covers_bytes(c, use, ((uint64_t) size * f->unit + 1) * entry);
}

/* ----------------------------------------------------------------- launches */

/* Bytes of an entry that each lane reads or writes of a slot; 0: none. */
static uint32_t lane_bytes(const Program *program, uint32_t slot)
{
    const Param *param = &program->params[slot];
    uint32_t size = type_info[param->type].size;
    if (param->kind == PARAM_OUTPUT)
        return size;
    for (uint32_t i = 0; param->kind == PARAM_INPUT && i < program->inst_count; ++i) {
        const Inst *inst = &program->insts[i];
        if (inst->op == OP_LOAD && inst->aux == slot && !(inst->flags & INST_UNIFORM))
            return size;
    }
    return 0;
}

/* What a slot of a launch is to have. */
static bool check_word(const Check *c, const FrozenCommand *f, const FrozenUse *use)
{
    const Program *program = f->launch.kernel->program;
    if (use->word == SLOT_NO_WORD)
        return true;
    if (use->word >= program->param_count)
        return false;
    const Param *param = &program->params[use->word];
    uint32_t each = lane_bytes(program, use->word);
    bool writes = param->kind == PARAM_OUTPUT || param->written;
    if (param->kind > PARAM_POINTER || (writes && !(use->access & SLOT_WRITE)))
        return false;
    return each ? covers(c, use, f->size, (uint64_t) f->unit * each)
                : param->kind == PARAM_POINTER ||
                      covers_bytes(c, use, type_info[param->type].size);
}

/* What is reduced: a tile, an array with an entry for each lane; or nothing. */
static bool check_source(const Check *c, const FrozenCommand *f, const Fold *fold,
                         uint32_t source)
{
    const Program *program = f->launch.kernel->program;
    if (source == FOLD_NONE)
        return true;
    if (source & FOLD_TILE) {
        uint32_t word = source & ~FOLD_TILE;
        if (word >= program->param_count)
            return false;
        const Param *param = &program->params[word];
        return param->kind == PARAM_OUTPUT && param->reduced &&
               param->type == fold->type &&
               reduce_rule_shares(param->reduced, fold_reduced(fold),
                                  (VarType) fold->type);
    }
    if (source >= f->count)
        return false;
    const FrozenUse *use = &c->r->uses[f->first + source];
    return covers(c, use, f->size, (uint64_t) f->unit * type_info[fold->type].size);
}

/* Is there such a reduction? */
static bool check_rule(const Fold *fold)
{
    if (fold->op == FOLD_COMPRESS)
        return true;
    if (fold->op == FOLD_DOT)
        return type_info[fold->type].is_float;
    ReduceOp op = fold->op == FOLD_PREFIX ? (ReduceOp) fold->rule : (ReduceOp) fold->op;
    return fold->op < FOLD_COUNT && reduce_rule_defined(op, (VarType) fold->type);
}

static bool check_fold(const Check *c, const FrozenCommand *f, uint32_t number)
{
    const Fold *fold = &command_folds(f->pattern)[number];
    if (!type_valid((VarType) fold->type) || !check_rule(fold) ||
        !extent(c, f, 2 * number) || !extent(c, f, 2 * number + 1) ||
        fold->target >= f->count || fold->source[0] == FOLD_NONE ||
        (fold->op == FOLD_DOT) != (fold->source[1] != FOLD_NONE) ||
        !check_source(c, f, fold, fold->source[0]) ||
        !check_source(c, f, fold, fold->source[1]))
        return false;
    const FrozenUse *use = &c->r->uses[f->first + fold->target];
    uint32_t size = type_info[fold->type].size;
    if (!(use->access & SLOT_WRITE))
        return false;
    if (fold->op == FOLD_PREFIX)
        return covers(c, use, f->size, (uint64_t) f->unit * size);
    if (fold->op == FOLD_COMPRESS)
        return covers_more(c, use, f, sizeof(uint32_t));
    return covers_blocks(c, use, f, 2 * number, size);
}

/* Which arguments are addresses, and have an array? */
static bool has_arrays(const Check *c, const FrozenCommand *f)
{
    const Program *program = f->launch.kernel->program;
    for (uint32_t slot = 0; slot < program->param_count; ++slot) {
        bool found = program->params[slot].kind > PARAM_POINTER;
        for (uint32_t i = 0; !found && i < f->count; ++i)
            found = c->r->uses[f->first + i].word == slot;
        for (uint32_t i = 0; !found && i < f->pattern->launch.folds; ++i) {
            const Fold *fold = &command_folds(f->pattern)[i];
            found = fold->source[0] == (FOLD_TILE | slot) ||
                    fold->source[1] == (FOLD_TILE | slot);
        }
        if (!found)
            return false;
    }
    return true;
}

/* A report of each check, and its bound. */
static bool check_bounds(const Check *c, const FrozenCommand *f)
{
    const FrozenLaunch *launch = &f->launch;
    const Program *program = launch->kernel->program;
    if (launch->checks != program->check_count ||
        (launch->checks &&
         program_find_param(program, PARAM_REPORT) != program->param_count - 1) ||
        launch->bound > c->r->bound_count ||
        launch->checks > c->r->bound_count - launch->bound)
        return false;
    for (uint32_t i = 0; i < launch->checks; ++i)
        if (!check_is_known(c, c->r->bounds[launch->bound + i]))
            return false;
    return true;
}

static bool check_launch(const Check *c, const FrozenCommand *f)
{
    if (f->pattern->launch.words != f->launch.kernel->program->param_count ||
        !check_bounds(c, f))
        return false;
    for (uint32_t i = 0; i < f->count; ++i)
        if (!check_word(c, f, &c->r->uses[f->first + i]))
            return false;
    for (uint32_t i = 0; i < f->pattern->launch.folds; ++i)
        if (!check_fold(c, f, i))
            return false;
    return has_arrays(c, f);
}

/* ----------------------------------------------------------- other commands */

static const FrozenUse *slot(const Check *c, const FrozenCommand *f, uint32_t number)
{
    return &c->r->uses[f->first + number];
}

/* Does a slot have an entry for each item? */
static bool covers_items(const Check *c, const FrozenCommand *f, uint32_t number,
                         uint64_t entry)
{
    return covers(c, slot(c, f, number), f->size, f->unit * entry);
}

/* The size of commands for which only a number will do; -1: it is not one. */
static int64_t fixed_size(const Check *c, const FrozenCommand *f)
{
    int64_t size = c->fixed[c->same[f->size]];
    return size > 0 && size <= UINT32_MAX && f->unit == 1 ? size : -1;
}

static bool check_copy(const Check *c, const FrozenCommand *f)
{
    return covers_items(c, f, 0, 1) && covers_items(c, f, 1, 1);
}

static bool item_valid(uint64_t bytes)
{
    return bytes && !(bytes & (bytes - 1)) && bytes <= sizeof(uint64_t);
}

static bool check_fill(const Check *c, const FrozenCommand *f)
{
    uint64_t item = f->pattern->fill.item_size;
    return item_valid(item) && covers_items(c, f, 0, item);
}

static bool check_poke(const Check *c, const FrozenCommand *f)
{
    uint64_t item = f->pattern->fill.item_size;
    return item_valid(item) && covers_bytes(c, slot(c, f, 0), item);
}

static bool check_reduce(const Check *c, const FrozenCommand *f)
{
    const Command *p = f->pattern;
    uint64_t entry = type_info[p->reduce.type].size;
    return reduce_rule_defined(p->reduce.op, p->reduce.type) &&
           covers_items(c, f, 0, entry) && extent(c, f, 0) &&
           covers_blocks(c, slot(c, f, 1), f, 0, entry);
}

static bool check_prefix(const Check *c, const FrozenCommand *f)
{
    const Command *p = f->pattern;
    uint64_t entry = type_info[p->reduce.type].size;
    return reduce_rule_defined(p->reduce.op, p->reduce.type) &&
           covers_items(c, f, 0, entry) && covers_items(c, f, 1, entry) &&
           extent(c, f, 0);
}

/* Does a slot have an entry for each item, or one for all? */
static bool covers_or_one(const Check *c, const FrozenCommand *f, uint32_t number,
                          uint64_t entry)
{
    const FrozenUse *use = slot(c, f, number);
    bool one = use->entry == entry && c->fixed[c->same[use->width]] == 1;
    return one || covers_items(c, f, number, entry);
}

static bool check_dot(const Check *c, const FrozenCommand *f)
{
    VarType type = f->pattern->dot.type;
    uint64_t entry = type_info[type].size;
    return covers_or_one(c, f, 0, entry) && covers_or_one(c, f, 1, entry) &&
           type_info[type].is_float && covers_bytes(c, slot(c, f, 2), entry);
}

static bool check_compress(const Check *c, const FrozenCommand *f)
{
    return covers_items(c, f, 0, 1) &&
           covers_items(c, f, 1, sizeof(uint32_t)) &&
           covers_bytes(c, slot(c, f, 2), sizeof(uint32_t));
}

static bool check_permutation(const Check *c, const FrozenCommand *f)
{
    enum { RECORD = 4 * sizeof(uint32_t) };
    const Command *p = f->pattern;
    const int64_t size = fixed_size(c, f);
    uint64_t blocks = size < 0 ? 0 : ((uint64_t) size - 1) / p->permutation.block + 1;
    uint64_t records = blocks * p->permutation.buckets;
    if (records > (uint64_t) size)
        records = (uint64_t) size;
    return size > 0 && covers_items(c, f, 0, sizeof(uint32_t)) &&
           covers_items(c, f, 1, sizeof(uint32_t)) &&
           covers_bytes(c, slot(c, f, 2), sizeof(uint32_t)) &&
           (f->count < 4 || covers_bytes(c, slot(c, f, 3), records * RECORD));
}

static bool check_sort(const Check *c, const FrozenCommand *f)
{
    const Command *p = f->pattern;
    uint64_t entry = type_info[p->sort.type].size;
    return extent(c, f, 0) && covers_items(c, f, 0, entry) &&
           covers_items(c, f, 1, p->sort.positions ? sizeof(uint32_t) : entry);
}

static bool check_transpose(const Check *c, const FrozenCommand *f)
{
    uint64_t entry = type_info[f->pattern->transpose.type].size;
    return extent(c, f, 0) && extent(c, f, 1) && extent(c, f, 2) &&
           covers_items(c, f, 0, entry) && covers_items(c, f, 1, entry);
}

static bool is_bool(const bool *value) { return *(const unsigned char *) value <= 1; }

/* Its sizes are looked at when it is repeated, as those of blocks are:
 * recording_fill(). */
static bool check_gemm(const Check *c, const FrozenCommand *f)
{
    const Command *p = f->pattern;
    const GemmShape *s = p->data;
    for (uint32_t i = 0; i < recording_extents(p); ++i)
        if (!extent(c, f, i))
            return false;
    return is_bool(&s->transpose_a) && is_bool(&s->transpose_b) && f->unit == 1 &&
           reduce_rule_defined(ReduceOpMul, p->gemm.type);
}

static bool check_combine(const Check *c, const FrozenCommand *f)
{
    const Command *p = f->pattern;
    return extent(c, f, 0) && f->unit == 1 &&
           reduce_rule_defined(p->combine.op, p->combine.type);
}

/* How many entries each has is looked at when it is repeated, too. */
static bool check_ordered(const Check *c, const FrozenCommand *f)
{
    const Command *p = f->pattern;
    uint64_t entry = type_info[p->ordered.type].size;
    return (p->ordered.op == ReduceOpAdd || p->ordered.op == ReduceOpMul) &&
           type_info[p->ordered.type].is_float &&
           covers_or_one(c, f, 0, sizeof(uint32_t)) && covers_or_one(c, f, 1, entry) &&
           slot(c, f, 2)->entry == entry && slot(c, f, 2)->access == SLOT_READ_WRITE &&
           (f->count < 4 || covers_or_one(c, f, 3, 1));
}

static bool (*const kinds[COMMAND_COUNT])(const Check *c, const FrozenCommand *f) = {
    [COMMAND_LAUNCH] = check_launch,     [COMMAND_COPY] = check_copy,
    [COMMAND_FILL] = check_fill,         [COMMAND_POKE] = check_poke,
    [COMMAND_REDUCE] = check_reduce,     [COMMAND_DOT] = check_dot,
    [COMMAND_PREFIX] = check_prefix,     [COMMAND_COMPRESS] = check_compress,
    [COMMAND_PERMUTATION] = check_permutation,
    [COMMAND_SORT] = check_sort,         [COMMAND_GEMM] = check_gemm,
    [COMMAND_TRANSPOSE] = check_transpose,
    [COMMAND_COMBINE] = check_combine,   [COMMAND_ORDERED] = check_ordered,
};

/* Are the parameters that are sizes there, and known? */
static bool check_extents(const Check *c, const FrozenCommand *f)
{
    const uint32_t count = recording_extents(f->pattern), all = c->r->extent_count;
    if (count && (f->extent > all || count > all - f->extent))
        return false;
    for (uint32_t i = 0; i < count; ++i)
        if (!check_is_known(c, extent(c, f, i)))
            return false;
    return true;
}

bool check_parameters(const Check *c, const FrozenCommand *f)
{
    CommandKind kind = f->pattern->kind;
    if (kind != COMMAND_LAUNCH && (f->launch.checks || f->launch.report))
        return false;
    return kinds[kind] && check_extents(c, f) && kinds[kind](c, f);
}
