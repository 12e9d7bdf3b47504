/*
 * sim_parse.h -- what the parts of the parser share
 *
 * The text is read once, from begin to end; an instruction is decoded as it is read.
 * Names live in scopes: the module, a function, blocks { } in it. A range %r<10>
 * declares its registers when they are first named.
 *
 * The first error is kept, and from then on the token is TOKEN_END, so that every loop
 * comes to its end.
 */
#ifndef CUDA_SIM_SIM_PARSE_H
#define CUDA_SIM_SIM_PARSE_H

#include "sim_lex.h"
#include "sim_module.h"

typedef enum SymbolKind {
    SYMBOL_REGISTER,
    SYMBOL_RANGE,    /* %r<10>, by the name "%r<" */
    SYMBOL_VARIABLE, /* .shared, .local, .param, .global, .const */
    SYMBOL_FUNCTION,
    SYMBOL_LABEL,
    SYMBOL_TARGETS,  /* .branchtargets */
    SYMBOL_PROTOTYPE /* .callprototype, .calltargets */
} SymbolKind;

typedef struct Symbol {
    char *name;
    SymbolKind kind;
    uint32_t depth;          /* of its scope */
    struct Symbol *shadowed; /* what the name meant outside */
    struct Symbol *next;     /* in its scope */
    PtxType type;            /* registers */
    Ref ref;
    uint32_t limit;   /* of a range */
    Space space;      /* variables */
    uint64_t address; /* in that space */
    uint64_t bytes;
    bool is_extern;      /* declared, and not yet defined */
    Function *function;
    uint32_t pc;     /* of a label */
    uint32_t *table; /* of .branchtargets */
    uint32_t table_size;
} Symbol;

/* A name that is looked up when its scope ends. */
typedef struct Fixup {
    const char *text;
    uint32_t size, line, depth;
    uint32_t pc;     /* of the instruction whose target this is */
    uint32_t *entry; /* or the table entry */
    bool done;
} Fixup;

enum { PARSE_DEPTH = 64, PARSE_PARTS = 16, PARSE_MNEMONIC = 160 };

typedef struct NameSlot {
    char *name;
    Symbol *symbol;
} NameSlot;

typedef struct Parser {
    SimModule *module;
    Lexer lexer;
    Token token;
    bool failed;
    char *error;
    Function *function; /* whose body is read; NULL */
    uint32_t depth;     /* 0: the module */
    Symbol *scopes[PARSE_DEPTH];
    NameSlot *names;
    uint32_t name_count, name_capacity; /* a power of two */
    Fixup *fixups;
    uint32_t fixup_count, fixup_capacity;
    Ref sinks[9]; /* of the function, by bytes: where '_' goes, */
    bool sink_there[9];
    uint32_t *const_index; /* AREA_CONST by value: a table of the size const_slots */
    uint32_t const_slots, const_count;
    bool reads_clock;       /* does the instruction? */
    bool special;           /* may it read special registers? */
    struct FormSlot *forms; /* ptx_forms.def by opcode */
} Parser;

/* ---- sim_parse.c */

/** Record an error at a line; the first one stays. Returns false. */
bool parse_fail(Parser *p, uint32_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void parse_next(Parser *p);
bool parse_sign(const Parser *p, char sign); /* is it this token? */
bool parse_accept(Parser *p, char sign);
bool parse_expect(Parser *p, char sign);
/** A type such as .f32 (the text with its dot); PTX_NONE. */
PtxType parse_type(const char *text, uint32_t size);

/* ---- sim_scope.c */

void scope_open(Parser *p);
void scope_close(Parser *p);
void scope_free(Parser *p);
/** A new name in the scope of this depth; NULL: it is taken there (error). */
Symbol *scope_add(Parser *p, const char *text, uint32_t size, SymbolKind kind,
                  uint32_t depth);
Symbol *scope_find(Parser *p, const char *text, uint32_t size);
/** A register of the function. */
Ref scope_register(Parser *p, PtxType type);
Ref scope_sink(Parser *p, uint8_t bytes);
/** A value for all lanes, of this many bytes; 0: a predicate. */
Ref scope_const(Parser *p, uint64_t value, uint8_t bytes);

/* ---- sim_declare.c */

/** .reg .b32 %r<10>, a; after '.reg' was read. */
void declare_registers(Parser *p);
/** .shared .align 4 .b8 name[16] = {...}; after the space was read. */
void declare_variables(Parser *p, Space space, bool is_extern);
/** A list of formal parameters in parentheses. */
void declare_formals(Parser *p, Function *f, bool results);

/* ---- sim_operand.c */

/** A register to be written, or '_'. Its width must be that of the type, or at least it
 *  if 'wider'. */
Ref operand_dest(Parser *p, PtxType type, bool wider);
/** A register, perhaps a negated predicate, or an immediate. */
Ref operand_source(Parser *p, PtxType type, bool wider);
/** An address in brackets: base, offset, FLAG_FRAME, and space if that was generic or
 *  parameter. */
void operand_address(Parser *p, Insn *i);
/** A register or a list of them in braces, all to be written, or read. */
void operand_vector(Parser *p, Insn *i, PtxType type, uint32_t count, bool written);
/** A signed integer constant. */
int64_t operand_constant(Parser *p);
/** Address of a symbol as a pointer of the kernel has it. '*frame': it is relative to
 *  the local memory of the frame. */
bool operand_symbol(Parser *p, const Symbol *symbol, bool generic, uint64_t *value,
                    bool *frame);

/* ---- sim_decode.c */

typedef struct Mnemonic {
    const char *base;               /* "add" */
    const char *parts[PARSE_PARTS]; /* "rn", "f32" without dots */
    uint32_t count;
    bool used[PARSE_PARTS];
    uint32_t line;
} Mnemonic;

void decode_begin(Parser *p);
void decode_end(Parser *p);
/** Decode an instruction from its opcode to the semicolon, and append it. */
void decode_instruction(Parser *p);
/** Is there this modifier? It counts as understood. */
bool decode_take(Mnemonic *m, const char *part);
/** The next type among the modifiers; PTX_NONE. */
PtxType decode_type(Mnemonic *m);
/** One of a list "a|b|c" that ends with NULL: its number; -1. */
int decode_one_of(Mnemonic *m, const char *const *names);
void decode_emit(Parser *p, const Insn *insn);
/** A modifier that our own kernels must not have. False: an error. */
bool decode_foreign(Parser *p, const Mnemonic *m, const char *part);

/* Reads the operands of an instruction, and fills it in. */
typedef void Decoder(Parser *p, Mnemonic *m, Insn *i);
#define INSTRUCTION(name, decoder) Decoder decoder;
#include "ptx_forms.def"
#undef INSTRUCTION

#endif
