/*
 * sim_module.h -- a parsed module: decoded instructions, functions, variables
 *
 * All instructions of a module lie in one array, so a number, the pc, names a place in
 * any function. An operand is a Ref: 32 lanes one after the other in one of four areas,
 *
 *     AREA_FRAME    registers of the running function
 *     AREA_CONST    immediates and addresses, the same in all lanes
 *     AREA_SPECIAL  %tid, %laneid, ... of the running warp
 *     AREA_SCRATCH  what one instruction needs for itself
 *
 * each with a mask of the lanes that hold something defined. A predicate is one word, a
 * bit for each lane.
 *
 * Running out of memory ends the process: this is test code. Only what kernels ask for
 * (SimMemory) may be refused.
 */
#ifndef CUDA_SIM_SIM_MODULE_H
#define CUDA_SIM_SIM_MODULE_H

#include "sim.h"

/* name, bits, class. Registers of eight bits take sixteen. */
#define PTX_TYPES(X)             \
    X(PRED, "pred", 1, PRED)     \
    X(B8, "b8", 8, BITS)         \
    X(U8, "u8", 8, UNSIGNED)     \
    X(S8, "s8", 8, SIGNED)       \
    X(B16, "b16", 16, BITS)      \
    X(U16, "u16", 16, UNSIGNED)  \
    X(S16, "s16", 16, SIGNED)    \
    X(F16, "f16", 16, FLOAT)     \
    X(B32, "b32", 32, BITS)      \
    X(U32, "u32", 32, UNSIGNED)  \
    X(S32, "s32", 32, SIGNED)    \
    X(F32, "f32", 32, FLOAT)     \
    X(F16X2, "f16x2", 32, FLOAT) \
    X(B64, "b64", 64, BITS)      \
    X(U64, "u64", 64, UNSIGNED)  \
    X(S64, "s64", 64, SIGNED)    \
    X(F64, "f64", 64, FLOAT)

typedef enum PtxType {
#define TYPE_ENUM(name, text, bits, class) PTX_##name,
    PTX_TYPES(TYPE_ENUM)
#undef TYPE_ENUM
        PTX_TYPE_COUNT,
    PTX_NONE = PTX_TYPE_COUNT
} PtxType;

typedef enum TypeClass {
    CLASS_PRED,
    CLASS_BITS,
    CLASS_UNSIGNED,
    CLASS_SIGNED,
    CLASS_FLOAT
} TypeClass;

typedef struct TypeInfo {
    const char *name;
    uint8_t bits, bytes; /* in memory; 0 for .pred */
    uint8_t register_bytes;
    uint8_t class;
} TypeInfo;

extern const TypeInfo sim_types[PTX_TYPE_COUNT + 1];

typedef enum Area {
    AREA_FRAME,
    AREA_CONST,
    AREA_SPECIAL,
    AREA_SCRATCH,
    AREA_COUNT
} Area;

typedef struct Ref {
    uint32_t at;  /* byte of its area at which lane 0 begins */
    uint32_t reg; /* index of its mask of defined lanes */
    uint8_t area;
    uint8_t bytes; /* of a lane; 0: a predicate */
    bool flipped;  /* a predicate that is negated */
} Ref;

typedef enum Space {
    SPACE_GENERIC,
    SPACE_GLOBAL,
    SPACE_SHARED,
    SPACE_LOCAL, /* and .param of calls */
    SPACE_CONST,
    SPACE_PARAM /* of the kernel */
} Space;

/* Where generic addresses of a space begin: the host has no memory there. */
#define WINDOW_SHARED UINT64_C(0x7e00000000000000)
#define WINDOW_LOCAL UINT64_C(0x7d00000000000000)
#define WINDOW_PARAM UINT64_C(0x7c00000000000000)
#define WINDOW_CODE UINT64_C(0x7b00000000000000)
/* Where .extern .shared arrays begin, and where no other one does. */
#define DYNAMIC_SHARED UINT64_C(0x40000)
#define WINDOW_BYTES UINT64_C(0x0100000000000000)

enum {
    FLAG_FTZ = 1,
    FLAG_SAT = 2,
    FLAG_NC = 4,       /* ld.global.nc */
    FLAG_STRONG = 8,   /* .volatile, .relaxed, .acquire, .release, .mmio */
    FLAG_RELEASE = 16, /* publishes what came before, beyond the block */
    FLAG_FRAME = 32,   /* the address is relative to the frame's local memory */
    FLAG_CLOCK = 128,  /* reads a clock */
    FLAG_SECOND = 256, /* has a second result */
    FLAG_UNIFORM = 512 /* the address is the same for all lanes */
};

typedef enum Round {
    ROUND_NONE,
    ROUND_NEAREST,
    ROUND_ZERO,
    ROUND_DOWN,
    ROUND_UP
} Round;

typedef struct Warp Warp;
typedef struct Insn Insn;
/* Run an instruction for some lanes. What it wants to be executed next, if that is not
 * the next one, and faults, it tells the warp. */
typedef void Exec(Warp *w, const Insn *i, uint32_t mask);
/* Compare 32 lanes. */
typedef uint32_t Compare(const void *a, const void *b);

typedef struct CallSite CallSite;

struct Insn {
    Exec *exec;
    Exec *inner;      /* the operation, if 'exec' wraps one */
    Compare *compare; /* setp, set */
    uint32_t line;
    bool guarded; /* does it run in lanes only where the guard holds? */
    uint8_t type, from;
    uint8_t space;
    uint8_t op, round, count; /* what these mean, each instruction knows; see there */
    uint16_t flags;
    Ref guard, d, e, s[4];
    const Ref *vector; /* 'count' registers of a vector operand */
    int64_t offset;    /* added to an address */
    uint8_t scale;     /* bytes of the entries that an index counts; 0: an address */
    uint32_t target;   /* pc of a branch; function of a call */
    uint32_t table_size;
    const uint32_t *table; /* targets of brx.idx */
    const CallSite *call;
};

/* ---- functions */

/** An argument or a result: a register, or bytes of .param. */
typedef struct Formal {
    bool in_register;
    Ref ref;         /* of a register */
    uint32_t offset; /* .param: in the parameters of the kernel, or in local memory */
    uint32_t bytes;
} Formal;

typedef struct Function {
    char *name;
    bool entry, body; /* has a body */
    uint32_t index, line;
    uint32_t first, end; /* its instructions */
    uint32_t frame_bytes, register_count;
    uint32_t local_bytes; /* of a thread, for its .local and its .param variables */
    Formal *params, *results;
    uint32_t param_count, result_count, param_capacity, result_capacity;
    uint32_t param_bytes; /* of a kernel */
    bool has_nc, writes_global, has_calls;
} Function;

struct CallSite {
    Ref target; /* indirect: address of the function */
    bool indirect;
    uint32_t function;
    Formal *args, *results; /* of the caller */
    uint32_t arg_count, result_count;
};

struct SimKernel {
    const SimModule *module;
    const Function *function;
};

typedef struct Variable {
    char *name;
    Space space;   /* SPACE_GLOBAL or SPACE_CONST */
    uint8_t *data; /* its memory, aligned to 256 bytes: zero where not initialised */
    size_t bytes;
} Variable;

struct SimModule {
    char *text; /* the source, for messages */
    SimDialect dialect;
    Insn *code;
    uint32_t code_count, code_capacity;
    Function **functions;
    uint32_t function_count, function_capacity;
    SimKernel *kernels;
    uint32_t kernel_count;
    Variable **variables;
    uint32_t variable_count, variable_capacity;
    uint8_t *consts; /* AREA_CONST */
    uint32_t const_bytes, const_capacity;
    uint32_t shared_bytes;   /* of all .shared variables but .extern ones */
    uint32_t shared_granule; /* bytes of the narrowest access to shared memory */
    void **owned;            /* blocks that live as long as the module */
    uint32_t owned_count, owned_capacity;
};

/** 'bytes' set to zero that live as long as the module. */
void *sim_module_get(SimModule *module, size_t bytes);

/* ---- memory of the simulator itself */

void *sim_alloc(size_t bytes);         /* set to zero */
void *sim_alloc_aligned(size_t bytes); /* to 256 bytes; set to zero */
void *sim_resize(void *block, size_t bytes);
char *sim_string(const char *text, size_t size);
/** Room for one more in an array. */
void sim_grow(void *array, uint32_t *capacity, uint32_t count, size_t element);

#endif
