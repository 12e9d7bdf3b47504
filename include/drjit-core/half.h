/*
 * drjit-core/half.h -- drjit::half, a half precision number for C++ (header only)
 *
 * The number is stored as its bits, which is what arrays of VarTypeFloat16 hold. It
 * converts from every arithmetic type with one rounding and to float exactly, so that
 * scalar arithmetic on it takes place in float. Needs no hardware support.
 */
#ifndef DRJIT_CORE_HALF_H
#define DRJIT_CORE_HALF_H

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace drjit {

/** A half precision number (IEEE 754 binary16) as it lies in memory. Converts from
 *  every arithmetic type, rounding once to nearest even, and exactly to float. */
struct half {
    uint16_t bits = 0; /**< sign, 5 bits of exponent, 10 bits of fraction */

    half() = default;

    /** Nearest half of an arithmetic value; infinity where that is too large. */
    template <typename S, std::enable_if_t<std::is_arithmetic_v<S>, int> = 0>
    half(S value) : bits(round(static_cast<double>(value))) { }

    /** The half with this bit pattern. */
    static half from_bits(uint16_t bits) {
        half result;
        result.bits = bits;
        return result;
    }

    /** The same number as a float. */
    operator float() const {
        const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
        const uint32_t exponent = (bits >> 10) & 31u, fraction = bits & 1023u;

        if (exponent == 0) { /* zero and subnormals: a multiple of 2^-24 */
            const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
            return sign ? -magnitude : magnitude;
        }

        const uint32_t wide = exponent == 31 ? 255 : exponent + 112;
        const uint32_t pattern = sign | wide << 23 | fraction << 13;
        float result;
        std::memcpy(&result, &pattern, sizeof(result));
        return result;
    }

private:
    static uint16_t round(double value) {
        uint64_t pattern;
        std::memcpy(&pattern, &value, sizeof(value));
        const uint16_t sign = static_cast<uint16_t>(pattern >> 48 & 0x8000u);
        const int exponent = static_cast<int>(pattern >> 52 & 2047u) - 1023;
        uint64_t fraction = pattern & ((uint64_t(1) << 52) - 1);

        if (exponent == 1024) /* infinities stay, NaNs become the quiet one */
            return static_cast<uint16_t>(sign | 0x7c00u | (fraction ? 0x200u : 0u));
        if (exponent > 15)
            return static_cast<uint16_t>(sign | 0x7c00u);
        if (exponent < -25)
            return sign;

        /* Drop 42 bits, or more where the result is subnormal. The sum lets a carry out
         * of the fraction raise the exponent, up to infinity, as it should. */
        const int drop = exponent < -14 ? 28 - exponent : 42;
        const uint64_t base =
            exponent < -14 ? 0 : static_cast<uint64_t>(exponent + 14) << 10;
        fraction |= uint64_t(1) << 52;
        const uint64_t rest = fraction & ((uint64_t(1) << drop) - 1);
        const uint64_t middle = uint64_t(1) << (drop - 1);
        uint64_t kept = fraction >> drop;
        kept += rest > middle || (rest == middle && (kept & 1));
        return static_cast<uint16_t>(sign | (base + kept));
    }
};

} /* namespace drjit */

namespace jit = drjit; /* the older name */

#endif /* DRJIT_CORE_HALF_H */
