/*
 * bytes.c -- see bytes.h
 */
#include "base/bytes.h"

void bytes_put(Text *out, uint64_t value, size_t size)
{
    char bytes[sizeof(value)];
    bytes_set(bytes, value, size);
    text_put_n(out, bytes, size);
}

void bytes_put_block(Text *out, const void *data, size_t size)
{
    bytes_put(out, size, sizeof(uint64_t));
    text_put_n(out, data, size);
}

const void *bytes_skip(ByteReader *in, size_t size)
{
    if (in->failed || size > in->size - in->at) {
        in->failed = true;
        return NULL;
    }
    const void *data = in->data + in->at;
    in->at += size;
    return data;
}

uint64_t bytes_take(ByteReader *in, size_t size)
{
    const void *data = bytes_skip(in, size);
    return data ? bytes_get(data, size) : 0;
}

const void *bytes_take_block(ByteReader *in, size_t *size)
{
    *size = (size_t) bytes_take(in, sizeof(uint64_t));
    return bytes_skip(in, *size);
}

uint32_t bytes_take_count(ByteReader *in, size_t each)
{
    uint32_t count = (uint32_t) bytes_take(in, sizeof(count));
    if (count <= (in->size - in->at) / each)
        return count;
    in->failed = true;
    return 0;
}

bool bytes_complete(const ByteReader *in)
{
    return !in->failed && in->at == in->size;
}
