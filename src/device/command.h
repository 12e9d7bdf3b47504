/*
 * command.h -- work for a device, as a record
 *
 * Whatever runs on a device is a Command: its kind, its parameters as plain values, and
 * its operands as slots, which name buffers. Nothing else can be submitted to a stream.
 * So code that records, prints, compares, orders or repeats work needs to know
 * slots only:
 *
 *     Command │ kind, size, parameters, whom to tell
 *             │ slots[]  buffer, offset, bytes, read or written
 *             │ data     what has no fixed size: arguments of a launch, a shape, a list
 *             │ job      memory of the device, for running it
 *
 * One allocation holds all of it. A command holds references to its buffers and its
 * code. It is made and changed by one thread; from stream_submit() on it belongs to the
 * stream.
 */
#ifndef DEVICE_COMMAND_H
#define DEVICE_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "device/buffer.h"
#include "device/code.h"
#include "ir/reduce_rule.h"

enum { COMMAND_NO_HISTORY = -1 };

typedef enum CommandKind {
#define COMMAND(name, ...) COMMAND_##name,
#include "device/commands.def"
#undef COMMAND
    COMMAND_COUNT
} CommandKind;

typedef enum SlotAccess {
    SLOT_READ = 1,
    SLOT_WRITE = 2, /* all bytes, whatever was there before */
    SLOT_READ_WRITE = 3
} SlotAccess;

/** How many entries a slot has, by the command's size and parameters. */
typedef enum SlotExtent {
    EXTENT_ITEMS,        /* its size, and */
    EXTENT_FIXED,        /* of which a recording has a number only; */
    EXTENT_ITEMS_OR_ONE, /* or a single one for all items */
    EXTENT_ONE,
    EXTENT_BLOCKS,       /* one for each block */
    EXTENT_RECORDS,      /* one for each bucket of each block, up to its size */
    EXTENT_COPIES,       /* from the first one of the first copy to the last one */
    EXTENT_FIRST_MATRIX, /* to the last one of this operand of a product */
    EXTENT_SECOND_MATRIX
} SlotExtent;

/** Bytes of an entry in a slot; these are not numbers: see commands.def. */
enum {
    ENTRY_1 = 1, ENTRY_4 = 4, ENTRY_16 = 16, ENTRY_TYPE, ENTRY_ITEM, ENTRY_RESULT
};

/** A slot of all commands of a kind. */
typedef struct SlotInfo {
    uint8_t access; /* SlotAccess; 0: there is none */
    uint8_t entry, extent;
    bool over;      /* what is written may be what is read */
    bool optional;
} SlotInfo;

/** A row of commands.def. */
enum { COMMAND_SLOTS = 4, COMMAND_SIZES = 3 };
typedef struct CommandInfo {
    const char *name;
    int history;     /* KernelType or COMMAND_NO_HISTORY */
    uint32_t inputs; /* for the history, as are */
    uint32_t flops;
    SlotInfo slots[COMMAND_SLOTS + 1]; /* none: there may be any */
    uint16_t sizes[COMMAND_SIZES + 1]; /* offsets of parameters that are sizes; 0: no
                                          more */
} CommandInfo;
extern const CommandInfo command_info[COMMAND_COUNT];

typedef struct Slot {
    Buffer *buffer; /* a reference */
    size_t offset, bytes;
    uint32_t access;
    uint32_t word;  /* LAUNCH: which argument is its address, or SLOT_NO_WORD.
                       AGGREGATE: which entry it is */
    uint32_t writes; /* of the buffer, when the command was submitted */
} Slot;
enum { SLOT_NO_WORD = UINT32_MAX };

/** Batched matrix products (JitGemm), strides in entries. */
typedef struct GemmShape {
    size_t m, n, k;
    size_t row_a, row_b; /* strides of rows as stored */
    bool transpose_a, transpose_b;
    uint32_t axes;       /* of the batch */
    struct GemmAxis {
        size_t extent, stride_a, stride_b;
    } axis[];
} GemmShape;
typedef struct GemmAxis GemmAxis;

/** A reduction of what a launch computes: of values that are written nowhere, for
 *  which it has an argument that is the address of a *tile*, or of arrays. */
typedef struct FusedReduction {
    uint64_t block;     /* entries of each result, or, of PREFIX, of a block, */
    uint64_t stride;    /* and from one of them to the next; 1, but for reductions */
    uint32_t source[2]; /* a slot, FUSED_TILE | word, or FUSED_NONE; dot products have a
                         * second one */
    uint32_t target;    /* slot of the results */
    uint8_t op, type;   /* ReduceOp or REDUCE_..., VarType of the values */
    uint8_t rule, flags; /* of PREFIX: ReduceOp, PREFIX_... */
} FusedReduction;
enum { LAUNCH_FUSED = 8 }; /* of a launch, at most */
#define FUSED_TILE 0x80000000u
#define FUSED_NONE UINT32_MAX
/** As Param.reduced of its values has it. */
static inline uint32_t fused_param(const FusedReduction *reduction)
{
    bool squares =
        reduction->op == REDUCE_DOT && reduction->source[0] == reduction->source[1];
    return squares ? (uint32_t) REDUCE_SQUARES : reduction->op;
}

/** A point in a stream: its number of submitted commands. */
typedef struct StreamPoint {
    struct Stream *stream; /* NULL: none */
    uint64_t seq;
} StreamPoint;

/** How a command ended. */
typedef struct CommandResult {
    const ErrorRecord *error; /* NULL: it was performed */
    uint64_t ns;              /* from its start to its end, if it was to be timed */
    uint64_t end;             /* the time of clock_ns() then, likewise */
} CommandResult;

typedef struct Command Command;
/** Called once, without locks, when a command has ended; its buffers are still held.
 *  Must not wait for streams. */
typedef void (*CommandDone)(void *payload, const Command *command,
                            const CommandResult *result);

enum { COMMAND_POINTS = 4 }; /* points that a command can wait for without memory */

struct Command {
    CommandKind kind;
    uint32_t slot_count;
    uint64_t size; /* in units of commands.def */
    struct Device *device;
    Slot *slots;
    void *data;
    size_t data_size;

    union {
        struct { Code *code; uint32_t workers, words, fused,
                 prints; } launch; /* the reference is owned; worker numbers stay
                             below 'workers', 0: any number; 'prints': the slot of a
                             PrintArea + 1, 0: none; 'data': the words,
                             then FusedReductions */
        struct { uint64_t bits; uint32_t item_size; } fill; /* FILL, POKE */
        /* Types, and operations behind them, stand in one place: command_type(). */
        struct { VarType type; ReduceOp op; size_t block, stride;
                 bool exclusive, reverse; } reduce; /* REDUCE, PREFIX; 'stride': from
                             one entry of a block to the next */
        struct { VarType type; } dot;
        struct { uint32_t block, buckets; } permutation;
        struct { VarType type; size_t block; bool descending, indices; } sort;
        struct { VarType type; size_t rows, columns, items; } transpose; /* of arrays of
                             (any, rows, columns, items) entries */
        struct { VarType type; } gemm; /* 'data': a GemmShape */
        struct { VarType type; ReduceOp op; size_t stride;
                 uint32_t copies; } combine;
        struct { VarType type; ReduceOp op; } ordered; /* Add, Mul; of floats */
        struct { void (*call)(void *payload); void *payload; } host;
    };

    bool timed;       /* somebody wants to know how long it takes */
    bool once;        /* is not to be repeated if it is interrupted */
    bool judged;      /* 'done' may find that what it has written is wrong */
    CommandDone done; /* NULL: nobody is to be told */
    void (*drop)(void *payload); /* called instead if it is never performed, or NULL */
    void *payload;
    uint32_t interrupts; /* interrupt_requests() when it was made, or when what made it
                          * began: requests from then on are for this command, too */

    /* use of stream.c */
    struct Stream *stream;
    uint64_t seq;        /* its number there, */
    uint64_t last;       /* and the last one that has passed when it has ended */
    const ErrorRecord *cause; /* NULL, or why it is not performed: borrowed */
    Command *next;
    StreamPoint *points; /* has to wait for these; 'few' or memory of its own */
    uint32_t point_count;
    bool blocked;        /* waits for one of the points */
    bool gathered;       /* its thread defers small ones, too: see stream_defer() */
    bool small;          /* its device can run it in the calling thread at once */
    uint32_t joined;     /* commands behind it that began with it: its device said so
                          * when it was started */
    bool ended;          /* its device, which keeps order, has performed it, */
    CommandResult result; /* ... with this result */
    bool again;          /* was interrupted before */
    bool stale;          /* and what it reads has changed since */
    uint32_t holders;    /* use of redo.c */
    bool prepared;       /* what its device has taken for it is to be given back */

    /* use of the device */
    void *job;

    StreamPoint few[COMMAND_POINTS]; /* not initialised, as what follows */
};

/** A command for a device, all of it 0 but for these. NULL: out of memory. */
Command *command_create(struct Device *device, CommandKind kind, uint64_t size,
                        uint32_t slots, size_t data);
/** Fill in a slot; takes a reference of its own. */
void command_set_slot(Command *command, uint32_t slot, Buffer *buffer, size_t offset,
                      size_t bytes, SlotAccess access);
/** Put another buffer in the place of a slot's. */
void command_set_buffer(Command *command, uint32_t slot, Buffer *buffer);
/** The address of a slot's bytes, for the device only. */
static inline void *command_address(const Command *command, uint32_t slot)
{
    const Slot *s = &command->slots[slot];
    return (char *) s->buffer->address + s->offset;
}
/** The type of entries, of kinds that have one. */
static inline VarType command_type(const Command *command)
{
    return command->reduce.type;
}
/** Bytes of an entry in a slot of the row of its kind. */
uint32_t command_entry(const Command *command, uint32_t slot);
/** Has each slot all that the command reads and writes of it, as its row, its size and
 *  its parameters say? And do these fit each other: is it made of whole blocks, ...? Of
 *  launches: what they reduce; the rest is up to the kernel. */
bool command_fits(const Command *command);
/** The fused reductions of a launch. */
static inline FusedReduction *command_fused(const Command *command)
{
    return (FusedReduction *) (void *) ((uint64_t *) command->data +
                                        command->launch.words);
}
/** A command with the same parameters, another size and slots without buffers. NULL:
 *  out of memory. */
Command *command_like(const Command *command, uint64_t size);
/** The same command once more, with references of its own; nobody is told of its end.
 *  Commands that are on their way cannot be copied. NULL: out of memory. */
Command *command_copy(const Command *command);
/** Room for points of this many streams. False: out of memory. */
bool command_reserve_points(Command *command, uint32_t count);
/** Release its buffers and its code: from then on it does nothing. */
void command_let_go(Command *command);
/** Release a command that was not submitted; NULL is fine. */
void command_free(Command *command);
/** Would both do the same, given the same buffers in the slots? */
bool command_equal(const Command *a, const Command *b);
/** Are both launches of one code, the second of which uses nothing that the first
 *  writes? */
bool command_repeats(const Command *first, const Command *second);
/** "copy 64 [w 0x5.. +0 64, r 0x7.. +16 64]": for logs. */
void command_write(const Command *command, Text *out);

#endif
