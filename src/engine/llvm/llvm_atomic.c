/*
 * llvm_atomic.c -- helper functions for scatters that read and write
 *
 * A helper walks over the set bits of the packet's mask, lowest lane first:
 *
 *     entry -> (first -> many) -> lane -> next -> exit
 *                                  ^--------+
 *
 * Direct updates with one atomic operation a lane. NoConflicts, Permute and Expand
 * update without atomics, still lane by lane, because the lanes of one packet may meet
 * in a private copy. Local and Expand first test whether all lanes have one index, and
 * then combine their values by a tree, put the result in the place of the lowest lane's
 * value and walk over this lane only. Looking for smaller groups costs more than it
 * saves: its branches cannot be predicted (64 targets: no gain, 4,096 targets: more
 * than twice the time). Floating-point values are updated by compare-and-swap of their
 * bits, so that the combination is that of ops.def.
 */
#include "engine/llvm/llvm_writer.h"

#include <stdio.h>
#include <string.h>

#include "ir/reduce_rule.h"

/* The integer type that has the bits of a type in memory. */
static const char *bits_type(VarType type)
{
    switch (type_info[type].size) {
    case 1:
        return "i8";
    case 2:
        return "i16";
    case 4:
        return "i32";
    default:
        return "i64";
    }
}

/* ---- r = op(a, b) on a number type, scalar or vector */

/* The integer type, scalar or vector, that has the bits of a floating point type. */
static void name_bits(char *name, size_t size, const char *type)
{
    const char *entry = strstr(type, "double") ? "i64"
                        : strstr(type, "half") ? "i16"
                                               : "i32";
    const char *times = strstr(type, " x ");
    if (times)
        snprintf(name, size, "%.*s x %s>", (int) (times - type), type, entry);
    else
        snprintf(name, size, "%s", entry);
}

static void write_minmax(Text *out, const char *type, const char *mask, VarType entry,
                         ReduceOp op, const char *r, const char *a, const char *b)
{
    bool minimum = op == ReduceOpMin;
    if (type_info[entry].is_float) {
        /* Of two zeros, a negative one counts as less: bits of equal numbers are
         * combined. Else MIN: b < a or a is NaN ? b : a;  MAX: a > b or b is NaN ? a :
         * b. */
        const char *x = minimum ? b : a, *y = minimum ? a : b;
        char bits[32];
        name_bits(bits, sizeof bits, type);
        text_putf(out,
                  "  %s.c = fcmp %s %s %s, %s\n  %s.d = fcmp uno %s %s, "
                  "zeroinitializer\n  %s.e = or %s %s.c, %s.d\n"
                  "  %s.f = select %s %s.e, %s %s, %s %s\n",
                  r, minimum ? "olt" : "ogt", type, x, y, r, type, y, r, mask, r, r, r,
                  mask, r, type, x, type, y);
        text_putf(out,
                  "  %s.g = fcmp oeq %s %s, %s\n  %s.x = bitcast %s %s to %s\n"
                  "  %s.y = bitcast %s %s to %s\n  %s.z = %s %s %s.x, %s.y\n"
                  "  %s.w = bitcast %s %s.z to %s\n"
                  "  %s = select %s %s.g, %s %s.w, %s %s.f\n",
                  r, type, x, y, r, type, x, bits, r, type, y, bits, r,
                  minimum ? "or" : "and", bits, r, r, r, bits, r, type, r, mask, r,
                  type, r, type, r);
    } else {
        text_putf(out,
                  "  %s.c = icmp %c%s %s %s, %s\n"
                  "  %s = select %s %s.c, %s %s, %s %s\n",
                  r, type_info[entry].is_signed ? 's' : 'u', minimum ? "lt" : "gt",
                  type, a, b, r, mask, r, type, a, type, b);
    }
}

static void write_combine(Text *out, const char *type, const char *mask, VarType entry,
                          ReduceOp op, const char *r, const char *a, const char *b)
{
    bool floating = type_info[entry].is_float;
    const char *name = "";
    switch (op) {
    case ReduceOpAdd:
        name = floating ? "fadd" : "add";
        break;
    case ReduceOpMul:
        name = floating ? "fmul" : "mul";
        break;
    case ReduceOpAnd:
        name = "and";
        break;
    case ReduceOpOr:
        name = "or";
        break;
    default:
        write_minmax(out, type, mask, entry, op, r, a, b);
        return;
    }
    text_putf(out, "  %s = %s %s %s, %s\n", r, name, type, a, b);
}

/* %new (bits) from %old (bits) and %x (entry type in memory). Half precision is
 * combined in f32, whose rounding to f16 is the correctly rounded result. */
static void write_new(Text *out, VarType type, ReduceOp op)
{
    const char *bits = bits_type(type), *memory = llvm_writer_memory_type(type);
    if (type == VarTypeFloat16) {
        text_put(out,
                 "  %oh = bitcast i16 %old to half\n  %of = fpext half %oh to float\n"
                 "  %xh = bitcast i16 %x to half\n  %xf = fpext half %xh to float\n");
        write_combine(out, "float", "i1", VarTypeFloat32, op, "%nf", "%of", "%xf");
        text_put(out, "  %nh = fptrunc float %nf to half\n"
                      "  %new = bitcast half %nh to i16\n");
    } else {
        text_putf(out, "  %%ov = bitcast %s %%old to %s\n", bits, memory);
        write_combine(out, memory, "i1", type, op, "%nv", "%ov", "%x");
        text_putf(out, "  %%new = bitcast %s %%nv to %s\n", memory, bits);
    }
}

static const char *atomic_name(VarType type, ReduceOp op)
{
    if (type_info[type].is_float) {
        return NULL;
    }
    switch (op) {
    case ReduceOpAdd:
        return "add";
    case ReduceOpAnd:
        return "and";
    case ReduceOpOr:
        return "or";
    default:
        return NULL;
    }
}

/* Update *%p with %x; the block before is %lane, control goes on to %next. */
static void write_update(Text *out, VarType type, ReduceOp op, ReduceMode mode)
{
    const char *bits = bits_type(type), *memory = llvm_writer_memory_type(type);
    unsigned size = type_info[type].size;
    bool atomic = mode <= ReduceModeLocal;
    if (op == ReduceOpIdentity) {
        text_putf(out, "  store %s %%x, ptr %%p, align %u\n  br label %%next\n", memory,
                  size);
    } else if (!atomic) {
        text_putf(out, "  %%old = load %s, ptr %%p, align %u\n", bits, size);
        write_new(out, type, op);
        text_putf(out, "  store %s %%new, ptr %%p, align %u\n  br label %%next\n", bits,
                  size);
    } else if (atomic_name(type, op)) {
        text_putf(out,
                  "  %%old = atomicrmw %s ptr %%p, %s %%x monotonic\n"
                  "  br label %%next\n",
                  atomic_name(type, op), memory);
    } else {
        text_putf(out,
                  "  %%seen0 = load atomic %s, ptr %%p monotonic, align %u\n"
                  "  br label %%try\ntry:\n"
                  "  %%old = phi %s [ %%seen0, %%lane ], [ %%seen, %%try ]\n",
                  bits, size, bits);
        write_new(out, type, op);
        text_putf(out,
                  "  %%pair = cmpxchg ptr %%p, %s %%old, %s %%new monotonic monotonic\n"
                  "  %%seen = extractvalue { %s, i1 } %%pair, 0\n"
                  "  %%ok = extractvalue { %s, i1 } %%pair, 1\n"
                  "  br i1 %%ok, label %%next, label %%try\n",
                  bits, bits, bits, bits);
    }
}

/* ---- the walk over lanes */

static void declare_count(LlvmWriter *writer)
{
    llvm_writer_declare_text(writer, "i64 @llvm.cttz.i64(i64, i1)");
    llvm_writer_declare_text(writer, "i64 @llvm.ctpop.i64(i64)");
}

/* %i: the lowest lane of %m; %n: its index; %p: the address of its target. */
static void write_lane(Text *out, VarType type)
{
    text_putf(out,
              "  %%i = call i64 @llvm.cttz.i64(i64 %%m, i1 true)\n"
              "  %%ip = getelementptr i32, ptr %%idx, i64 %%i\n"
              "  %%n = load i32, ptr %%ip, align 4\n"
              "  %%n64 = zext i32 %%n to i64\n"
              "  %%p = getelementptr %s, ptr %%base, i64 %%n64\n",
              llvm_writer_memory_type(type));
}

static const char update_parameters[] = "ptr %base, ptr %idx, ptr %val, i64 %mask";
static const char exchange_parameters[] =
    "ptr %base, ptr %idx, ptr %val, ptr %cmp, ptr %out, i64 %mask";

/* Start a helper function. NULL if it is there already, or out of memory. */
static Text *begin_helper(LlvmWriter *writer, const char *name, const char *parameters)
{
    char head[200];
    snprintf(head, sizeof head, "define internal void @%s(%s) noinline #0 {\n", name,
             parameters);
    const char *known = text_get(&writer->helpers);
    if (!known || strstr(known, head))
        return NULL;
    declare_count(writer);
    text_put(&writer->helpers, head);
    text_put(&writer->helpers, "entry:\n");
    return &writer->helpers;
}

/* The entry block and everything up to %p. 'rest' names the lanes left after this one.
 */
static void write_walk(Text *out, VarType type, const char *rest)
{
    text_putf(out,
              "  %%none = icmp eq i64 %%mask, 0\n"
              "  br i1 %%none, label %%exit, label %%lane\n"
              "lane:\n"
              "  %%m = phi i64 [ %%mask, %%entry ], [ %s, %%next ]\n",
              rest);
    write_lane(out, type);
}

static void write_end(Text *out, const char *rest)
{
    text_putf(out,
              "  %%done = icmp eq i64 %s, 0\n"
              "  br i1 %%done, label %%exit, label %%lane\n"
              "exit:\n  ret void\n}\n",
              rest);
}

static const char lowest[] = "  %less = add i64 %m, -1\n"
                             "  %drop = and i64 %m, %less\n";

/* %group: bits of those of the lanes 'among' that have the index 'index'; 'rest': the
 * others. */
static void write_group(const LlvmWriter *writer, Text *out, const char *among,
                        const char *index, const char *rest)
{
    unsigned width = writer->shape.width;
    text_putf(out,
              "  %%ne = insertelement <%u x i32> poison, i32 %s, i32 0\n"
              "  %%ns = shufflevector <%u x i32> %%ne, <%u x i32> poison, <%u x i32> "
              "zeroinitializer\n"
              "  %%equal = icmp eq <%u x i32> %%all, %%ns\n",
              width, index, width, width, width, width);
    if (width == 64) {
        text_put(out, "  %bits = bitcast <64 x i1> %equal to i64\n");
    } else {
        text_putf(out,
                  "  %%short = bitcast <%u x i1> %%equal to i%u\n"
                  "  %%bits = zext i%u %%short to i64\n",
                  width, width, width);
    }
    text_putf(out,
              "  %%group = and i64 %%bits, %s\n"
              "  %s = xor i64 %%group, %s\n",
              among, rest, among);
}

/* %tree: the values of the packet's lanes combined, others replaced by the identity. */
static void write_tree(const LlvmWriter *writer, Text *out, VarType type, ReduceOp op)
{
    unsigned width = writer->shape.width;
    const char *memory = llvm_writer_memory_type(type);
    char vector[LLVM_NAME_SIZE], mask[LLVM_NAME_SIZE];
    char previous[LLVM_NAME_SIZE] = "%keep";
    snprintf(vector, sizeof vector, "<%u x %s>", width, memory);
    snprintf(mask, sizeof mask, "<%u x i1>", width);
    if (width == 64) {
        text_put(out, "  %gm = bitcast i64 %mask to <64 x i1>\n");
    } else {
        text_putf(out,
                  "  %%gs = trunc i64 %%mask to i%u\n"
                  "  %%gm = bitcast i%u %%gs to <%u x i1>\n",
                  width, width, width);
    }
    text_putf(out, "  %%keep = select %s %%gm, %s %%vals, %s <", mask, vector, vector);
    for (unsigned i = 0; i < width; i++) {
        text_putf(out, "%s%s ", i ? ", " : "", memory);
        llvm_writer_constant(out, type == VarTypeBool ? VarTypeUInt8 : type,
                             reduce_rule_neutral(op, type));
    }
    text_put(out, ">\n");
    for (unsigned step = width / 2; step > 0; step /= 2) {
        char shuffled[LLVM_NAME_SIZE], combined[LLVM_NAME_SIZE];
        snprintf(shuffled, sizeof shuffled, "%%sh%u", step);
        snprintf(combined, sizeof combined, "%%co%u", step);
        text_putf(out, "  %s = shufflevector %s %s, %s poison, <%u x i32> <", shuffled,
                  vector, previous, vector, width);
        for (unsigned i = 0; i < width; i++) {
            text_putf(out, "%si32 %u", i ? ", " : "", (i + step) % width);
        }
        text_put(out, ">\n");
        write_combine(out, vector, mask, type, op, combined, previous, shuffled);
        snprintf(previous, sizeof previous, "%s", combined);
    }
    text_putf(out, "  %%tree = extractelement %s %s, i32 0\n", vector, previous);
}

/* Fetch the targets of all lanes before the first atomic operation, which nothing
 * overtakes: a quarter less time on targets larger than the cache. Masked lanes do no
 * harm. */
static void write_prefetch(LlvmWriter *writer, Text *out, VarType type)
{
    llvm_writer_declare_text(writer, "void @llvm.prefetch.p0(ptr, i32, i32, i32)");
    for (unsigned i = 0; i < writer->shape.width; i++) {
        text_putf(out,
                  "  %%pa%u = getelementptr i32, ptr %%idx, i64 %u\n"
                  "  %%pi%u = load i32, ptr %%pa%u, align 4\n"
                  "  %%pw%u = zext i32 %%pi%u to i64\n"
                  "  %%pt%u = getelementptr %s, ptr %%base, i64 %%pw%u\n"
                  "  call void @llvm.prefetch.p0(ptr %%pt%u, i32 1, i32 3, i32 1)\n",
                  i, i, i, i, i, i, i, llvm_writer_memory_type(type), i, i);
    }
}

/* What write_walk() does, and in between: if all lanes agree, their combination takes
 * the place of the lowest lane's value, which alone is left. */
static void write_agree(LlvmWriter *writer, Text *out, VarType type, ReduceOp op,
                        bool prefetch)
{
    unsigned width = writer->shape.width;
    const char *memory = llvm_writer_memory_type(type);
    text_putf(out,
              "  %%none = icmp eq i64 %%mask, 0\n"
              "  br i1 %%none, label %%exit, label %%first\n"
              "first:\n"
              "  %%fi = call i64 @llvm.cttz.i64(i64 %%mask, i1 true)\n"
              "  %%fp = getelementptr i32, ptr %%idx, i64 %%fi\n"
              "  %%fn = load i32, ptr %%fp, align 4\n"
              "  %%all = load <%u x i32>, ptr %%idx, align 64\n",
              width);
    write_group(writer, out, "%mask", "%fn", "%unequal");
    text_putf(out,
              "  %%same = icmp eq i64 %%unequal, 0\n"
              "  br i1 %%same, label %%many, label %%%s\n"
              "many:\n"
              "  %%vals = load <%u x %s>, ptr %%val, align 64\n",
              prefetch ? "ahead" : "lane", width, memory);
    write_tree(writer, out, type, op);
    text_putf(out,
              "  %%vp = getelementptr %s, ptr %%val, i64 %%fi\n"
              "  store %s %%tree, ptr %%vp, align %u\n"
              "  %%minus = sub i64 0, %%mask\n"
              "  %%single = and i64 %%mask, %%minus\n"
              "  br label %%lane\n",
              memory, memory, type_info[type].size);
    if (prefetch) {
        text_put(out, "ahead:\n");
        write_prefetch(writer, out, type);
        text_put(out, "  br label %lane\n");
    }
    text_putf(out,
              "lane:\n"
              "  %%m = phi i64 [ %%mask, %%%s ], [ %%single, %%many ], "
              "[ %%drop, %%next ]\n",
              prefetch ? "ahead" : "first");
    write_lane(out, type);
}

void llvm_atomic_reduce(LlvmWriter *writer, VarType type, ReduceOp op, ReduceMode mode,
                        char name[LLVM_NAME_SIZE])
{
    static const char *const modes[] = {
        [ReduceModeAuto] = "direct",   [ReduceModeDirect] = "direct",
        [ReduceModeLocal] = "local",   [ReduceModeNoConflicts] = "plain",
        [ReduceModeExpand] = "expand", [ReduceModePermute] = "plain"
    };
    static const char *const ops[] = { "set", "add", "mul", "min", "max", "and", "or" };
    bool combines = type != VarTypeFloat16 && type != VarTypeBool &&
                    op != ReduceOpIdentity && writer->shape.width > 1;
    if (mode == ReduceModeLocal && !combines) {
        mode = ReduceModeDirect;
    } else if (mode == ReduceModeExpand && !combines) {
        mode = ReduceModeNoConflicts;
    }
    snprintf(name, LLVM_NAME_SIZE, "scatter_%s_%s_%s", ops[op], modes[mode],
             type_info[type].short_name);
    Text *out = begin_helper(writer, name, update_parameters);
    if (!out)
        return;
    const char *memory = llvm_writer_memory_type(type);
    if (mode == ReduceModeLocal || mode == ReduceModeExpand) {
        write_agree(writer, out, type, op, mode == ReduceModeLocal);
    } else {
        if (mode <= ReduceModeDirect && op != ReduceOpIdentity) {
            write_prefetch(writer, out, type);
        }
        write_walk(out, type, "%drop");
    }
    text_putf(out,
              "  %%xp = getelementptr %s, ptr %%val, i64 %%i\n"
              "  %%x = load %s, ptr %%xp, align %u\n",
              memory, memory, type_info[type].size);
    write_update(out, type, op, mode);
    text_put(out, "next:\n");
    text_put(out, lowest);
    write_end(out, "%drop");
}

void llvm_atomic_swap(LlvmWriter *writer, VarType type, Op op,
                      char name[LLVM_NAME_SIZE])
{
    bool compare = op == OP_SCATTER_CAS;
    const char *bits = bits_type(type);
    snprintf(name, LLVM_NAME_SIZE, "scatter_%s_%s", compare ? "cas" : "exch", bits);
    Text *out = begin_helper(writer, name, exchange_parameters);
    if (!out)
        return;
    unsigned size = type_info[type].size;
    write_walk(out, type, "%drop");
    text_putf(out,
              "  %%xp = getelementptr %s, ptr %%val, i64 %%i\n"
              "  %%x = load %s, ptr %%xp, align %u\n"
              "  %%op = getelementptr %s, ptr %%out, i64 %%i\n",
              bits, bits, size, bits);
    if (compare) {
        text_putf(out,
                  "  %%cp = getelementptr %s, ptr %%cmp, i64 %%i\n"
                  "  %%c = load %s, ptr %%cp, align %u\n"
                  "  %%pair = cmpxchg ptr %%p, %s %%c, %s %%x monotonic monotonic\n"
                  "  %%old = extractvalue { %s, i1 } %%pair, 0\n",
                  bits, bits, size, bits, bits, bits);
    } else {
        text_putf(out, "  %%old = atomicrmw xchg ptr %%p, %s %%x monotonic\n", bits);
    }
    text_putf(out, "  store %s %%old, ptr %%op, align %u\n  br label %%next\nnext:\n",
              bits, size);
    text_put(out, lowest);
    write_end(out, "%drop");
}

void llvm_atomic_fetch_add(LlvmWriter *writer, VarType type, char name[LLVM_NAME_SIZE])
{
    const char *bits = bits_type(type), *memory = llvm_writer_memory_type(type);
    snprintf(name, LLVM_NAME_SIZE, "scatter_fetch_add_%s", type_info[type].short_name);
    Text *out = begin_helper(writer, name, exchange_parameters);
    if (!out)
        return;
    unsigned size = type_info[type].size;
    write_walk(out, type, "%drop");
    text_putf(out,
              "  %%xp = getelementptr %s, ptr %%val, i64 %%i\n"
              "  %%x = load %s, ptr %%xp, align %u\n",
              memory, memory, size);
    write_update(out, type, ReduceOpAdd, ReduceModeDirect);
    text_putf(out,
              "next:\n"
              "  %%op = getelementptr %s, ptr %%out, i64 %%i\n"
              "  store %s %%old, ptr %%op, align %u\n",
              bits, bits, size);
    text_put(out, lowest);
    write_end(out, "%drop");
}

/* Lanes with one target are counted together and numbered in order. */
static void write_increment(LlvmWriter *writer)
{
    Text *out = &writer->helpers;
    declare_count(writer);
    text_put(out, "define internal void @scatter_inc(ptr %base, ptr %idx, ptr %val, "
                  "ptr %cmp, ptr %out, i64 %mask) noinline #0 {\n");
    text_put(out, "entry:\n");
    text_putf(out, "  %%all = load <%u x i32>, ptr %%idx, align 64\n",
              writer->shape.width);
    write_walk(out, VarTypeUInt32, "%rest");
    write_group(writer, out, "%m", "%n", "%rest");
    text_put(out, "  %wide = call i64 @llvm.ctpop.i64(i64 %group)\n"
                  "  %number = trunc i64 %wide to i32\n"
                  "  %old = atomicrmw add ptr %p, i32 %number monotonic\n"
                  "  br label %each\n"
                  "each:\n"
                  "  %g = phi i64 [ %group, %lane ], [ %gd, %each ]\n"
                  "  %count = phi i32 [ %old, %lane ], [ %count1, %each ]\n"
                  "  %k = call i64 @llvm.cttz.i64(i64 %g, i1 true)\n"
                  "  %op = getelementptr i32, ptr %out, i64 %k\n"
                  "  store i32 %count, ptr %op, align 4\n"
                  "  %count1 = add i32 %count, 1\n"
                  "  %gl = add i64 %g, -1\n"
                  "  %gd = and i64 %g, %gl\n"
                  "  %last = icmp eq i64 %gd, 0\n"
                  "  br i1 %last, label %next, label %each\n"
                  "next:\n");
    write_end(out, "%rest");
}

void llvm_atomic_fixed(LlvmWriter *writer)
{
    Text *out = &writer->helpers;
    if (writer->helper_bits & LLVM_HELPER_INC) {
        write_increment(writer);
    }
    if (writer->helper_bits & LLVM_HELPER_CHECK) {
        declare_count(writer);
        text_put(out, "define internal void @check_failed(ptr %report, ptr %idx, "
                      "i64 %mask) noinline cold #0 {\n"
                      "  %wide = call i64 @llvm.ctpop.i64(i64 %mask)\n"
                      "  %number = trunc i64 %wide to i32\n"
                      "  %old = atomicrmw add ptr %report, i32 %number monotonic\n"
                      "  %i = call i64 @llvm.cttz.i64(i64 %mask, i1 true)\n"
                      "  %ip = getelementptr i32, ptr %idx, i64 %i\n"
                      "  %n = load i32, ptr %ip, align 4\n"
                      "  %p = getelementptr i8, ptr %report, i64 4\n"
                      "  store atomic i32 %n, ptr %p monotonic, align 4\n"
                      "  ret void\n}\n");
    }
    if (writer->helper_bits & LLVM_HELPER_STORE) {
        text_put(out, "define internal void @store_part(ptr %to, ptr %from, i64 %size) "
                      "noinline cold #0 {\nentry:\n  br label %byte\nbyte:\n"
                      "  %i = phi i64 [ 0, %entry ], [ %next, %byte ]\n"
                      "  %a = getelementptr i8, ptr %from, i64 %i\n"
                      "  %x = load i8, ptr %a, align 1\n"
                      "  %b = getelementptr i8, ptr %to, i64 %i\n"
                      "  store i8 %x, ptr %b, align 1\n"
                      "  %next = add i64 %i, 1\n"
                      "  %more = icmp ult i64 %next, %size\n"
                      "  br i1 %more, label %byte, label %exit\n"
                      "exit:\n  ret void\n}\n");
    }
}
