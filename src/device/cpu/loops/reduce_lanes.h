/*
 * reduce_lanes.h -- inner loops of the block primitives, one table per instruction set
 *
 * reduce_lanes.c is compiled once for each instruction set (-DLANES_ISA=baseline,
 * avx2, avx512); reduce_lanes_get() picks the best table the CPU can run. All tables
 * give the same bits. reduce.c and scan.c cut arrays into pieces, hand them to these
 * loops and know nothing of entry types.
 *
 * An array holds *entries*; reductions compute with *accumulators*: f16 entries have
 * f32 accumulators, entries of a float minimum or maximum have integer keys of the same
 * size that sort like the numbers (-0 before +0, NaN last and so neutral), all others
 * have themselves.
 *
 *     entries --load--> accumulators --fold, halve, scan, offset--> accumulators
 *                       accumulators --store--> entries
 */
#ifndef DEVICE_CPU_LOOPS_REDUCE_LANES_H
#define DEVICE_CPU_LOOPS_REDUCE_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drjit-core/jit.h"

enum {
    LANES_CHUNK = 65536, /* entries that 'chunk' and 'fold' take at most */
    LANES_PART = 4096,   /* the entries of a 'part' that is not the last: a multiple */
    LANES_TOTALS = 256,  /* bytes of the totals of a chunk: a row of accumulators */
    LANES_RUN = 64,      /* rows that are added up before they go to the totals */
    LANES_GROUP = 16     /* scans work on whole groups of this many accumulators */
};

enum { LANES_EXCLUSIVE = 1, LANES_STREAM = 2 }; /* flags of LaneCore.scan_after */

/** A group of rows of accumulators, 'width' columns of which are scanned. Strides are
 *  in bytes, from a row to the next in the order of scanning. */
typedef struct LaneRows {
    const char *in;
    char *out;       /* may be 'in' */
    ptrdiff_t in_stride, out_stride;
    size_t width;
    const void *before; /* a row: stands before the chunk */
    void *carry;        /* in the chunk before these rows; becomes the last result, */
    void *front;        /* and this the same with 'before' */
    unsigned flags;  /* as of scan_after; with LANES_STREAM, rows are 64-aligned and
                        so wide */
} LaneRows;

/** Loops on accumulators of one type, for one operation. */
typedef struct LaneCore {
    /** Reduce 'count' (1 ... LANES_CHUNK) accumulators to one, in the order of
     * reduce.c. */
    void (*fold)(const void *in, size_t count, void *out);
    /** Combine the groups of each of 'count' rows of 'groups' (2 or 4), halving their
     *  number until one is left. 'in' and 'out' do not overlap. */
    void (*stack)(const void *in, size_t groups, size_t count, void *out);
    /** Combine both halves of each of 'count' rows of 2 * half accumulators; half is 1,
     *  2, 4 or 8. 'in' and 'out' do not overlap. */
    void (*halve)(const void *in, size_t half, size_t count, void *out);
    /** Inclusive scan of 'count' accumulators (a multiple of LANES_GROUP); '*carry' is
     *  what comes before them and becomes the last result. 'in' and 'out' may be the
     *  same. */
    void (*scan)(const void *in, size_t count, void *carry, void *out);
    /** The last result of that alone: becomes '*carry'. */
    void (*total)(const void *in, size_t count, void *carry);
    /** scan and offset at once: out[i] = op(*before, result i of the scan), or result
     *  i - 1 with LANES_EXCLUSIVE. With LANES_STREAM, 'out' is 64-aligned and written
     *  past the cache (see Lanes.stream). */
    void (*scan_after)(const void *in, size_t count, const void *before, void *carry,
                       unsigned flags, void *out);
    /** Inclusive scans in place of rows of 'stride' (1, 2, 4, 8, 16) accumulators. */
    void (*scan_short)(void *inout, size_t count, size_t stride);
    /** out[i] = op(*before, in[i]). */
    void (*offset)(const void *in, size_t count, const void *before, void *out);
    /** into[r][i] = op(into[r][i], in[r][i]) for 'rows' rows of 'count', those of 'in'
     *  'stride' apart. The two do not overlap. */
    void (*merge)(void *into, const void *in, size_t stride, size_t count, size_t rows);
    /** scan_after for each column of some rows. */
    void (*scan_rows)(const LaneRows *rows);
} LaneCore;

/** One operation on one entry type. */
typedef struct LaneKernel LaneKernel;
struct LaneKernel {
    const LaneCore *core;
    /** As core->fold, from entries to one accumulator. */
    void (*chunk)(const void *in, size_t count, void *out);
    /** The same in parts: 'totals' (LANES_TOTALS bytes, all neutral at first) take in
     *  'count' entries more. core->fold of them is what 'chunk' gives. */
    void (*part)(const void *in, size_t count, void *totals);
    /** As core->merge, of entries. */
    void (*merge)(void *into, const void *in, size_t stride, size_t count, size_t rows);
    /** Rows of 'block' entries to rows of 'stride' >= block accumulators, the rest of
     *  each row set to 'neutral'. 'reverse' turns rows around; if block ==
     *  stride, it turns all 'block * rows' entries around. */
    void (*load)(const LaneKernel *kernel, const void *in, size_t block, size_t stride,
                 size_t rows, bool reverse, void *out);
    /** The opposite of load. */
    void (*store)(const void *in, size_t block, size_t stride, size_t rows,
                  bool reverse, void *out);
    uint64_t neutral;   /* bits of the accumulator that changes nothing */
    uint8_t entry_size; /* bytes */
    uint8_t acc_size;
    bool direct; /* accumulators are the entries */
};

/** Float types of dot products. */
typedef struct LaneDot {
    /** Sum of products of 'count' (1 ... LANES_CHUNK) entries to one accumulator; an
     *  operand with a set flag has one entry. */
    void (*chunk)(const void *a, bool a_scalar, const void *b, bool b_scalar,
                  size_t count, void *out);
    void (*part)(const void *a, bool a_scalar, const void *b, bool b_scalar,
                 size_t count, void *totals);
    const LaneKernel *sum; /* folds and stores the accumulators */
} LaneDot;

typedef struct Lanes {
    const char *isa;
    /** Kernel of each reduction, NULL where it is not defined. */
    const LaneKernel *kernel[ReduceOpCount][VarTypeCount];
    LaneDot dot[VarTypeCount]; /* chunk is NULL for other types */
    /** Number of nonzero bytes. */
    size_t (*mask_count)(const uint8_t *mask, size_t count);
    /** Write first + i for each nonzero mask[i]; 'found' of them (mask_count). */
    void (*mask_write)(const uint8_t *mask, size_t count, uint32_t first, size_t found,
                       uint32_t *out);
    /** Copy past the cache. Other threads see it after stream_end() and a release. */
    void (*stream)(void *out, const void *in, size_t size);
    void (*stream_end)(void);
} Lanes;

/** The table in use. */
const Lanes *reduce_lanes_get(void);
/** Use the table of this name from now on; false if there is none or the CPU cannot run
 *  it. For tests. */
bool reduce_lanes_use(const char *isa);

#endif
