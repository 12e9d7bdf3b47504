/*
 * native_choose.c -- which CPU code is made for
 *
 * The widest vectors that this CPU has, or what DRJIT_NATIVE_ISA names (avx2, avx512).
 * How many packets code computes at a time is decided for each kernel, unless
 * DRJIT_NATIVE_PACKETS (1, 2, 4) says it.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "engine/native/native_choose.h"
#include "engine/native/x86/avx2/avx2.h"
#include "engine/native/x86/avx512/avx512.h"

static const NativeTarget *const targets[] = { &avx512_target.native,
                                               &avx2_target.native };
enum { TARGET_COUNT = sizeof targets / sizeof *targets };

static const NativeTarget *const *offered;
static uint32_t offered_count;
static const NativeTarget *chosen;
static uint32_t packets;

void native_choose_offer(const NativeTarget *const *more, uint32_t count)
{
    offered = more;
    offered_count = count;
}

/* If this CPU has it; else NULL. */
static const NativeTarget *find(const NativeTarget *const *list, uint32_t count,
                                const char *name)
{
    for (uint32_t i = 0; i < count; ++i)
        if (strcmp(list[i]->name, name) == 0 && list[i]->available())
            return list[i];
    return NULL;
}

static const NativeTarget *find_widest(void)
{
    for (uint32_t i = 0; i < TARGET_COUNT; ++i)
        if (targets[i]->available())
            return targets[i];
    return NULL;
}

static void choose(void)
{
    const char *wanted = getenv("DRJIT_NATIVE_ISA");
    const char *count = getenv("DRJIT_NATIVE_PACKETS");
    if (count && *count && strchr("124", *count) && !count[1])
        packets = (uint32_t) (*count - '0');
    if (wanted)
        chosen = find(targets, TARGET_COUNT, wanted);
    if (wanted && !chosen)
        chosen = find(offered, offered_count, wanted);
    if (chosen)
        return;
    chosen = find_widest();
    if (wanted && *wanted)
        log_write(LogLevelWarn,
                  "native: DRJIT_NATIVE_ISA=%s is not available on this CPU, using %s",
                  wanted, chosen ? chosen->name : "no native code");
}

static void choose_once(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, choose);
}

const NativeTarget *native_choose_target(void)
{
    choose_once();
    return chosen;
}

uint32_t native_choose_packets(void)
{
    choose_once();
    return packets;
}
