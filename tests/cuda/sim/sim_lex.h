/*
 * sim_lex.h -- PTX text as tokens
 *
 * A name is a run of letters, digits and _ $ % . (and ::), so an opcode with its
 * modifiers, and %tid.x, are one token each; a directive ends before the next dot.
 * Comments and lines that begin with # are skipped.
 */
#ifndef CUDA_SIM_SIM_LEX_H
#define CUDA_SIM_SIM_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum TokenKind {
    TOKEN_END,
    TOKEN_NAME,
    TOKEN_INT,    /* 'value' */
    TOKEN_F32,    /* 0f...: 'value' has its bits */
    TOKEN_F64,    /* 0d... */
    TOKEN_REAL,   /* 1.5e3: 'value' has the bits of a double */
    TOKEN_STRING, /* text without the quotes */
    TOKEN_SIGN    /* one character, 'sign' */
} TokenKind;

typedef struct Token {
    TokenKind kind;
    char sign;
    const char *text;
    uint32_t size, line;
    uint64_t value;
} Token;

typedef struct Lexer {
    const char *at;
    uint32_t line;
    const char *wrong; /* why there is no next token; NULL */
} Lexer;

/** The next token. TOKEN_END at the end, and if 'wrong' is set. */
Token lex_next(Lexer *lexer);
bool lex_is(const Token *token, const char *name);

#endif
