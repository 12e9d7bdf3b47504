/*
 * native_memory.c -- places in memory that generated code uses
 *
 * Two registers point to what all code uses: NativeCpu.slots to the memory of the
 * worker, NativeCpu.pool to the constants; to the middle of what is near, as targets
 * say (NativeTarget.slot_bias). Spill slots have the size of a whole vector register.
 */
#include "engine/native/plan/native_emit.h"

NativeOperand native_memory_slot(const Native *n, uint32_t slot)
{
    return native_at(n->cpu->slots,
                     (int32_t) (slot * n->copies * n->target->vector_bytes) -
                         n->target->slot_bias);
}

NativeOperand native_memory_frame(const Native *n, size_t offset)
{
    return native_at(n->cpu->slots, (int32_t) offset - (int32_t) sizeof(NativeFrame) -
                                        n->target->slot_bias);
}

NativeOperand native_memory_pool(const Native *n, uint32_t place)
{
    return native_at(n->cpu->pool, (int32_t) place - n->target->pool_bias);
}

NativeOperand native_memory_constant(const Native *n, uint32_t place)
{
    NativeOperandKind kind =
        n->target->broadcasts ? NATIVE_IN_BROADCAST : NATIVE_IN_MEMORY;
    return native_place(n->cpu->pool, NATIVE_NO_INDEX, 0, kind,
                        (int32_t) place - n->target->pool_bias);
}

NativeOperand native_memory_argument(const Native *n, uint32_t slot)
{
    return native_at(n->cpu->args, (int32_t) slot * 8);
}

NativeReg native_memory_address(Native *n, uint32_t slot)
{
    for (uint32_t i = 0; i < n->hoisted_count; ++i)
        if (n->hoisted[i] == slot)
            return n->addresses[i];
    NativeReg to = native_temp_general(n);
    n->cpu->load_word(n, to, native_memory_argument(n, slot));
    return to;
}

NativeOperand native_memory_array(Native *n, uint32_t slot, VarType type)
{
    uint32_t shift = (uint32_t) __builtin_ctz(type_info[type].size);
    return native_place(native_memory_address(n, slot), n->cpu->lane, shift,
                        NATIVE_IN_MEMORY, 0);
}
