/*
 * sim_module.c -- what a module owns, and looking things up in it
 */
#include "sim_module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const TypeInfo sim_types[PTX_TYPE_COUNT + 1] = {
#define TYPE_ROW(id, text, width, class_name)                    \
    [PTX_##id] = { .name = text,                                 \
                   .bits = width,                                \
                   .bytes = width / 8,                           \
                   .register_bytes = width == 8 ? 2 : width / 8, \
                   .class = CLASS_##class_name },
    PTX_TYPES(TYPE_ROW)
#undef TYPE_ROW
        [PTX_NONE] = { .name = "none" },
};

static void *have(void *block)
{
    if (!block) {
        fputs("simulator: out of memory\n", stderr);
        abort();
    }
    return block;
}

void *sim_alloc(size_t bytes)
{
    return have(calloc(1, bytes ? bytes : 1));
}

void *sim_alloc_aligned(size_t bytes)
{
    size_t size = (bytes + 256) & ~(size_t) 255;
    return memset(have(aligned_alloc(256, size)), 0, size);
}

void *sim_resize(void *block, size_t bytes)
{
    return have(realloc(block, bytes ? bytes : 1));
}

char *sim_string(const char *text, size_t size)
{
    char *copy = sim_alloc(size + 1);
    memcpy(copy, text, size);
    return copy;
}

void sim_grow(void *array, uint32_t *capacity, uint32_t count, size_t element)
{
    if (count < *capacity)
        return;
    void *block;
    memcpy(&block, array, sizeof(block));
    *capacity = *capacity ? *capacity * 2 : 8;
    block = sim_resize(block, (size_t) *capacity * element);
    memcpy(array, &block, sizeof(block));
}

void *sim_module_get(SimModule *module, size_t bytes)
{
    sim_grow(&module->owned, &module->owned_capacity, module->owned_count,
             sizeof(void *));
    return module->owned[module->owned_count++] = sim_alloc(bytes);
}

void sim_free(SimModule *module)
{
    if (!module)
        return;
    for (uint32_t i = 0; i < module->function_count; i++) {
        Function *f = module->functions[i];
        free(f->name);
        free(f->params);
        free(f->results);
        free(f);
    }
    for (uint32_t i = 0; i < module->variable_count; i++) {
        Variable *v = module->variables[i];
        free(v->name);
        free(v->data);
        free(v);
    }
    for (uint32_t i = 0; i < module->owned_count; i++)
        free(module->owned[i]);
    free(module->owned);
    free(module->functions);
    free(module->variables);
    free(module->kernels);
    free(module->code);
    free(module->consts);
    free(module->text);
    free(module);
}

const SimKernel *sim_find(const SimModule *module, const char *name)
{
    for (uint32_t i = 0; i < module->kernel_count; i++) {
        if (!strcmp(module->kernels[i].function->name, name))
            return &module->kernels[i];
    }
    return NULL;
}

const SimKernel *sim_kernel_at(const SimModule *module, uint32_t i)
{
    return i < module->kernel_count ? &module->kernels[i] : NULL;
}

const char *sim_kernel_name(const SimKernel *kernel)
{
    return kernel->function->name;
}

bool sim_kernel_param(const SimKernel *kernel, uint32_t i, uint32_t *offset,
                      uint32_t *bytes)
{
    const Function *f = kernel->function;
    if (i >= f->param_count)
        return false;
    *offset = f->params[i].offset;
    *bytes = f->params[i].bytes;
    return true;
}

void *sim_find_variable(const SimModule *module, const char *name, size_t *bytes)
{
    for (uint32_t i = 0; i < module->variable_count; i++) {
        if (!strcmp(module->variables[i]->name, name)) {
            *bytes = module->variables[i]->bytes;
            return module->variables[i]->data;
        }
    }
    return NULL;
}
