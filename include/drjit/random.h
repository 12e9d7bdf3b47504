/*
 * drjit/random.h -- the random number generator PCG32 (C++17, header only)
 *
 * PCG32<T> has a generator in each lane: 64 bits of state, numbers of 32 bits, as in
 * O'Neill, "PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms
 * for Random Number Generation" (2014), whose reference gives the same sequence. T is
 * any array of the JIT (it says backend and derivatives), or a number.
 */
#ifndef DRJIT_RANDOM_H
#define DRJIT_RANDOM_H

#include <drjit/array.h>

#define PCG32_DEFAULT_STATE 0x853c49e6748fea9bULL
#define PCG32_DEFAULT_STREAM 0xda3e39cb94b95bdbULL
#define PCG32_MULT 0x5851f42d4c957f2dULL

namespace drjit {

/** Generators, one for each lane; see the head of this file. */
template <typename T> struct PCG32 {
    using UInt32 = uint32_array_t<T>;
    using UInt64 = uint64_array_t<T>;
    using Int64 = int64_array_t<T>;
    using Float32 = float32_array_t<T>;
    using Float64 = float64_array_t<T>;
    using Mask = mask_t<T>;

    UInt64 state; /**< what changes with each number */
    UInt64 inc;   /**< which sequence it is: an odd number */

    /** 'size' generators with different states and sequences. */
    explicit PCG32(size_t size = 1, const UInt64 &initstate = PCG32_DEFAULT_STATE,
                   const UInt64 &initseq = PCG32_DEFAULT_STREAM) {
        seed(size, initstate, initseq);
    }

    /** One generator for each entry of 'initseq', an array that is not of UInt64. */
    template <typename I, std::enable_if_t<detail::is_leaf<I> &&
                                           !std::is_same_v<I, UInt64>, int> = 0>
    PCG32(const UInt64 &initstate, const I &initseq) {
        seed(1, initstate, UInt64(initseq));
    }

    /** Begin anew. With 'size' above 1, lane i adds i to both. */
    void seed(size_t size = 1, const UInt64 &initstate = PCG32_DEFAULT_STATE,
              const UInt64 &initseq = PCG32_DEFAULT_STREAM) {
        UInt64 begin = initstate, sequence = initseq;
        if constexpr (is_jit_v<UInt64>)
            if (size != 1) {
                const UInt64 lane = arange<UInt64>(size);
                begin = begin + lane;
                sequence = sequence + lane;
            }
        state = UInt64(uint64_t(0));
        inc = (sequence << uint64_t(1)) | uint64_t(1);
        next_uint32();
        state = state + begin;
        next_uint32();
    }

    /** 32 uniformly distributed bits; where 'mask' is set the generators go on. */
    UInt32 next_uint32(const Mask &mask = true) {
        const UInt64 old = state;
        state = drjit::select(mask, UInt64(old * uint64_t(PCG32_MULT) + inc), old);
        const UInt32 shifted(
            UInt64(((old >> uint64_t(18)) ^ old) >> uint64_t(27)));
        const UInt32 turn(UInt64(old >> uint64_t(59)));
        return (shifted >> turn) | (shifted << ((~turn + 1u) & 31u));
    }

    /** 64 bits: two numbers, the first in the lower half. */
    UInt64 next_uint64(const Mask &mask = true) {
        const UInt64 low(next_uint32(mask));
        return low | (UInt64(next_uint32(mask)) << uint64_t(32));
    }

    /** In [0, 1): multiples of 2^-23, and of 2^-52. */
    Float32 next_float32(const Mask &mask = true) {
        return Float32(UInt32(next_uint32(mask) >> 9u)) * 0x1p-23f;
    }
    Float64 next_float64(const Mask &mask = true) {
        return Float64(UInt64(next_uint64(mask) >> uint64_t(12))) * 0x1p-52;
    }

    /** A whole number below 'bound', each with the same probability. Numbers below a
     *  threshold, which would make small ones more likely, are drawn again. Waits. */
    UInt32 next_uint32_bounded(uint32_t bound, const Mask &mask = true) {
        const uint32_t threshold = (~bound + 1u) % bound;
        UInt32 number = next_uint32(mask);
        Mask again = mask && number < threshold;
        while (any_nested(again)) {
            number = drjit::select(again, next_uint32(again), number);
            again = again && number < threshold;
        }
        return number % bound;
    }

    /** Skip 'delta' numbers (back, for negative ones) in O(64) steps. */
    void advance(const Int64 &delta) {
        UInt64 factor = PCG32_MULT, plus = inc, all_factor = uint64_t(1),
               all_plus = uint64_t(0), rest(delta);
        for (int i = 0; i < 64; ++i) {
            const auto bit = (rest & uint64_t(1)) != uint64_t(0);
            all_factor = drjit::select(bit, UInt64(all_factor * factor), all_factor);
            all_plus = drjit::select(bit, UInt64(all_plus * factor + plus), all_plus);
            plus = (factor + uint64_t(1)) * plus;
            factor = factor * factor;
            rest = rest >> uint64_t(1);
        }
        state = state * all_factor + all_plus;
    }

    /** Which arrays a generator consists of. */
    auto fields() { return std::tie(state, inc); }
};

} /* namespace drjit */

using drjit::PCG32;

#endif /* DRJIT_RANDOM_H */
