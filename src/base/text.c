/*
 * text.c -- text builder
 *
 * 'data' always ends in a 0 byte when it is not NULL. Once 'failed' is set the text is
 * gone and appending does nothing until text_clear(); the error is recorded (again) by
 * text_get(), because other calls may have come in between. Numbers are written without
 * printf where it matters for speed or for independence of the locale.
 */
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

enum { TEXT_SMALLEST = 64 };

static void give_up(Text *text)
{
    alloc_free(text->data);
    *text = (Text) { .failed = true };
}

/* Make room for 'extra' more characters and the final 0. */
static bool reserve(Text *text, size_t extra)
{
    if (text->failed)
        return false;
    if (extra < text->capacity - text->size)
        return true;
    if (extra > SIZE_MAX / 4 || text->capacity > SIZE_MAX / 4) {
        give_up(text);
        return false;
    }

    size_t capacity = text->capacity + text->capacity / 2;
    if (capacity < text->size + extra + 1)
        capacity = text->size + extra + 1;
    if (capacity < TEXT_SMALLEST)
        capacity = TEXT_SMALLEST;
    char *data = alloc_resize(text->data, capacity);
    if (!data) {
        give_up(text);
        return false;
    }
    text->data = data;
    text->capacity = capacity;
    return true;
}

void text_put_n(Text *text, const char *string, size_t size)
{
    if (!reserve(text, size))
        return;
    if (size)
        memcpy(text->data + text->size, string, size);
    text->size += size;
    text->data[text->size] = 0;
}

void text_put(Text *text, const char *string)
{
    text_put_n(text, string, strlen(string));
}

void text_put_char(Text *text, char c)
{
    text_put_n(text, &c, 1);
}

void text_put_u64(Text *text, uint64_t value)
{
    char digits[20];
    size_t i = sizeof digits;
    do {
        digits[--i] = (char) ('0' + value % 10);
        value /= 10;
    } while (value);
    text_put_n(text, digits + i, sizeof digits - i);
}

void text_put_i64(Text *text, int64_t value)
{
    if (value < 0)
        text_put_char(text, '-');
    text_put_u64(text, value < 0 ? 0 - (uint64_t) value : (uint64_t) value);
}

void text_put_hex64(Text *text, uint64_t value)
{
    char digits[16];
    for (int i = 15; i >= 0; --i, value >>= 4)
        digits[i] = "0123456789abcdef"[value & 15];
    text_put_n(text, digits, sizeof digits);
}

void text_putf(Text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    text_vputf(text, format, args);
    va_end(args);
}

void text_vputf(Text *text, const char *format, va_list args)
{
    char buffer[256];
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(buffer, sizeof buffer, format, args);

    if (length < 0) {
        give_up(text);
    } else if ((size_t) length < sizeof buffer) {
        text_put_n(text, buffer, (size_t) length);
    } else if (reserve(text, (size_t) length)) {
        vsnprintf(text->data + text->size, (size_t) length + 1, format, again);
        text->size += (size_t) length;
    }
    va_end(again);
}

const char *text_get(Text *text)
{
    if (text->failed) {
        error_set(JIT_ERROR_MEMORY, "out of memory while building a text");
        return NULL;
    }
    return text->data ? text->data : "";
}

char *text_take(Text *text)
{
    text_put_n(text, "", 0); /* an empty builder hands out an empty string of its own */
    if (!text_get(text))
        return NULL;
    char *result = text->data;
    *text = (Text) { 0 };
    return result;
}

void text_clear(Text *text)
{
    text->size = 0;
    text->failed = false;
    if (text->data)
        text->data[0] = 0;
}

void text_free(Text *text)
{
    alloc_free(text->data);
    *text = (Text) { 0 };
}

/* 'thousandths' / 1000 with at most 'digits' (0..3) decimals and no trailing zeros. */
static void put_decimal(Text *text, uint64_t thousandths, int digits)
{
    static const unsigned step[] = { 1000, 100, 10, 1 };
    thousandths = (thousandths + step[digits] / 2) / step[digits] * step[digits];
    text_put_u64(text, thousandths / 1000);
    unsigned fraction = (unsigned) (thousandths % 1000);
    if (fraction)
        text_put_char(text, '.');
    for (unsigned digit = 100; fraction; fraction %= digit, digit /= 10)
        text_put_char(text, (char) ('0' + fraction / digit));
}

void text_put_bytes(Text *text, uint64_t bytes)
{
    static const char *const units[] = { " B", " KiB", " MiB", " GiB", " TiB", " PiB" };
    double value = (double) bytes;
    size_t unit = 0;
    for (; value >= 1023.5 && unit + 1 < sizeof units / sizeof *units; ++unit)
        value /= 1024;
    int digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    put_decimal(text, (uint64_t) (value * 1000 + 0.5), digits);
    text_put(text, units[unit]);
}

void text_put_seconds(Text *text, double seconds)
{
    static const char *const units[] = { " ns", " us", " ms", " s" };
    double value = seconds > 0 ? seconds * 1e9 : 0;
    size_t unit = 0;
    for (; value >= 999.9995 && unit + 1 < sizeof units / sizeof *units; ++unit)
        value /= 1000;
    if (value > 1e15)
        value = 1e15;
    put_decimal(text, (uint64_t) (value * 1000 + 0.5), 3);
    text_put(text, units[unit]);
}
