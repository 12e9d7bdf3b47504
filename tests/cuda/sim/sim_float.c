/*
 * sim_float.c -- arithmetic of floats: the rows FORM_FLOAT of ptx_forms.def
 *
 * What other producers of PTX may ask for beside rounding to nearest (.ftz, .sat,
 * another rounding) is done around the plain operation, by sim_float_modified().
 */
#include "sim_alu.h"

#include "sim_float.h"
#include "sim_half.h"

#include <fenv.h>

#define LOW(a) ((uint16_t) (a))
#define TOP(a) ((uint16_t) ((a) >> 16))
#define PAIR(low, top) ((uint32_t) (low) | (uint32_t) (top) << 16)

/* The other operand for one that is not a number; -0 is less than +0. */
static inline float min_f32(float a, float b)
{
    float least = a == b  ? float_of_bits(bits_of_float(a) | bits_of_float(b))
                  : a < b ? a
                          : b;
    return a != a ? canon_f32(b) : b != b ? a : least;
}

static inline float max_f32(float a, float b)
{
    float most = a == b  ? float_of_bits(bits_of_float(a) & bits_of_float(b))
                 : a > b ? a
                         : b;
    return a != a ? canon_f32(b) : b != b ? a : most;
}

static inline double min_f64(double a, double b)
{
    double least = a == b  ? double_of_bits(bits_of_double(a) | bits_of_double(b))
                   : a < b ? a
                           : b;
    return a != a ? canon_f64(b) : b != b ? a : least;
}

static inline double max_f64(double a, double b)
{
    double most = a == b  ? double_of_bits(bits_of_double(a) & bits_of_double(b))
                  : a > b ? a
                          : b;
    return a != a ? canon_f64(b) : b != b ? a : most;
}

static inline uint16_t half_canon(uint32_t h)
{
    return half_is_nan((uint16_t) h) ? HALF_NAN : (uint16_t) h;
}

static uint16_t half_min(uint16_t a, uint16_t b, bool keep_nan)
{
    if (keep_nan && (half_is_nan(a) || half_is_nan(b)))
        return HALF_NAN;
    return half_round(min_f32(half_value(a), half_value(b)));
}

static uint16_t half_max(uint16_t a, uint16_t b, bool keep_nan)
{
    if (keep_nan && (half_is_nan(a) || half_is_nan(b)))
        return HALF_NAN;
    return half_round(max_f32(half_value(a), half_value(b)));
}

#define FORM_FLOAT(id, opcode, types, signature, ...) \
    types(FORM_FUNCTION, id, opcode, signature, __VA_ARGS__)
#include "ptx_forms.def"
#undef FORM_FLOAT

const Form sim_float_forms[] = {
#define FORM_FLOAT(id, opcode, types, signature, ...) \
    types(FORM_ENTRY, id, opcode, signature, __VA_ARGS__)
#include "ptx_forms.def"
#undef FORM_FLOAT
};
const uint32_t sim_float_form_count =
    sizeof(sim_float_forms) / sizeof(*sim_float_forms);

/* ---- modifiers */

int sim_set_rounding(Round round)
{
    static const int modes[] = {
        [ROUND_NONE] = FE_TONEAREST,  [ROUND_NEAREST] = FE_TONEAREST,
        [ROUND_ZERO] = FE_TOWARDZERO, [ROUND_DOWN] = FE_DOWNWARD,
        [ROUND_UP] = FE_UPWARD,
    };
    int before = fegetround();
    fesetround(modes[round]);
    return before;
}

void sim_restore_rounding(int before)
{
    fesetround(before);
}

static uint16_t flush_half(uint16_t h)
{
    return h & 0x7c00 ? h : h & 0x8000;
}

static uint16_t saturate_half(uint16_t h)
{
    return half_is_nan(h) || h & 0x8000 ? 0 : h > 0x3c00 ? 0x3c00 : h;
}

void sim_flush(PtxType type, void *data)
{
    uint32_t *words = data;
    uint16_t *halves = data;
    for (uint32_t l = 0; type == PTX_F32 && l < SIM_WARP; l++)
        words[l] &= words[l] & 0x7f800000 ? UINT32_MAX : 0x80000000;
    uint32_t count = type == PTX_F16 ? SIM_WARP : type == PTX_F16X2 ? 2 * SIM_WARP : 0;
    for (uint32_t k = 0; k < count; k++)
        halves[k] = flush_half(halves[k]);
}

void sim_saturate(PtxType type, void *data)
{
    float *floats = data;
    double *doubles = data;
    uint16_t *halves = data;
    for (uint32_t l = 0; type == PTX_F32 && l < SIM_WARP; l++)
        floats[l] = floats[l] > 0 ? floats[l] < 1 ? floats[l] : 1 : 0;
    for (uint32_t l = 0; type == PTX_F64 && l < SIM_WARP; l++)
        doubles[l] = doubles[l] > 0 ? doubles[l] < 1 ? doubles[l] : 1 : 0;
    uint32_t count = type == PTX_F16 ? SIM_WARP : type == PTX_F16X2 ? 2 * SIM_WARP : 0;
    for (uint32_t k = 0; k < count; k++)
        halves[k] = saturate_half(halves[k]);
}

/* The operands are copied, the operation runs on the copies. */
void sim_float_modified(Warp *w, const Insn *i, uint32_t mask)
{
    PtxType type = i->type;
    size_t bytes = (size_t) sim_types[type].bytes * SIM_WARP;
    Insn plain = *i;
    for (uint32_t k = 0; k < 4; k++) {
        plain.s[k] = (Ref){ .area = AREA_SCRATCH,
                            .at = k * SPECIAL_BYTES,
                            .reg = k,
                            .bytes = i->s[k].bytes };
        memcpy(sim_data(w, &plain.s[k]), sim_data(w, &i->s[k]),
               (size_t) i->s[k].bytes * SIM_WARP);
        w->scratch_defined[k] = sim_defined(w, &i->s[k]);
        if (i->flags & FLAG_FTZ && i->s[k].bytes == sim_types[type].bytes)
            sim_flush(type, sim_data(w, &plain.s[k]));
    }
    plain.d = (Ref){
        .area = AREA_SCRATCH, .at = 4 * SPECIAL_BYTES, .reg = 4, .bytes = i->d.bytes
    };
    int before = sim_set_rounding(i->round);
    i->inner(w, &plain, mask);
    sim_restore_rounding(before);
    uint8_t *from = sim_data(w, &plain.d), *to = sim_data(w, &i->d);
    if (i->flags & FLAG_FTZ)
        sim_flush(type, from);
    if (i->flags & FLAG_SAT)
        sim_saturate(type, from);
    size_t lane = bytes / SIM_WARP;
    SIM_LANES(mask, l)
    {
        memcpy(to + l * lane, from + l * lane, lane);
    }
    sim_define(w, &i->d, mask, w->scratch_defined[4]);
}
