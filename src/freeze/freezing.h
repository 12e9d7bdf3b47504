/*
 * freezing.h -- functions that are recorded, to be repeated without tracing
 *
 *     freezing_start()   inputs: arrays in memory, literals
 *     ... the function is traced and evaluated as usual ...
 *     freezing_stop()    outputs ─► Frozen
 *     freezing_replay()  other inputs ─► outputs; nothing is traced
 *
 * While a thread records, the commands that it submits are noted
 * (recording/recording.h). The trace's part is to say what sizes are: the number of
 * lanes of a kernel follows from the variables that it is computed from
 * (freezing_size_group()). It asks each for its SymSize: inputs and results of commands
 * have one, as has what was made with a size that is one (freezing_hint()). Code that
 * wants the size of a variable as a number gets it from node_number(), which pins it
 * (freezing_pin()). Variables with a size of more than one entry of which nothing is
 * known pin all inputs.
 *
 * What is read by the host cannot decide anything in a recording: that is an error
 * where it happens.
 *
 * A recording has a scope of its own, for literals, too, so that value numbering never
 * hands out a variable that is older. What the thread makes is known (var_maker()).
 * Whatever else it reads, inputs apart, is *foreign*: the operations go on, and the
 * recording is refused in the end, since it would repeat what such a variable was.
 *
 * Requires the graph lock.
 */
#ifndef FREEZE_FREEZING_H
#define FREEZE_FREEZING_H

#include "recording/recording_same.h"
#include "recording/recording_walk.h"
#include "trace/eval/report.h"
#include "trace/graph/distance.h"
#include "trace/graph/loop_array.h"
#include "trace/graph/watch.h"

/** A domain of the registry that was looked at. */
typedef struct FrozenDomain {
    char *variant, *name;
    uint64_t version;
} FrozenDomain;

/** What an input has to be. */
typedef struct FrozenInput {
    uint8_t type, device;
    bool literal;
    bool padded;       /* kernels may load whole vectors at its end */
    uint32_t same;     /* the first input that is the same variable: itself, mostly */
    uint32_t size;     /* its class: 0 and 1 mean these sizes */
    uint64_t bits;     /* of a literal; of an array: the note that it has to have, 0:
                          any (distance.h) */
} FrozenInput;

typedef enum FrozenResult {
    FROZEN_RESULT_ARRAY,   /* number: in Recording.arrays */
    FROZEN_RESULT_INPUT,   /* number: of the input */
    FROZEN_RESULT_LITERAL, /* bits */
    FROZEN_RESULT_HELD,    /* number: in Frozen.held, a variable that never changes */
    FROZEN_RESULTS
} FrozenResult;

typedef struct FrozenOutput {
    FrozenResult kind;
    uint8_t type, device;
    uint32_t number;
    uint32_t same; /* the first output that is the same variable: itself, mostly */
    SymSize symsize;
    uint64_t bits;
} FrozenOutput;

/** Those of a thread's flags that a recording depends on: not what is only told. */
static inline uint32_t freezing_flags(const ThreadState *ts)
{
    return ts->flags & ~(uint32_t) (JitFlagPrintIR | JitFlagKernelHistory |
                                    JitFlagLaunchBlocking |
                                    JitFlagForbidSynchronization |
                                    JitFlagSymbolicScope | JitFlagKernelFreezing |
                                    JitFlagFreezingScope | JitFlagFreezingCheckAll |
                                    JitFlagFreezingCheckNone);
}

/** A function that was recorded. It does not change, and any thread can repeat it. */
typedef struct Frozen {
    Recording recording;
    FrozenInput *inputs;
    FrozenOutput *outputs;
    uint32_t input_count, output_count;
    uint32_t flags;         /* see freezing_flags() */
    VarIds held;            /* constants; references */
    Report **reports;       /* of its launches: to be told again each time */
    uint32_t report_count;
    bool general;           /* see freezing_set_general() */
    FrozenDomain *domains;
    uint32_t domain_count;
    _Atomic uint32_t broken; /* the guard that did not hold the last time, + 1; or a
                                content, counted on after the guards */
} Frozen;

/* ---- the whole */

/** Begin to record what the thread does on this device. Inputs are in memory or
 *  literals. False: error recorded, nothing has begun. */
bool freezing_start(ThreadState *ts, Device *device, const VarId *inputs,
                    uint32_t count);
/** End it; the outputs are evaluated. NULL: error recorded; it has ended all the
 *  same. */
Frozen *freezing_stop(ThreadState *ts, const VarId *outputs, uint32_t count);
/** Give a recording up; without one, nothing happens. */
void freezing_abort(ThreadState *ts);
/** What is submitted until then is not recorded: inputs of it later on are an error. */
bool freezing_pause(ThreadState *ts);
bool freezing_resume(ThreadState *ts);
/** A copy of an array in memory that is not part of it. 0: error recorded. */
VarId freezing_copy(ThreadState *ts, VarId id);

/** Do it again: a reference for each output. REFUSED: it was not recorded for such
 *  inputs; FAILED: error recorded. In both cases there are no outputs. Without
 *  'outputs' (NULL) nothing is done. */
Replay freezing_replay(ThreadState *ts, Frozen *frozen, const VarId *inputs,
                       uint32_t count, VarId *outputs, const char *function);
/** What the thread has begun to record is to be compared with this recording: see
 *  jit_freeze_check(). False: error recorded. */
bool freezing_check(ThreadState *ts, const Frozen *known);
/** Do two recordings do the same? Waits for constants. */
RecordingSame freezing_same(ThreadState *ts, const Frozen *a, const Frozen *b,
                            const char *function);
/** What the history says of the thread's launches. */
KernelRecordingMode freezing_mode(const ThreadState *ts);
/** Arrays, commands and guards, for people. */
void freezing_write(const Frozen *frozen, Text *out);
void freezing_free(Frozen *frozen);

/* ---- sizes, while a thread records */

/** In the place of a SymSize: variables in the body of a region have as many entries as
 *  the kernel that they become a part of has lanes. */
enum { FREEZING_LANES = UINT32_MAX };

/** Note that the recording reads a variable; see watch.h. The end of the recording
 *  reports it if that ran out of memory. */
void freezing_note_read(ThreadState *ts, VarId id);
/** Foreign variables that were read so far, borrowed. NULL: nothing is recorded. */
const VarIds *freezing_foreign(const ThreadState *ts);
/** Append the variables that the recording has made and somebody keeps: they have more
 *  references than there are reasons for in the library, and in 'known', one for each
 *  (0 stands for nothing). No references; in ascending order. False: error recorded. */
bool freezing_escaped(ThreadState *ts, const VarId *known, size_t count, VarIds *out);

/** The size of a variable as a SymSize. 0: out of memory. */
SymSize freezing_symsize(ThreadState *ts, VarId id);
/** The same of any variable; FREEZING_LANES in the body of a region that is not
 *  complete, but for states of loops. */
SymSize freezing_size(ThreadState *ts, VarId id);
/** The recording depends on the sizes of all inputs. False: error recorded. */
bool freezing_bind(ThreadState *ts);
/** The recording depends on the size of a variable; see watch.h. */
void freezing_pin(ThreadState *ts, VarId id);
/** It depends on the size of a variable being this one; 0: what it is now. False:
 *  out of memory. */
bool freezing_keeps(ThreadState *ts, VarId id, SymSize symsize);
/** It depends on the size being a multiple of a number of entries; or that number. */
bool freezing_blocks(ThreadState *ts, VarId id, size_t block);
/** The size of the next command: that of a variable; a number. */
void freezing_size_of(ThreadState *ts, VarId id);
void freezing_size_is(ThreadState *ts, uint64_t size);
/** The same with what freezing_take_hint() has given. False: out of memory. */
bool freezing_size_given(ThreadState *ts, SymSize symsize, uint64_t size);
/** A parameter of the next command that is a size (recording_extent()): they are given
 *  in order. The only one is the size of a variable. False: out of memory. */
void freezing_extent(ThreadState *ts, uint32_t number, SymSize symsize);
bool freezing_extent_of(ThreadState *ts, VarId id);
/** One of them is this stride; 0: it is 1. */
void freezing_stride_extent(ThreadState *ts, uint32_t number, SymSize stride);
/** Number 0 is this block, of the variable that the command reads; FREEZING_LANES: as
 *  large as that. False: out of memory. */
bool freezing_command_block(ThreadState *ts, VarId id, SymSize block);
/** Those of a matrix product that the next command is, and its size. 'given' is its
 *  shape as the caller has given it, which the shape in the command's data completes.
 *  False: error recorded. */
struct JitGemm;
bool freezing_gemm(ThreadState *ts, Command *command, const struct JitGemm *given,
                   VarId a, VarId b);
/** A reduction is about to be made, of such blocks, with such a stride. */
void freezing_reduction(const ThreadState *ts, Var *reduction, const SymSize *symsizes);
/** Its blocks, FREEZING_LANES: all lanes. 0: out of memory. */
SymSize freezing_reduction_block(ThreadState *ts, const Var *reduction);
/** Those of all reductions of the next command. */
void freezing_fused(ThreadState *ts, const Assembly *assembly);
/** The lanes of a group that is about to be launched. False: error recorded. */
bool freezing_size_group(ThreadState *ts, const Group *group);
/** A mask has been made for accesses to packets of n entries of an array: if it checks
 *  the index (debug mode), its bound follows from the size of that. False: out of
 *  memory. */
bool freezing_bound(ThreadState *ts, VarId mask, VarId array, uint32_t n);
/** The next command launches this kernel, and tells this report of its end (NULL:
 *  none). */
void freezing_launch(ThreadState *ts, const Assembly *b, Kernel *kernel,
                     const Report *report);
/** A variable that was filled by the host: a constant of the recording. */
bool freezing_constant(ThreadState *ts, VarId id);
/** An undefined variable is about to have this memory. */
bool freezing_undefined(ThreadState *ts, VarId id, Buffer *buffer);
/** The number of entries of a variable was read at a place of a buffer that the latest
 *  command has written; the place is entry number 'size of another variable', or 0. */
bool freezing_count(ThreadState *ts, VarId id, const Buffer *buffer, VarId place);
/** May the host read arrays? False, error recorded: a function is recorded for which
 *  that was not allowed (freezing_allow_reads()). */
bool freezing_may_read(const ThreadState *ts, const char *function);
/** The host reads entries of an array, with nothing on its way to it any more: what
 *  they are becomes a condition. False: error recorded. */
bool freezing_read(ThreadState *ts, VarId id, size_t first, size_t count);
/** The same of a buffer whose bytes the host has read. */
void freezing_read_buffer(ThreadState *ts, const Buffer *buffer, const void *data,
                          size_t bytes);
/** A loop that is run at once begins: its states become arrays in memory, as large as
 *  the largest one. False: error recorded. */
bool freezing_loop_begin(ThreadState *ts, Loop *loop);
/** Its states and its mask are evaluated, and the host has read whether there is
 *  another iteration; from 'reduced', which is 0 if it knew it. */
void freezing_loop_test(ThreadState *ts, const Loop *loop, VarId reduced, bool again);
/** It depends on the size of a variable being larger than a number. */
bool freezing_exceeds(ThreadState *ts, VarId id, size_t number);
/** Allow what the thread records to read arrays, or not; was it allowed before? */
bool freezing_allow_reads(ThreadState *ts, bool allow);
/** A domain of the registry is looked at: it has to stay as it is. */
void freezing_look_up(ThreadState *ts, const char *variant, const char *domain);
/** A launch does what cannot be repeated. */
void freezing_refuse(ThreadState *ts, const char *why);

/* ---- sizes that programs compute with */

/** A number of the recording that no other one has had for a long time. */
uint32_t freezing_serial(const ThreadState *ts);
/** The distance of private copies of a target (expand.h) in entries. 0: nothing is
 *  recorded, or out of memory. */
SymSize freezing_stride(ThreadState *ts, VarId target);
/** See watch.h, of copies. */
bool freezing_copies(ThreadState *ts, VarId target, uint32_t copies);
void freezing_combine(ThreadState *ts, VarId target);
/** The term that a JitSize is. 0: it is not one that the thread records. */
SymSize freezing_term(ThreadState *ts, uint64_t size);
/** A number that an operation is given, of which its caller may have said what size it
 *  is (a JitSize, 0: none). 0: nothing is recorded, or out of memory. */
SymSize freezing_given(ThreadState *ts, uint64_t number, uint64_t handle);
/** The terms of what the thread records. NULL: it does not; error recorded. */
SymSizes *freezing_symsizes(ThreadState *ts, const char *function);
/** The next variable that the thread makes with a size of its own has this one, if it
 *  has 'size' entries; or the next number that it gives an operation is this one. */
void freezing_hint(ThreadState *ts, SymSize symsize, size_t size);
/** The hint for a variable of that size, which is taken; 0: there is none. Functions
 *  that make variables with sizes of their callers take it, also before failing. */
SymSize freezing_take_hint(ThreadState *ts, size_t size);
/** The hint for a number that is not a size of a variable, which is taken: a constant
 *  if there is none. 0: nothing is recorded, or out of memory. */
SymSize freezing_take_number(ThreadState *ts, size_t number);
/** Does a kernel read such a number from memory? If not, the recording depends on it.
 *  False: out of memory. */
bool freezing_number_varies(ThreadState *ts, SymSize number);
bool freezing_pin_number(ThreadState *ts, SymSize number);
/** The recording depends on a variable consisting of whole blocks, or being one. False:
 *  out of memory. */
bool freezing_divides(ThreadState *ts, VarId id, SymSize block);
/** A new variable, which nobody has yet, was made with a size of the caller's: with
 *  that of the hint, or a constant. Returns it, or another one in its place; 0: out of
 *  memory. */
VarId freezing_sized(ThreadState *ts, VarId id);
/** A new literal or counter has this symbolic size, or an unknown one (0). Consumes it;
 *  0: out of memory. */
VarId freezing_give(ThreadState *ts, VarId id, SymSize symsize);
/** The symbolic size of a variable for freezing_give(); 0: nothing is recorded. False:
 *  error recorded. */
bool freezing_like(ThreadState *ts, VarId id, SymSize *symsize);
/** That, times a number; 0: it is not known. False: error recorded. */
bool freezing_times(ThreadState *ts, SymSize number, SymSize *symsize);
/** Do kernels read sizes that they compute with from memory, so that these can be other
 *  ones when it is repeated? See freeze.h. */
bool freezing_set_general(ThreadState *ts, bool general);
bool freezing_is_general(const ThreadState *ts);
/** Is the size of a variable such a one? */
bool freezing_varies(ThreadState *ts, VarId id);
/** May what follows depend on this? Of an input that is an array, inputs of repetitions
 *  have to have the same note then. Recordings that are to serve others depend on the
 *  notes of no input. */
bool freezing_assume_distance(ThreadState *ts, const Distance *distance);
/** See watch.h. */
VarId freezing_keep_size(ThreadState *ts, VarId id, const VarId *operands,
                         uint32_t count);

#endif
