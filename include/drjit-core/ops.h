/*
 * drjit-core/ops.h -- operators and functions of C++ arrays (C++17, header only)
 *
 * A part of drjit-core/array.h. An operation is one function template for every kind of
 * operand: an array of the JIT traces it, a nested array does it component by
 * component, and numbers are computed at once, with the bits that kernels compute.
 * Operands may differ as traits.h says; the result has the type they have in common.
 */
#ifndef DRJIT_CORE_OPS_H
#define DRJIT_CORE_OPS_H

#include <drjit-core/basic_array.h>

#include <cstring>
#include <limits>

namespace drjit {

namespace detail {

/* ------------------------------------------------------------------- apply */

/* What an operation takes, checked when the program is compiled. */
enum class Takes { Anything, Ordered, Numbers, Floats, Integers, Bits, Masks };

template <Takes what, typename S> constexpr void check_operand() {
    static_assert(what != Takes::Ordered || !is_bool<S>, "masks have no order");
    static_assert(what != Takes::Numbers || !is_bool<S>,
                  "this operation takes numbers, not masks");
    static_assert(what != Takes::Floats || is_float<S>,
                  "this operation takes floating point numbers");
    static_assert(what != Takes::Integers || is_integer<S>,
                  "this operation takes integers");
    static_assert(what != Takes::Bits || !is_float<S>,
                  "this operation takes integers and masks");
    static_assert(what != Takes::Masks || is_bool<S>, "this operation takes masks");
}

template <typename T, size_t N> constexpr size_t size_of(const Array<T, N> *) {
    return N;
}
template <typename A> constexpr size_t size_of(const A *) { return 0; }

/* An operand as the type that the operation works on. Nested arrays with as many
 * components go together component by component; other operands are the same for each
 * component. */
template <typename P, typename A> decltype(auto) as(const A &a) {
    constexpr size_t size = size_of(static_cast<const A *>(nullptr));
    if constexpr (std::is_same_v<P, A>) {
        return (a);
    } else if constexpr (size > 0 && size == size_of(static_cast<P *>(nullptr))) {
        P result;
        for (size_t i = 0; i < size; ++i)
            result.entry(i) = as<value_t<P>>(a.entry(i));
        return result;
    } else {
        return P(a);
    }
}

/* The result R of an operation, whose operands have types As already. */
template <typename R, JitOp op, typename... As> R apply(const As &...operands) {
    if constexpr (is_leaf<R>) {
        const typename R::Ref refs[] = { operands.ref()... };
        return R::steal(R::Family::op(op, refs));
    } else if constexpr (is_nested<R>) {
        R result;
        for (size_t i = 0; i < R::Size; ++i)
            result.entry(i) = apply<value_t<R>, op>(operands.entry(i)...);
        return result;
    } else {
        R result{};
        const JitHostOperand values[] = { { &operands, 0 }... };
        constexpr VarType types[] = { var_type<As>()... };
        jit_host_op(op, types[sizeof...(As) > 2 ? 1 : 0], 1, values, &result);
        return result;
    }
}

/* Is one operand an array P, and the other one a number? Then there is one step for the
 * operation and for the literal that the number stands for. */
template <typename P, typename A, typename B>
inline constexpr bool has_number =
    is_leaf<P> && !traits<P>::tracked &&
    ((std::is_same_v<P, A> && is_scalar<B>) || (is_scalar<A> && std::is_same_v<P, B>));

template <typename P, JitOp op, typename R, typename A, typename B>
R apply_number(const A &a, const B &b) {
    constexpr bool first = is_scalar<A>;
    uint64_t bits = 0;
    if constexpr (first) {
        const scalar_t<P> number = static_cast<scalar_t<P>>(a);
        std::memcpy(&bits, &number, sizeof(number));
        return R::steal(jit_var_op_number(op, b.index(), bits, true));
    } else {
        const scalar_t<P> number = static_cast<scalar_t<P>>(b);
        std::memcpy(&bits, &number, sizeof(number));
        return R::steal(jit_var_op_number(op, a.index(), bits, false));
    }
}

/* The operation on operands that are converted to P first; the result is a P, or for
 * comparisons the mask of one. */
template <JitOp op, Takes what, typename P, typename R = P, typename... As>
R compute(const As &...operands) {
    check_operand<what, scalar_t<P>>();
    if constexpr (sizeof...(As) == 2) {
        if constexpr (has_number<P, As...>)
            return apply_number<P, op, R>(operands...);
        else
            return apply<R, op>(as<P>(operands)...);
    } else
        return apply<R, op>(as<P>(operands)...);
}
template <JitOp op, Takes what, typename P, typename... As>
mask_t<P> compare(const As &...operands) {
    return compute<op, what, P, mask_t<P>>(operands...);
}

/* Only arrays and numbers; so that a name can be called with numbers, too. */
template <typename... As>
using any_common =
    typename std::enable_if_t<(is_operand<As> && ...), promote<As...>>::type;

} /* namespace detail */

/* --------------------------------------------------------------- operators */

/* X(operator, JitOp, what it takes): integers wrap, floats round to nearest even. A
 * quotient of integers truncates, and is 0 for a divisor of 0; a remainder has the sign
 * of the first operand. Shifts by the type's width or more give 0 or sign bits. And,
 * or, of masks have no short circuit: both operands are computed. */
#define DRJIT_BINARY_OPERATORS(X)                                                \
    X(+, Add, Numbers) X(-, Sub, Numbers) X(*, Mul, Numbers) X(/, Div, Numbers) \
    X(%, Mod, Integers) X(<<, Shl, Integers) X(>>, Shr, Integers)                \
    X(&, And, Bits) X(|, Or, Bits) X(^, Xor, Bits)
#define DRJIT_MASK_OPERATORS(X) X(&&, And, Masks) X(||, Or, Masks)
/* Comparisons give masks; with a NaN only != is true. */
#define DRJIT_COMPARISONS(X)                                                       \
    X(==, Eq, Anything) X(!=, Neq, Anything) X(<, Lt, Ordered) X(<=, Le, Ordered) \
    X(>, Gt, Ordered) X(>=, Ge, Ordered)

#define DRJIT_BINARY(sign, op, what)                                               \
    template <typename A, typename B, typename P = detail::common<A, B>>           \
    P operator sign(const A &a, const B &b) {                                      \
        return detail::compute<JitOp::op, detail::Takes::what, P>(a, b);           \
    }
#define DRJIT_ASSIGN(sign, op, what)                                               \
    template <typename A, typename B, std::enable_if_t<detail::is_array<A>, int> = 0, \
              typename = detail::common<A, B>>                                     \
    A &operator sign##=(A &a, const B &b) {                                        \
        return a = A(a sign b);                                                    \
    }
#define DRJIT_COMPARE(sign, op, what)                                              \
    template <typename A, typename B, typename P = detail::common<A, B>>           \
    mask_t<P> operator sign(const A &a, const B &b) {                              \
        return detail::compare<JitOp::op, detail::Takes::what, P>(a, b);           \
    }
DRJIT_BINARY_OPERATORS(DRJIT_BINARY)
DRJIT_MASK_OPERATORS(DRJIT_BINARY)
DRJIT_BINARY_OPERATORS(DRJIT_ASSIGN)
DRJIT_COMPARISONS(DRJIT_COMPARE)

template <typename A, typename P = detail::common<A>> P operator-(const A &a) {
    return detail::compute<JitOp::Neg, detail::Takes::Numbers, P>(a);
}
template <typename A, typename P = detail::common<A>> P operator+(const A &a) {
    return a;
}
template <typename A, typename P = detail::common<A>> P operator~(const A &a) {
    return detail::compute<JitOp::Not, detail::Takes::Bits, P>(a);
}
template <typename A, typename P = detail::common<A>> P operator!(const A &a) {
    return detail::compute<JitOp::Not, detail::Takes::Masks, P>(a);
}

/** Equality as functions. */
template <typename A, typename B, typename P = detail::common<A, B>>
mask_t<P> eq(const A &a, const B &b) {
    return a == b;
}
template <typename A, typename B, typename P = detail::common<A, B>>
mask_t<P> neq(const A &a, const B &b) {
    return a != b;
}

/* --------------------------------------------------------------- functions */

/* Functions of floats with one operand, within 1 ulp (sqrt, rcp: correctly rounded);
 * docs/accuracy.md has the error of each. */
#define DRJIT_FLOAT_FUNCTIONS(X)                                                      \
    X(sqrt, Sqrt) X(rcp, Rcp) X(rsqrt, Rsqrt) X(cbrt, Cbrt) X(sin, Sin) X(cos, Cos)   \
    X(tan, Tan) X(asin, Asin) X(acos, Acos) X(atan, Atan) X(sinh, Sinh) X(cosh, Cosh) \
    X(tanh, Tanh) X(asinh, Asinh) X(acosh, Acosh) X(atanh, Atanh) X(exp, Exp)         \
    X(exp2, Exp2) X(log, Log) X(log2, Log2) X(erf, Erf) X(erfinv, Erfinv)             \
    X(lgamma, Lgamma) X(digamma, Digamma)
/* ... with two: |a| with the sign of b; the smaller and the larger number, where a NaN
 * is missing data and -0 < +0; angle of the point (b, a); a to the power of b;
 * length. */
#define DRJIT_FLOAT_FUNCTIONS_2(X)                                                     \
    X(copysign, Copysign) X(fmin, Fmin) X(fmax, Fmax) X(atan2, Atan2) X(pow, Power)    \
    X(hypot, Hypot)
/* Functions of numbers: rounding to integers (down, up, to nearest with ties to even,
 * towards zero), magnitude. */
#define DRJIT_NUMBER_FUNCTIONS(X)                                                      \
    X(floor, Floor) X(ceil, Ceil) X(round, Round) X(trunc, Trunc) X(abs, Abs)
/* ... with two: the smaller and the larger operand; with one NaN the other one. */
#define DRJIT_NUMBER_FUNCTIONS_2(X) X(minimum, Min) X(maximum, Max)
#define DRJIT_ARRAY_FUNCTIONS_2(X) X(min, Min) X(max, Max)
/* Functions of integers: number of one bits, of leading and trailing zeros (the width
 * for 0), bits in opposite order. */
#define DRJIT_INTEGER_FUNCTIONS(X)                                                     \
    X(popcnt, Popc) X(lzcnt, Clz) X(tzcnt, Ctz) X(brev, Brev)

#define DRJIT_UNARY_OF(name, op, what)                                             \
    template <typename A, typename P = detail::any_common<A>> P name(const A &a) { \
        return detail::compute<JitOp::op, detail::Takes::what, P>(a);              \
    }
#define DRJIT_BINARY_OF(name, op, what, common)                                    \
    template <typename A, typename B, typename P = detail::common<A, B>>           \
    P name(const A &a, const B &b) {                                               \
        return detail::compute<JitOp::op, detail::Takes::what, P>(a, b);           \
    }
#define DRJIT_FLOAT(name, op) DRJIT_UNARY_OF(name, op, Floats)
#define DRJIT_FLOAT_2(name, op) DRJIT_BINARY_OF(name, op, Floats, any_common)
#define DRJIT_NUMBER(name, op) DRJIT_UNARY_OF(name, op, Numbers)
#define DRJIT_NUMBER_2(name, op) DRJIT_BINARY_OF(name, op, Numbers, any_common)
#define DRJIT_ARRAY_2(name, op) DRJIT_BINARY_OF(name, op, Numbers, common)
#define DRJIT_INTEGER(name, op) DRJIT_UNARY_OF(name, op, Integers)
DRJIT_FLOAT_FUNCTIONS(DRJIT_FLOAT)
DRJIT_FLOAT_FUNCTIONS_2(DRJIT_FLOAT_2)
DRJIT_NUMBER_FUNCTIONS(DRJIT_NUMBER)
DRJIT_NUMBER_FUNCTIONS_2(DRJIT_NUMBER_2)
DRJIT_ARRAY_FUNCTIONS_2(DRJIT_ARRAY_2)
DRJIT_INTEGER_FUNCTIONS(DRJIT_INTEGER)

/** Upper half of the product of double width. */
DRJIT_BINARY_OF(mulhi, MulHi, Integers, common)

/** Product of double width; operands of 8 to 32 bits. */
template <typename A, typename B, typename P = detail::common<A, B>>
replace_scalar_t<P, detail::wide<scalar_t<P>>> mulwide(const A &a, const B &b) {
    static_assert(is_integral_v<P> && sizeof(scalar_t<P>) <= 4,
                  "mulwide: integers of up to 32 bits");
    using R = replace_scalar_t<P, detail::wide<scalar_t<P>>>;
    return detail::apply<R, JitOp::MulWide>(detail::as<P>(a), detail::as<P>(b));
}

/** a * b + c, a * b - c, c - a * b, rounded once. */
template <typename A, typename B, typename C, typename P = detail::common<A, B, C>>
P fma(const A &a, const B &b, const C &c) {
    return detail::compute<JitOp::Fma, detail::Takes::Numbers, P>(a, b, c);
}
template <typename A, typename B, typename C, typename P = detail::common<A, B, C>>
P fmadd(const A &a, const B &b, const C &c) {
    return fma(a, b, c);
}
template <typename A, typename B, typename C, typename P = detail::common<A, B, C>>
P fmsub(const A &a, const B &b, const C &c) {
    return fma(a, b, -c);
}
template <typename A, typename B, typename C, typename P = detail::common<A, B, C>>
P fnmadd(const A &a, const B &b, const C &c) {
    return fma(-a, b, c);
}

/** m ? a : b, entry by entry; both sides are computed. Numbers on both sides are an
 *  array of the mask's shape. */
template <typename M, typename A, typename B,
          std::enable_if_t<is_mask_v<M> && detail::is_array<M> &&
                           detail::is_operand<A> && detail::is_operand<B>, int> = 0>
auto select(const M &m, const A &a, const B &b) {
    using S = scalar_t<expr_t<A, B>>;
    using R = expr_t<expr_t<A, B>, replace_scalar_t<M, S>>;
    return detail::apply<R, JitOp::Select>(detail::as<mask_t<R>>(m), detail::as<R>(a),
                                           detail::as<R>(b));
}
/** The same for one condition. */
template <typename A, typename B, typename P = expr_t<A, B>>
P select(bool m, const A &a, const B &b) {
    return m ? P(a) : P(b);
}

/** m ? a : 0, and m ? all bits one : a, for numbers. */
template <typename A, typename M,
          std::enable_if_t<detail::is_array<A> && !is_mask_v<A> &&
                           std::is_same_v<M, mask_t<A>>, int> = 0>
A operator&(const A &a, const M &m) {
    return select(m, a, A(scalar_t<A>(0)));
}
template <typename A, typename M,
          std::enable_if_t<detail::is_leaf<A> && !is_mask_v<A> && !is_diff_v<A> &&
                           std::is_same_v<M, mask_t<A>>, int> = 0>
A operator|(const A &a, const M &m) {
    return A::steal(jit_var_or(a.index(), m.index()));
}

/** The square. */
template <typename A, typename P = detail::any_common<A>> P square(const A &a) {
    return a * a;
}
template <typename A, typename P = detail::any_common<A>> P sqr(const A &a) {
    return a * a;
}

/** Sine and cosine; a kernel that has both computes what they share once. */
template <typename A, typename P = detail::any_common<A>>
std::pair<P, P> sincos(const A &a) {
    return { sin(a), cos(a) };
}

/** a * (1 - t) + b * t; a number within bounds; -1 or 1 with the sign. */
template <typename A, typename B, typename C, typename P = detail::common<A, B, C>>
P lerp(const A &a, const B &b, const C &t) {
    return fma(b, t, fnmadd(a, t, a));
}
template <typename A, typename B, typename C, typename P = detail::common<A, B, C>>
P clip(const A &a, const B &low, const C &high) {
    return maximum(minimum(a, high), low);
}
template <typename A, typename P = detail::common<A>> P sign(const A &a) {
    return select(a >= scalar_t<A>(0), P(scalar_t<A>(1)), P(scalar_t<A>(-1)));
}

/** Which entries are NaN, infinite, neither? */
template <typename A, typename P = detail::common<A>> mask_t<P> isnan(const A &a) {
    return a != a;
}
template <typename A, typename P = detail::common<A>> mask_t<P> isinf(const A &a) {
    return abs(a) == std::numeric_limits<scalar_t<A>>::infinity();
}
template <typename A, typename P = detail::common<A>> mask_t<P> isfinite(const A &a) {
    return abs(a) < std::numeric_limits<scalar_t<A>>::infinity();
}

/* -------------------------------------------------------------- reductions */

namespace detail {

template <typename A> using if_leaf = std::enable_if_t<is_leaf<A>, int>;
template <typename A> using if_nested = std::enable_if_t<is_nested<A>, int>;

/* Combine the components of a nested array. */
template <typename A, typename Function>
value_t<A> fold(const A &a, Function function) {
    value_t<A> result = a.entry(0);
    for (size_t i = 1; i < A::Size; ++i)
        result = function(result, a.entry(i));
    return result;
}

} /* namespace detail */

/** Any reduction of all entries to one (size 1). */
template <typename A, detail::if_leaf<A> = 0> A reduce(ReduceOp op, const A &a) {
    return A::steal(A::Family::reduce(a.ref(), op));
}

/* X(name, ReduceOp, how components combine): sum, product, smallest and largest entry
 * of an array of the JIT (size 1), or of the components of a nested one. */
#define DRJIT_REDUCTIONS(X)                                                            \
    X(sum, Add, a + b) X(prod, Mul, a * b) X(hsum, Add, a + b) X(hmul, Mul, a * b)    \
    X(hprod, Mul, a * b) X(hmin, Min, minimum(a, b)) X(hmax, Max, maximum(a, b))      \
    X(min, Min, minimum(a, b)) X(max, Max, maximum(a, b))
#define DRJIT_REDUCE(name, op, combination)                                            \
    template <typename A, detail::if_leaf<A> = 0> A name(const A &array) {             \
        return reduce(ReduceOp::op, array);                                            \
    }                                                                                  \
    template <typename A, detail::if_nested<A> = 0> value_t<A> name(const A &array) {  \
        using V = value_t<A>;                                                          \
        return detail::fold(array, [](const V &a, const V &b) -> V {                   \
            return combination;                                                        \
        });                                                                            \
    }
DRJIT_REDUCTIONS(DRJIT_REDUCE)

/** The mean of all entries (size 1), or of the components. */
template <typename A, std::enable_if_t<detail::is_array<A>, int> = 0>
auto mean(const A &a) {
    if constexpr (detail::is_leaf<A>)
        return sum(a) / scalar_t<A>(a.size());
    else
        return sum(a) / scalar_t<A>(A::Size);
}

/** Are all, any, none of the entries set? Of an array of the JIT: waits, a bool. Of the
 *  components of a nested one: what these have in common. */
template <typename A, detail::if_leaf<A> = 0> bool all(const A &a) {
    detail::check_operand<detail::Takes::Masks, scalar_t<A>>();
    return JitArray<A::Backend, bool>::steal(jit_var_all(a.index())).entry(0);
}
template <typename A, detail::if_leaf<A> = 0> bool any(const A &a) {
    detail::check_operand<detail::Takes::Masks, scalar_t<A>>();
    return JitArray<A::Backend, bool>::steal(jit_var_any(a.index())).entry(0);
}
template <typename A, detail::if_nested<A> = 0> value_t<A> all(const A &a) {
    using V = value_t<A>;
    return detail::fold(a, [](const V &x, const V &y) -> V { return x && y; });
}
template <typename A, detail::if_nested<A> = 0> value_t<A> any(const A &a) {
    using V = value_t<A>;
    return detail::fold(a, [](const V &x, const V &y) -> V { return x || y; });
}
template <typename A, std::enable_if_t<detail::is_array<A>, int> = 0>
auto none(const A &a) {
    return !any(a);
}
/** ... of everything there is: a bool. */
inline bool all_nested(bool a) { return a; }
inline bool any_nested(bool a) { return a; }
template <typename A, std::enable_if_t<detail::is_array<A>, int> = 0>
bool all_nested(const A &a) {
    return all_nested(all(a));
}
template <typename A, std::enable_if_t<detail::is_array<A>, int> = 0>
bool any_nested(const A &a) {
    return any_nested(any(a));
}
template <typename A, std::enable_if_t<detail::is_array<A>, int> = 0>
bool none_nested(const A &a) {
    return !any_nested(a);
}
/** The value given instead of an evaluation of an array of the JIT. */
template <bool value, typename A> bool all_or(const A &a) {
    if constexpr (is_jit_v<A>)
        return value;
    else
        return all_nested(a);
}
template <bool value, typename A> bool any_or(const A &a) {
    if constexpr (is_jit_v<A>)
        return value;
    else
        return any_nested(a);
}
template <bool value, typename A> bool none_or(const A &a) {
    if constexpr (is_jit_v<A>)
        return value;
    else
        return none_nested(a);
}

/** Number of set entries (UInt32, size 1), or of set components. */
template <typename M, std::enable_if_t<detail::is_array<M>, int> = 0>
auto count(const M &mask) {
    static_assert(is_mask_v<M>, "count: the operand is a mask");
    using R = uint32_array_t<M>;
    if constexpr (detail::is_leaf<M>)
        return sum(R(mask));
    else
        return sum(select(mask, R(1u), R(0u)));
}

/** Sum of a[i] * b[i]: of entries (size 1), or of components, in fused operations. */
template <typename A, detail::if_leaf<A> = 0>
A dot(const A &a, const detail::same<A> &b) {
    if constexpr (A::IsFloat)
        return A::steal(A::Family::dot(a.ref(), b.ref()));
    else
        return sum(a * b);
}

/** Positions of the set entries, in order. Waits; the result may have size 0. */
template <typename A, detail::if_leaf<A> = 0> typename A::Index compress(const A &a) {
    static_assert(A::IsMask, "compress: the operand is a mask");
    using Index = typename A::Index;
    return Index::steal(typename Index::Ref(jit_var_compress(a.index())));
}
template <typename A, detail::if_leaf<A> = 0,
          std::enable_if_t<!std::is_reference_v<A>, int> = 0>
typename A::Index compress(A &&a) {
    static_assert(A::IsMask, "compress: the operand is a mask");
    using Index = typename A::Index;
    return Index::steal(typename Index::Ref(jit_var_compress_temporary(a.index(), 1)));
}

/** Reduce consecutive blocks of 'size' entries (which divides the array's size). */
template <typename A, detail::if_leaf<A> = 0>
A block_reduce(ReduceOp op, const A &a, size_t size) {
    return A::steal(A::Family::block_reduce(op, a.ref(), size));
}
template <typename A, detail::if_leaf<A> = 0> A block_sum(const A &a, size_t size) {
    return block_reduce(ReduceOp::Add, a, size);
}

/** Prefix reduction within blocks of 'size' entries, without or with each entry itself,
 *  from the ends of the blocks with 'reverse'. */
template <typename A, detail::if_leaf<A> = 0>
A block_prefix_reduce(ReduceOp op, const A &a, size_t size, bool exclusive = true,
                      bool reverse = false) {
    return A::steal(A::Family::prefix(op, a.ref(), size, exclusive, reverse));
}
template <typename A, detail::if_leaf<A> = 0>
A block_prefix_sum(const A &a, size_t size, bool exclusive = true,
                   bool reverse = false) {
    return block_prefix_reduce(ReduceOp::Add, a, size, exclusive, reverse);
}
/** ... of the whole array. */
template <typename A, detail::if_leaf<A> = 0>
A prefix_reduce(ReduceOp op, const A &a, bool exclusive = true, bool reverse = false) {
    return block_prefix_reduce(op, a, a.size(), exclusive, reverse);
}
/** Sum of all entries before each one; with 'exclusive' false, including it. */
template <typename A, detail::if_leaf<A> = 0>
A prefix_sum(const A &a, bool exclusive = true) {
    return prefix_reduce(ReduceOp::Add, a, exclusive);
}
/** Sum of all entries up to and including each one. */
template <typename A, detail::if_leaf<A> = 0> A cumsum(const A &a) {
    return prefix_reduce(ReduceOp::Add, a, false);
}

/* ------------------------------------------------------------ rearrangement */

/** The whole array 'times' times: a b a b. */
template <typename A, detail::if_leaf<A> = 0> A tile(const A &a, size_t times) {
    return A::steal(A::Family::tile(a.ref(), times));
}
/** Every entry 'times' times: a a b b. */
template <typename A, detail::if_leaf<A> = 0> A repeat(const A &a, size_t times) {
    return A::steal(A::Family::repeat(a.ref(), times));
}
/** Entries in opposite order. */
template <typename A, detail::if_leaf<A> = 0> A reverse(const A &a) {
    return A::steal(A::Family::reverse(a.ref()));
}
/** Broadcast an array of size 1 to 'size' entries. */
template <typename A, detail::if_leaf<A> = 0> A resize(const A &a, size_t size) {
    return A::steal(A::Family::resize(a.ref(), size));
}
/** The first 'size' entries. */
template <typename A, detail::if_leaf<A> = 0> A shrink(const A &a, size_t size) {
    return A::steal(A::Family::shrink(a.ref(), size));
}

/** Write an array as text, as str() has it. Waits. */
template <typename A, detail::if_leaf<A> = 0>
std::ostream &operator<<(std::ostream &stream, const A &a) {
    return stream << a.str();
}

} /* namespace drjit */

#endif /* DRJIT_CORE_OPS_H */
