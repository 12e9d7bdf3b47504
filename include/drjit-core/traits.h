/*
 * drjit-core/traits.h -- types of the C++ interface, and how they combine (C++17)
 *
 * A part of drjit-core/array.h. A *leaf* is an array of the JIT, with or without
 * derivatives; a *nested* array is one of drjit/array.h, of leaves, of nested arrays or
 * of plain numbers; a *scalar* is a plain number, drjit::half or bool.
 */
#ifndef DRJIT_CORE_TRAITS_H
#define DRJIT_CORE_TRAITS_H

#include <drjit-core/half.h>
#include <drjit-core/jit.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace drjit {

using namespace checked; /* functions that throw, whatever the program itself calls */

template <typename Family, JitBackend Backend, typename T> struct BasicArray;
template <typename T, size_t N> struct Array;

/* Which functions an array uses. A namespace of their own, since the compiler looks for
 * functions of a program's arrays also where these are. */
namespace family {
struct Plain;   /* without derivatives: functions of jit.h */
struct Tracked; /* with derivatives: functions of ad.h */
} /* namespace family */

namespace detail {

/* ----------------------------------------------------------------- scalars */

template <typename T> inline constexpr bool is_half = std::is_same_v<T, half>;
template <typename T> inline constexpr bool is_bool = std::is_same_v<T, bool>;
template <typename T>
inline constexpr bool is_float = std::is_floating_point_v<T> || is_half<T>;
template <typename T>
inline constexpr bool is_integer = std::is_integral_v<T> && !is_bool<T>;
template <typename T>
inline constexpr bool is_scalar = std::is_arithmetic_v<T> || is_half<T>;

/* The VarType that describes T. */
template <typename T> constexpr VarType var_type() {
    static_assert(is_scalar<T>, "an element is a number, drjit::half or bool");
    if constexpr (is_bool<T>)
        return VarType::Bool;
    else if constexpr (is_half<T>)
        return VarType::Float16;
    else if constexpr (std::is_floating_point_v<T>) {
        static_assert(sizeof(T) <= 8, "long double is not supported");
        return sizeof(T) == 4 ? VarType::Float32 : VarType::Float64;
    } else if constexpr (std::is_signed_v<T>)
        return sizeof(T) == 1 ? VarType::Int8 : sizeof(T) == 2 ? VarType::Int16
             : sizeof(T) == 4 ? VarType::Int32 : VarType::Int64;
    else
        return sizeof(T) == 1 ? VarType::UInt8 : sizeof(T) == 2 ? VarType::UInt16
             : sizeof(T) == 4 ? VarType::UInt32 : VarType::UInt64;
}

/* The integer of twice the size; others stand for themselves. */
template <typename T> struct wide_t { using type = T; };
template <> struct wide_t<int8_t> { using type = int16_t; };
template <> struct wide_t<uint8_t> { using type = uint16_t; };
template <> struct wide_t<int16_t> { using type = int32_t; };
template <> struct wide_t<uint16_t> { using type = uint32_t; };
template <> struct wide_t<int32_t> { using type = int64_t; };
template <> struct wide_t<uint32_t> { using type = uint64_t; };
template <typename T> using wide = typename wide_t<T>::type;

/* Keeps a function parameter out of template argument deduction. */
template <typename T> struct same_t { using type = T; };
template <typename T> using same = typename same_t<T>::type;

/* ------------------------------------------------------------------ arrays */

/* Depth 0: a scalar, or no type of ours; component: what an array consists of; with:
 * the same shape with other scalars. */
template <typename A> struct traits {
    static constexpr size_t depth = 0;
    static constexpr bool leaf = false, nested = false, tracked = false;
    using component = A;
    using scalar = A;
    template <typename S> using with = S;
};
template <typename F, JitBackend B, typename T> struct traits<BasicArray<F, B, T>> {
    static constexpr size_t depth = 1;
    static constexpr bool leaf = true, nested = false;
    static constexpr bool tracked = std::is_same_v<F, family::Tracked>;
    using component = T;
    using scalar = T;
    template <typename S> using with = BasicArray<F, B, S>;
};
template <typename T, size_t N> struct traits<Array<T, N>> {
    static constexpr size_t depth = 1 + traits<T>::depth;
    static constexpr bool leaf = false, nested = true;
    static constexpr bool tracked = traits<T>::tracked;
    using component = T;
    using scalar = typename traits<T>::scalar;
    template <typename S> using with = Array<typename traits<T>::template with<S>, N>;
};

template <typename A> inline constexpr bool is_leaf = traits<A>::leaf;
template <typename A> inline constexpr bool is_nested = traits<A>::nested;
template <typename A> inline constexpr bool is_array = is_leaf<A> || is_nested<A>;
template <typename A> inline constexpr bool is_operand = is_array<A> || is_scalar<A>;

} /* namespace detail */

/** Is this an array: LLVMArray, CUDAArray, DiffArray, or a nested one? */
template <typename A> inline constexpr bool is_array_v = detail::is_array<A>;
/** Is its data that of the JIT? */
template <typename A> inline constexpr bool is_jit_v = detail::is_leaf<A>;
template <typename T, size_t N>
inline constexpr bool is_jit_v<Array<T, N>> = is_jit_v<T>;
/** Can it have derivatives (a DiffArray, or an array of such)? */
template <typename A> inline constexpr bool is_diff_v = detail::traits<A>::tracked;
/** The plain type of entries: float for Array<LLVMArray<float>, 3>. */
template <typename A> using scalar_t = typename detail::traits<A>::scalar;
/** What an array consists of: LLVMArray<float> for Array<LLVMArray<float>, 3>. */
template <typename A> using value_t = typename detail::traits<A>::component;
/** Levels of nesting: 0 for numbers, 1 for LLVMArray, 2 for Array<LLVMArray, N>. */
template <typename A> inline constexpr size_t depth_v = detail::traits<A>::depth;
/** The array type with other entries: replace_scalar_t<A, double>. */
template <typename A, typename S>
using replace_scalar_t = typename detail::traits<A>::template with<S>;
/** What comparisons of A give. */
template <typename A> using mask_t = replace_scalar_t<A, bool>;
template <typename A> using int32_array_t = replace_scalar_t<A, int32_t>;
template <typename A> using uint32_array_t = replace_scalar_t<A, uint32_t>;
template <typename A> using int64_array_t = replace_scalar_t<A, int64_t>;
template <typename A> using uint64_array_t = replace_scalar_t<A, uint64_t>;
template <typename A> using float32_array_t = replace_scalar_t<A, float>;
template <typename A> using float64_array_t = replace_scalar_t<A, double>;
/** Where its data is (None for numbers), and how many components it has. */
template <typename A> inline constexpr JitBackend backend_v = JitBackend::None;
template <typename F, JitBackend B, typename T>
inline constexpr JitBackend backend_v<BasicArray<F, B, T>> = B;
template <typename T, size_t N>
inline constexpr JitBackend backend_v<Array<T, N>> = backend_v<T>;
template <typename A>
inline constexpr bool is_llvm_v = backend_v<A> == JitBackend::LLVM;
template <typename A>
inline constexpr bool is_cuda_v = backend_v<A> == JitBackend::CUDA;
template <typename A> inline constexpr size_t size_v = 1;
template <typename T, size_t N> inline constexpr size_t size_v<Array<T, N>> = N;
/** What kind of entries an array, or a number, has. */
template <typename A>
inline constexpr bool is_floating_point_v = detail::is_float<scalar_t<A>>;
template <typename A>
inline constexpr bool is_integral_v = detail::is_integer<scalar_t<A>>;
template <typename A> inline constexpr bool is_mask_v = detail::is_bool<scalar_t<A>>;

namespace detail {

/* --------------------------------------------------------------- promotion */

/* The type that operands have in common. Numbers take the type of the array, unless the
 * number is a float and the array one of integers; a leaf with derivatives wins over
 * one without; an array is repeated for each component of a nested one. Anything else,
 * leaves with different entries above all, has none. */
template <typename A, typename B, typename = void> struct promote2 { };
template <typename A> struct promote2<A, A, std::enable_if_t<is_operand<A>>> {
    using type = A;
};
template <typename A, typename S> struct with_number {
    static constexpr bool becomes_float =
        is_float<S> && is_integer<typename traits<A>::scalar>;
    static_assert(is_bool<S> == is_bool<typename traits<A>::scalar> || is_bool<S> ||
                      !is_bool<typename traits<A>::scalar>,
                  "numbers and masks do not mix");
    using type = std::conditional_t<becomes_float,
                                    typename traits<A>::template with<S>, A>;
};
template <typename A, typename S>
struct promote2<A, S, std::enable_if_t<is_array<A> && is_scalar<S>>> : with_number<A, S>
{ };
template <typename S, typename A>
struct promote2<S, A, std::enable_if_t<is_array<A> && is_scalar<S>>> : with_number<A, S>
{ };
template <typename S, typename R>
struct promote2<S, R, std::enable_if_t<is_scalar<S> && is_scalar<R> &&
                                       !std::is_same_v<S, R>>> {
    using type = std::conditional_t<is_half<S> || is_half<R>,
                                    std::conditional_t<is_half<S>, R, S>,
                                    decltype(true ? S() : R())>;
};
template <typename F, typename G, JitBackend B, typename T>
struct promote2<BasicArray<F, B, T>, BasicArray<G, B, T>,
                std::enable_if_t<!std::is_same_v<F, G>>> {
    using type = BasicArray<family::Tracked, B, T>;
};
template <typename T, typename L, size_t N>
struct promote2<Array<T, N>, L, std::enable_if_t<is_leaf<L>>> {
    using type = Array<typename promote2<T, L>::type, N>;
};
template <typename L, typename T, size_t N>
struct promote2<L, Array<T, N>, std::enable_if_t<is_leaf<L>>> {
    using type = Array<typename promote2<L, T>::type, N>;
};
template <typename T, typename U, size_t N>
struct promote2<Array<T, N>, Array<U, N>, std::enable_if_t<!std::is_same_v<T, U>>> {
    using type = Array<typename promote2<T, U>::type, N>;
};
/* An array of fewer levels is one value for each component. */
template <typename T, typename U, size_t N, size_t M>
struct promote2<Array<T, N>, Array<U, M>,
                std::enable_if_t<N != M && std::is_same_v<T, Array<U, M>>>> {
    using type = Array<T, N>;
};

template <typename... As> struct promote;
template <typename A> struct promote<A> { using type = A; };
template <typename A, typename B> struct promote<A, B> : promote2<A, B> { };
template <typename A, typename B, typename C>
struct promote<A, B, C> : promote2<typename promote2<A, B>::type, C> { };

/* The same, for functions that need an array among their operands; no type at all for
 * others, so that functions of the standard library are not in the way. */
template <typename... As>
using common = typename std::enable_if_t<(is_array<As> || ...), promote<As...>>::type;

} /* namespace detail */

/** The type of an expression of these types. */
template <typename... As> using expr_t = typename detail::promote<As...>::type;

} /* namespace drjit */

namespace jit = drjit; /* the older name */

#endif /* DRJIT_CORE_TRAITS_H */
