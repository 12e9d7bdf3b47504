/*
 * forms_near.c -- gathers from the number of the lane and a distance
 *
 * Neighbours on a grid, parts of arrays, and what these give in reverse are gathers
 * whose index is the number of the lane plus a literal. That is a load, of the lanes
 * that take part: others touch no memory, whatever is there.
 *
 *     lane                     0  1  2  3  4  5  6  7
 *     index of x[i - 2]        ?  ?  0  1  2  3  4  5        ?: the mask is not set
 *     load from        x - 2:  .  .  x0 x1 x2 x3 x4 x5
 *
 * The address does not wrap around as 32 bits do. That would make a difference for the
 * last 2^24 of 2^32 entries, so arrays that large must not be read by negative indices;
 * distances are shorter (native_distance()).
 */
#include "engine/native/x86/forms.h"
#include "engine/native/plan/native.h"

bool forms_near_gather(Native *n)
{
    X86 *x = x86_native(n);
    VarType type = native_result_type(n);
    const bool masks = n->target->registers[NATIVE_MASK];
    int32_t distance, size = (int32_t) type_info[type].size;
    if ((!masks && size < 4) ||
        !native_distance(n->f->program, native_inst(n), &distance))
        return false;
    NativeReg base = native_use_address(n, 0);
    NativeReg mask = native_use_active(n, 2, forms_bits(type));
    X86Mem from =
        x86_at_index(base, X86_LANE, __builtin_ctz((uint32_t) size), distance * size);
    if (!masks) {
        NativeReg to = native_result_fresh(n);
        x86_rrm(x, forms_by_width(n, type, X86_VPMASKMOVD, X86_VPMASKMOVQ), to, mask,
                from);
        return true;
    }
    X86Form load = size == 8 ? X86_VMOVUPD : forms_load_lanes(type);
    X86Form form = load | forms_length(n, type) | X86_K(mask) | X86_Z;
    if (type != VarTypeBool) {
        x86_rm(x, form, native_result(n), from);
        return true;
    }
    NativeReg bytes = native_temp(n);
    x86_rm(x, form, bytes, from);
    forms_target(n)->test_bits(n, native_result_mask(n, 32), bytes, 0xff);
    return true;
}
