/*
 * sim_lex.c -- PTX text as tokens
 */
#include "sim_lex.h"

#include <stdlib.h>
#include <string.h>

static bool name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_' || c == '$' || c == '%' || c == '.';
}

static bool digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Skip what separates tokens. */
static void skip(Lexer *x)
{
    for (bool begins = x->line == 1; *x->at;) {
        char c = *x->at;
        if (c == '\n') {
            x->line++;
            x->at++;
            begins = true;
        } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
            x->at++;
        } else if ((c == '/' && x->at[1] == '/') || (c == '#' && begins)) {
            x->at += strcspn(x->at, "\n");
        } else if (c == '/' && x->at[1] == '*') {
            const char *end = strstr(x->at + 2, "*/");
            if (!end) {
                x->wrong = "a comment has no end";
                return;
            }
            for (; x->at < end; x->at++)
                x->line += *x->at == '\n';
            x->at += 2;
        } else {
            return;
        }
    }
}

static int hex_digit(char c)
{
    return digit(c)               ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : 16;
}

/* Digits of a base; false: none, or more than 64 bits. */
static bool digits(Lexer *x, uint32_t base, uint64_t *value)
{
    const char *begin = x->at;
    *value = 0;
    for (; (uint32_t) hex_digit(*x->at) < base; x->at++) {
        uint32_t d = (uint32_t) hex_digit(*x->at);
        if (*value > (UINT64_MAX - d) / base)
            return false;
        *value = *value * base + d;
    }
    return x->at > begin;
}

static bool real_follows(const char *at)
{
    at += strspn(at, "0123456789");
    return *at == '.' || *at == 'e' || *at == 'E';
}

static void number(Lexer *x, Token *t)
{
    char second = x->at[0] == '0' ? x->at[1] : 0;
    bool fine;
    t->kind = TOKEN_INT;
    if (second == 'x' || second == 'X') {
        x->at += 2;
        fine = digits(x, 16, &t->value);
    } else if (second == 'f' || second == 'F' || second == 'd' || second == 'D') {
        bool f32 = second == 'f' || second == 'F';
        t->kind = f32 ? TOKEN_F32 : TOKEN_F64;
        x->at += 2;
        const char *begin = x->at;
        fine = digits(x, 16, &t->value) && x->at - begin == (f32 ? 8 : 16);
    } else if ((second == 'b' || second == 'B') && (x->at[2] | 1) == '1') {
        x->at += 2;
        fine = digits(x, 2, &t->value);
    } else if (real_follows(x->at)) {
        char *end;
        double value = strtod(x->at, &end);
        t->kind = TOKEN_REAL;
        memcpy(&t->value, &value, sizeof(value));
        x->at = end;
        fine = true;
    } else {
        fine = digits(x, second && digit(second) ? 8 : 10, &t->value);
    }
    if (t->kind == TOKEN_INT && *x->at == 'U')
        x->at++;
    if (!fine || name_char(*x->at))
        x->wrong = "a number is not one";
}

static void name(Lexer *x, Token *t)
{
    /* Directives may stand without a space in between: .reg.b32 */
    const bool directive = *x->at == '.';
    t->kind = TOKEN_NAME;
    x->at++;
    while ((name_char(*x->at) && !(directive && *x->at == '.')) ||
           (x->at[0] == ':' && x->at[1] == ':'))
        x->at += *x->at == ':' ? 2 : 1;
    t->size = (uint32_t) (x->at - t->text);
}

Token lex_next(Lexer *x)
{
    skip(x);
    Token t = { .kind = TOKEN_END, .text = x->at, .line = x->line };
    if (x->wrong || !*x->at)
        return t;
    if (digit(*x->at)) {
        number(x, &t);
        t.size = (uint32_t) (x->at - t.text);
    } else if (name_char(*x->at)) {
        name(x, &t);
    } else if (*x->at == '"') {
        const char *end = strpbrk(x->at + 1, "\"\n");
        if (!end || *end == '\n') {
            x->wrong = "a string has no end";
        } else {
            t.kind = TOKEN_STRING;
            t.text++;
            t.size = (uint32_t) (end - t.text);
            x->at = end + 1;
        }
    } else if (strchr("{}[]()<>,;:=@!|+-~*", *x->at)) {
        t.kind = TOKEN_SIGN;
        t.sign = *x->at++;
        t.size = 1;
    } else {
        x->wrong = "a character has no meaning in PTX";
    }
    if (x->wrong)
        t.kind = TOKEN_END;
    return t;
}

bool lex_is(const Token *t, const char *text)
{
    return t->kind == TOKEN_NAME && strlen(text) == t->size &&
           !memcmp(t->text, text, t->size);
}
