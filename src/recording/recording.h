/*
 * recording.h -- commands that were submitted, to be submitted again with other arrays
 *
 *     Recorder  sees the commands of a thread while a function runs   (tap of a stream)
 *         │     which arrays do they use, what sizes do they have?
 *         ▼
 *     Recording commands without buffers │ arrays │ sizes and guards (symsize.h)
 *         │
 *         ▼
 *     recording_repeat()  the same command for other arrays and sizes
 *
 * An array of a recording is an input, a constant, or made by its commands. What
 * a command does is known from commands.def, so its sizes follow from those of the
 * arrays that it reads. Where they do not, the sizes of all inputs are pinned: the
 * recording is right for them, and for no others.
 *
 * Nobody locks anything: a Recorder belongs to the thread that records, a Recording
 * does not change.
 */
#ifndef RECORDING_RECORDING_H
#define RECORDING_RECORDING_H

#include "device/device.h"
#include "recording/symsize.h"

struct Kernel;       /* kernel/cache.h */
struct LaunchResult; /* kernel/launch.h */

typedef enum FrozenKind {
    FROZEN_INPUT,    /* number: of the input */
    FROZEN_CONSTANT, /* number: in Recording.constants */
    FROZEN_MADE,     /* by commands, or the state of a loop; number: FROZEN_UNDEFINED,
                        if nobody has to write it before it is read */
    FROZEN_LOST,     /* of a single iteration: it cannot be had again */
    FROZEN_KINDS
} FrozenKind;

enum { FROZEN_UNDEFINED = 1 };

/** An array of symsize * entry bytes. */
typedef struct FrozenArray {
    FrozenKind kind;
    uint32_t number;
    SymSize symsize;
    uint32_t entry;
    uint32_t last; /* command that uses it; UINT32_MAX: it is a result */
} FrozenArray;

/** A slot of a command. */
typedef struct FrozenUse {
    uint32_t array;
    SymSize symsize; /* its bytes: symsize * entry */
    uint32_t entry;
    uint32_t access, word;
    uint16_t lane, once; /* of a launch: bytes that each lane uses of it, and that one
                            does for all; recording_bind() */
    size_t offset;
} FrozenUse;

/** What a launch is besides its command. */
typedef struct FrozenLaunch {
    struct Kernel *kernel; /* a reference; NULL: it is another command */
    uint32_t operations, inputs, outputs; /* for the history */
    uint32_t checks, bound; /* their bounds are in Recording.bounds, from there on */
    uint32_t report;      /* which one of those that who records has; 0: none */
} FrozenLaunch;

/** A command whose size is symsize * unit. */
typedef struct FrozenCommand {
    Command *pattern; /* without buffers; owned */
    SymSize size;
    uint32_t unit;
    uint32_t first, count; /* of its uses */
    FrozenLaunch launch;
    uint32_t extent;       /* its parameters that are sizes (recording_extent()) are in
                              Recording.extents, from there on */
} FrozenCommand;

/** A number that the host reads after 'behind' commands. */
typedef struct FrozenRead {
    uint32_t behind, array;
    SymSize place; /* 32 bits, entry number 'place' of the array */
    SymSize symsize; /* the term that it is */
} FrozenRead;

/** Bytes that the host has read after 'behind' commands, and that have to be there
 *  again: in Recording.content, from 'first' on. */
typedef struct FrozenContent {
    uint32_t behind, array;
    size_t offset, bytes;
    size_t first;
} FrozenContent;

/** What a loop hands from one iteration to the next: arrays. */
typedef struct FrozenState {
    uint32_t initial; /* what it is before the first one, */
    uint32_t array;   /* in the block and after the loop, */
    uint32_t next;    /* and what the block makes of it */
} FrozenState;

/** A block of commands that is run as often as the host reads so. What it makes is
 *  given up after each iteration, but for what becomes the state. */
typedef struct FrozenLoop {
    uint32_t first, end;    /* its commands, those of loops in it among them */
    uint32_t inner;         /* this many loops in it, and in these, follow it */
    uint32_t enter, again;  /* arrays of a byte: is there a first, another iteration?
                               Both are one if there is never another one */
    uint32_t least, most;   /* iterations that it has to make (0, 1), and may make (0,
                               1, or any number: UINT32_MAX) */
    uint32_t arrays, arrays_end; /* that it makes, states of loops in it among them */
    uint32_t state, states; /* in Recording.states, from 'state' on */
} FrozenLoop;

typedef struct Recording {
    Device *device;
    SymSizes symsizes;
    FrozenArray *arrays;
    uint32_t array_count, array_capacity;
    FrozenUse *uses;
    uint32_t use_count, use_capacity;
    FrozenCommand *commands;
    uint32_t command_count, command_capacity;
    FrozenRead *reads;
    uint32_t read_count, read_capacity;
    FrozenLoop *loops; /* by their first commands, those around others before these */
    uint32_t loop_count, loop_capacity;
    FrozenState *states; /* of all loops */
    uint32_t state_count, state_capacity;
    FrozenContent *contents;
    uint32_t content_count, content_capacity;
    unsigned char *content; /* the bytes of all of them */
    size_t content_bytes, content_room;
    SymSize *bounds;      /* of checks */
    uint32_t bound_count, bound_capacity;
    SymSize *extents;     /* parameters of commands; 0: as in the pattern */
    uint32_t extent_count, extent_capacity;
    Buffer **constants; /* references */
    uint32_t constant_count, constant_capacity;
} Recording;

/** A loop in the making, see recorder_loop.c. */
typedef struct RecorderLoop RecorderLoop;

/** A recording in the making. */
typedef struct Recorder {
    Recording recording;
    Table known;    /* Buffer * -> array */
    Buffer **held;  /* what 'known' knows of: an address must not come twice */
    uint32_t held_count, held_capacity, sweep;
    SymSize size;     /* of the next command, 0: as its arrays say */
    uint32_t extents; /* the last ones of Recording.extents that are the next command's:
                         all it has, or none, if nothing is known of them */
    FrozenLaunch launch; /* the next command, kernel borrowed; zeroed: not a launch */
    RecorderLoop *loop; /* NULL: none is open */
    bool pinned;    /* sizes of inputs are guarded */
    bool failed;    /* out of memory, which is recorded as an error */
    const char *refused; /* why this cannot be repeated, literal text; NULL: it can */
} Recorder;

/* ---- recording */

#define RECORDER_UNKNOWN UINT32_MAX

/** An array that commands are going to read: input 'number', or a constant. False:
 *  out of memory. */
bool recorder_input(Recorder *r, uint32_t number, Buffer *buffer, SymSize symsize,
                    uint32_t entry);
bool recorder_constant(Recorder *r, Buffer *buffer, SymSize symsize, uint32_t entry);
/** An array that commands are going to write, whose first content does not matter. */
bool recorder_undefined(Recorder *r, Buffer *buffer, SymSize symsize, uint32_t entry);
/** The array that a buffer is, or RECORDER_UNKNOWN. */
uint32_t recorder_find(const Recorder *r, const Buffer *buffer);
/** Guard the sizes of all inputs. */
void recorder_pin(Recorder *r);
/** Note a command that is submitted: the tap of a stream, with a Recorder as payload.
 *  What goes wrong is in 'failed' and 'refused'. */
void recorder_note(void *recorder, const Command *command);
/** Parameter 'number' of those of the next command that are sizes, in order. */
void recorder_extent(Recorder *r, uint32_t number, SymSize symsize);
/** The next command launches a kernel (borrowed), with these bounds of its checks. */
void recorder_launch(Recorder *r, const FrozenLaunch *launch, const SymSize *bounds);
/** Why it cannot be: an array of a single iteration is used. */
extern const char recorder_lost[];
/** This cannot be repeated, because (literal text; the first reason counts). */
void recorder_refuse(Recorder *r, const char *why);
/** A number of 32 bits that the latest command has written to a place in a buffer, and
 *  that the host has read. 0: out of memory. */
SymSize recorder_read(Recorder *r, const Buffer *buffer, SymSize place, uint32_t value);
/** The host has read these bytes of a buffer, after all commands so far, and they
 *  decide how it goes on. */
void recorder_content(Recorder *r, const Buffer *buffer, size_t offset,
                      const void *data, size_t bytes);
/** These bytes of an array, read after 'behind' commands, have to be there again. */
void recorder_content_of(Recorder *r, uint32_t array, uint32_t behind, size_t offset,
                         const void *data, size_t bytes);
/** This array is a result: it stays until the end. */
void recorder_keep(Recorder *r, uint32_t array);
/** The host reads it now: it stays until then. */
void recorder_keep_until_now(Recorder *r, uint32_t array);
/** A buffer that is known is this array from now on. False: out of memory. */
bool recorder_rename(Recorder *r, Buffer *buffer, uint32_t array);
/** Release what only recording needs; the Recording is left. */
void recorder_end(Recorder *r);

/* ---- loops that are run at once (recorder_loop.c) */

/** A state of a loop. */
typedef struct LoopValue {
    Buffer *buffer; /* NULL: it is not an array, and these are its bits */
    uint64_t bits;
} LoopValue;

/** A loop with this many states begins, perhaps in an iteration of another one. */
void recorder_loop_begin(Recorder *r, const void *loop, uint32_t states);
/** The host has asked whether there is another iteration, and read the answer from the
 *  first byte of a buffer (NULL: it knew it). If there is none, the loop is over: its
 *  states are results of it from now on. */
void recorder_loop_test(Recorder *r, const void *loop, const LoopValue *values,
                        uint32_t count, const Buffer *condition, bool again);
/** Nothing more is recorded: a loop that is open did not end. */
void recorder_loop_end(Recorder *r);

/* ---- repeating */

/** Parameters of a command that are sizes: how many of them it has, and one of them. */
uint32_t recording_extents(const Command *c);
uint64_t *recording_extent(Command *c, uint32_t number);
/** Bytes of an array, values[] having those of all terms. False: no size that arrays
 *  have. */
static inline bool recording_bytes(const Recording *r, uint32_t array,
                                   const int64_t *values, size_t *bytes)
{
    const FrozenArray *a = &r->arrays[array];
    const int64_t symsize = values[a->symsize];
    return symsize >= 0 &&
           (symsize <= UINT32_MAX || symsize_is_constant(&r->symsizes, a->symsize)) &&
           !__builtin_mul_overflow(symsize, a->entry, bytes);
}
/** The size of a command. */
static inline uint64_t recording_size(const FrozenCommand *f, const int64_t *values)
{
    return (uint64_t) values[f->size] * f->unit;
}
/** Find out what the lanes of a launch use of each array. */
void recording_bind(const Recording *r, const FrozenCommand *f);
/** Fill in all else that sizes and buffers of arrays decide, in a command that is like
 *  the pattern. Inputs are locked, or the caller's alone. False: its parameters do not
 *  fit each other, or something that it reads or writes does not lie within its array.
 *  What was recorded has guards for that; of what was loaded it is not known before. */
bool recording_fill(const Recording *r, const FrozenCommand *f, Command *c,
                    Buffer *const *buffers, const int64_t *values);
/** A command for these buffers of arrays; a launch tells 'done' of its end, which may
 *  be NULL. NULL: out of memory, and 'done' will not be called. */
Command *recording_repeat(const Recording *r, uint32_t command, Buffer *const *buffers,
                          const int64_t *values,
                          void (*done)(void *payload,
                                       const struct LaunchResult *result),
                          void *payload);
/** The last of the first 'commands' that writes an array, counted from 1; 0: none. */
uint32_t recording_writer(const Recording *r, uint32_t commands, uint32_t array);
/** The loop around a loop. RECORDER_UNKNOWN: there is none. */
uint32_t recording_outer(const Recording *r, uint32_t loop);
/** Does this loop, which comes next, begin before a command, within the innermost one
 *  (RECORDER_UNKNOWN: none), or does the block of that end there? */
bool recording_enters(const Recording *r, uint32_t loop, uint32_t inside,
                      uint32_t command);
bool recording_leaves(const Recording *r, uint32_t inside, uint32_t command);
/** What it consists of, for people. */
void recording_write(const Recording *r, Text *out);
/** What the host has read, for people: of a content "i0[3]" or "a1[0:4]"; after the
 *  contents, the numbers of iterations of loops. */
void recording_write_decision(const Recording *r, uint32_t decision, Text *out);
/** Release what a command has. */
void recording_drop_command(FrozenCommand *f);
void recording_free(Recording *r);

#endif
