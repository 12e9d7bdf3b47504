/*
 * target.c -- what code is generated for
 *
 * All targets ever chosen stay in a list, equal ones once (or twice, if two threads
 * choose them at the same time): kernels, compiles and callers of the interface point
 * to them. A process chooses from a handful. There is no lock, so none is held when a
 * process forks.
 */
#include "engine/target.h"

#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"

/* Both are stored with release order when the target is complete, and read with acquire
 * order. */
static _Atomic(Target *) list;
static _Atomic(const Target *) current[DEVICE_MOST]; /* by Device.index */

/* Features are "+name" or "-name", separated by commas. */
static bool valid_names(const char *cpu, const char *features)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789_-.";
    if (cpu && (!*cpu || cpu[strspn(cpu, letters)]))
        return false;
    while (features && *features) {
        if (*features != '+' && *features != '-')
            return false;
        size_t length = strspn(++features, letters);
        if (length == 0 || (features[length] && features[length] != ','))
            return false;
        features += length + (features[length] == ',');
    }
    return true;
}

static bool same_name(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static uint64_t hash_name(const char *name, uint64_t seed)
{
    return hash_64(name ? name : "", name ? strlen(name) + 1 : 0, seed);
}

static Target *create(const char *cpu, const char *features, uint32_t width)
{
    Target *target = alloc_zero(1, sizeof(Target));
    char *own_cpu = cpu ? alloc_string(cpu) : NULL;
    char *own_features = features ? alloc_string(features) : NULL;
    if (!target || (cpu && !own_cpu) || (features && !own_features)) {
        alloc_free(target);
        alloc_free(own_cpu);
        alloc_free(own_features);
        return NULL;
    }
    target->cpu = own_cpu;
    target->features = own_features;
    target->width = width;
    target->name = hash_name(features, hash_name(cpu, width));
    return target;
}

static const Target *find(const char *cpu, const char *features, uint32_t width)
{
    Target *t = atomic_load_explicit(&list, memory_order_acquire);
    while (t && !(t->width == width && same_name(t->cpu, cpu) &&
                  same_name(t->features, features)))
        t = t->next;
    return t;
}

static void enter(Target *target)
{
    target->next = atomic_load_explicit(&list, memory_order_acquire);
    while (!atomic_compare_exchange_weak_explicit(&list, &target->next, target,
                                                  memory_order_release,
                                                  memory_order_acquire))
        ;
}

bool target_set(const Device *device, const char *cpu, const char *features,
                uint32_t width)
{
    if (!valid_names(cpu, features))
        return error_set(JIT_ERROR_ARGUMENT, "jit_llvm_set_target(): \"%.80s\", "
                         "\"%.80s\" are not a CPU name and a list such as "
                         "\"+avx2,-avx512f\"",
                         cpu ? cpu : "(host)", features ? features : "");
    if (width > TARGET_WIDTH_MAX || (width & (width - 1)))
        return error_set(JIT_ERROR_ARGUMENT, "jit_llvm_set_target(): the vector width "
                         "is %u, it must be a power of two from 1 to %d",
                         width, TARGET_WIDTH_MAX);
    const Target *target = NULL;
    if (cpu || features || width) {
        target = find(cpu, features, width);
        Target *created = target ? NULL : create(cpu, features, width);
        TRY(target || created, false);
        if (created)
            enter(created);
        target = target ? target : created;
    }
    atomic_store_explicit(&current[device->index], target, memory_order_release);
    return true;
}

const Target *target_get(const Device *device)
{
    return atomic_load_explicit(&current[device->index], memory_order_acquire);
}
