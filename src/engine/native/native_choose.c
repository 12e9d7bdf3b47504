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

static const NativeTarget *chosen;
static uint32_t packets;

static void choose(void)
{
    const char *wanted = getenv("DRJIT_NATIVE_ISA");
    const char *count = getenv("DRJIT_NATIVE_PACKETS");
    if (count && *count && strchr("124", *count) && !count[1])
        packets = (uint32_t) (*count - '0');
    for (uint32_t i = 0; i < TARGET_COUNT; ++i) {
        if (!targets[i]->available())
            continue;
        if (!chosen)
            chosen = targets[i];
        if (wanted && strcmp(targets[i]->name, wanted) == 0) {
            chosen = targets[i];
            return;
        }
    }
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
