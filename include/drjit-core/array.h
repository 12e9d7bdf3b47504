/*
 * drjit-core/array.h -- C++17 arrays over the C interface (header only)
 *
 * JitArray<Backend, T> is a handle of one variable of jit.h: four bytes, one reference.
 * Copying adds a reference and never copies entries. Operators and functions *trace*:
 * they record an operation and return at once; the recorded operations run, fused into
 * kernels, when a value is needed (str, data, entry, all, any, a gather from an array
 * that is not in memory yet, eval).
 *
 *     using Float = LLVMArray<float>;
 *     Float x = linspace<Float>(0, 1, 101);
 *     printf("%s\n", (sqrt(x) + 1.f).str());
 *
 * Types     bool, integers of 8 to 64 bits, float, double and jit::half.
 * Mixing    Scalars mix freely with arrays and take the array's element type. Arrays of
 *           different element types do not mix: convert with Float(index).
 * Sizes     Operands of one operation have equal sizes or size 1, which broadcasts. A
 *           default-constructed array holds no variable: its size is 0 and no operation
 *           takes it.
 * Errors    are exceptions of class jit::Error with the code and message of jit.h.
 * Start     The first array of a backend initialises it, unless jit_init() did.
 * Threads   As in jit.h; two threads must not change one JitArray at the same time.
 *
 * Functions that deduce their types are found by argument-dependent lookup. The others
 * (those called as linspace<Float>(...)) are also visible in the global namespace.
 */
#ifndef DRJIT_CORE_ARRAY_H
#define DRJIT_CORE_ARRAY_H

#include <drjit-core/half.h>
#include <drjit-core/jit.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace jit {

/* ------------------------------------------------------------------ errors */

/** A failed call: what() is the message, code() the JitError of jit.h. */
class Error : public std::runtime_error {
public:
    Error(JitError code, const std::string &message)
        : std::runtime_error(message), m_code(code) { }

    /** What kind of error this is. */
    JitError code() const noexcept { return m_code; }

private:
    JitError m_code;
};

template <JitBackend Backend, typename T> struct JitArray;

/* ----------------------------------------------------------------- details */

namespace detail {

template <typename T> inline constexpr bool is_half = std::is_same_v<T, half>;
template <typename T> inline constexpr bool is_bool = std::is_same_v<T, bool>;
template <typename T>
inline constexpr bool is_float = std::is_floating_point_v<T> || is_half<T>;
template <typename T>
inline constexpr bool is_integer = std::is_integral_v<T> && !is_bool<T>;
template <typename T>
inline constexpr bool is_scalar = std::is_arithmetic_v<T> || is_half<T>;

template <typename A> struct is_array_t : std::false_type { };
template <JitBackend Backend, typename T>
struct is_array_t<JitArray<Backend, T>> : std::true_type { };
template <typename A> inline constexpr bool is_array = is_array_t<A>::value;

/* Keeps a function parameter out of template argument deduction. */
template <typename T> struct same_t { using type = T; };
template <typename T> using same = typename same_t<T>::type;

/* The integer of twice the size; 64-bit integers and other types stand for
 * themselves. */
template <typename T> struct wide_t { using type = T; };
template <> struct wide_t<int8_t> { using type = int16_t; };
template <> struct wide_t<uint8_t> { using type = uint16_t; };
template <> struct wide_t<int16_t> { using type = int32_t; };
template <> struct wide_t<uint16_t> { using type = uint32_t; };
template <> struct wide_t<int32_t> { using type = int64_t; };
template <> struct wide_t<uint32_t> { using type = uint64_t; };
template <typename T> using wide = typename wide_t<T>::type;

/* The VarType that describes T. */
template <typename T> constexpr VarType var_type() {
    static_assert(is_scalar<T>, "JitArray: an element is a number, jit::half or bool");
    if constexpr (is_bool<T>)
        return VarTypeBool;
    else if constexpr (is_half<T>)
        return VarTypeFloat16;
    else if constexpr (std::is_floating_point_v<T>) {
        static_assert(sizeof(T) <= 8, "JitArray: long double is not supported");
        return sizeof(T) == 4 ? VarTypeFloat32 : VarTypeFloat64;
    } else if constexpr (std::is_signed_v<T>)
        return sizeof(T) == 1 ? VarTypeInt8 : sizeof(T) == 2 ? VarTypeInt16
             : sizeof(T) == 4 ? VarTypeInt32 : VarTypeInt64;
    else
        return sizeof(T) == 1 ? VarTypeUInt8 : sizeof(T) == 2 ? VarTypeUInt16
             : sizeof(T) == 4 ? VarTypeUInt32 : VarTypeUInt64;
}

/* Turn the calling thread's error record into an exception. */
[[noreturn]] inline void raise() {
    throw Error(static_cast<JitError>(jit_error()), jit_error_message());
}

inline void check(bool ok) {
    if (!ok)
        raise();
}

inline uint32_t check(uint32_t index) {
    if (!index)
        raise();
    return index;
}

/* For functions whose result 'false' may also mean "there was nothing to do". */
template <typename Function> bool check_maybe(Function function) {
    jit_error_clear();
    const bool done = function();
    if (!done && jit_error() != JIT_OK)
        raise();
    return done;
}

/* Initialise the backend before its first variable. */
template <JitBackend Backend> void start() {
    if (!jit_has_backend(Backend))
        check(jit_init(Backend));
}

} /* namespace detail */

/* ------------------------------------------------------------------- array */

/** A one-dimensional array of T on a backend; see the head of this file. */
template <JitBackend Backend_, typename T> struct JitArray {
    /** Where the array lives. */
    static constexpr JitBackend Backend = Backend_;
    /** Element type as an enumerator of jit.h. */
    static constexpr VarType Type = detail::var_type<T>();
    static constexpr bool IsMask = detail::is_bool<T>;
    static constexpr bool IsFloat = detail::is_float<T>;
    static constexpr bool IsInteger = detail::is_integer<T>;

    using value_type = T;                       /**< element type */
    using Mask = JitArray<Backend_, bool>;      /**< what comparisons give */
    using Index = JitArray<Backend_, uint32_t>; /**< what addresses entries */
    using Wide = JitArray<Backend_, detail::wide<T>>; /**< what mulwide() gives */

    /* ---- life */

    /** No variable, size 0. */
    JitArray() noexcept = default;

    /** A literal of size 1. Numbers become masks, and masks numbers, only by comparing
     *  and select(). */
    template <typename S,
              std::enable_if_t<detail::is_scalar<S> && detail::is_bool<S> == IsMask,
                               int> = 0>
    JitArray(S value) : JitArray(literal(static_cast<T>(value), 1)) { }

    /** An array of the given entries (two or more): Float(1, 2, 3). */
    template <typename... Ts,
              std::enable_if_t<(sizeof...(Ts) > 1) && (detail::is_scalar<Ts> && ...),
                               int> = 0>
    JitArray(Ts... values) {
        const T entries[] = { static_cast<T>(values)... };
        *this = copy(entries, sizeof...(Ts));
    }

    /** Convert from another element type, as jit_var_cast() does: floats become
     *  integers by truncation with saturation, masks become 0 and 1, numbers become !=
     *  0. */
    template <typename U, std::enable_if_t<!std::is_same_v<T, U>, int> = 0>
    explicit JitArray(const JitArray<Backend_, U> &other)
        : m_index(detail::check(jit_var_cast(other.index(), Type, 0))) { }

    JitArray(const JitArray &other) noexcept : m_index(other.m_index) {
        if (m_index)
            jit_var_inc_ref(m_index);
    }

    JitArray(JitArray &&other) noexcept : m_index(std::exchange(other.m_index, 0)) { }

    JitArray &operator=(const JitArray &other) noexcept {
        JitArray(other).swap(*this);
        return *this;
    }

    JitArray &operator=(JitArray &&other) noexcept {
        JitArray(std::move(other)).swap(*this);
        return *this;
    }

    ~JitArray() { jit_var_dec_ref(m_index); }

    /** Exchange two arrays. */
    void swap(JitArray &other) noexcept { std::swap(m_index, other.m_index); }

    /** Take over the caller's reference to a variable of jit.h; 0 throws the thread's
     *  error. */
    static JitArray steal(uint32_t index) {
        JitArray result;
        result.m_index = detail::check(index);
        return result;
    }

    /** Share a variable of jit.h; the caller keeps its reference. */
    static JitArray borrow(uint32_t index) { return steal(jit_var_inc_ref(index)); }

    /** Give up the reference: the caller owns the returned index. */
    uint32_t release() noexcept { return std::exchange(m_index, 0); }

    /** Index of the variable (borrowed), 0 if there is none. */
    uint32_t index() const noexcept { return m_index; }

    /** An array with a copy of 'size' entries at 'ptr'. */
    static JitArray copy(const T *ptr, size_t size) {
        if (!size)
            return JitArray();
        detail::start<Backend>();
        return steal(jit_var_mem_copy(Backend, Type, ptr, size));
    }

    /** An array on the caller's memory, aligned to sizeof(T). With 'free', C's free()
     *  is called after the last use; else the memory must outlive array and queued
     *  work. */
    static JitArray map(T *ptr, size_t size, bool free = false) {
        detail::start<Backend>();
        return steal(jit_var_mem_map(Backend, Type, ptr, size, free));
    }

    /** 'size' entries of one value; with 'opaque' kernels load it instead of baking it
     *  in. */
    static JitArray literal(T value, size_t size, bool opaque = false) {
        if (!size)
            return JitArray();
        detail::start<Backend>();
        return steal(jit_var_literal(Backend, Type, &value, size, opaque));
    }

    /* ---- content */

    /** Number of entries. */
    size_t size() const { return m_index ? jit_var_size(m_index) : 0; }

    /** Entries as text, "[0.5, 1.5, ...]" (see jit_var_str). Valid until this thread's
     *  next call of it. Waits. */
    const char *str() const {
        if (!m_index)
            return "[]";
        const char *text = jit_var_str(m_index);
        detail::check(text != nullptr);
        return text;
    }

    /** Address of the entries, evaluated and complete; masks are one byte an entry.
     *  Literals are written to memory, which is why the handle may name another
     *  variable then. */
    T *data() { return static_cast<T *>(address()); }
    const T *data() const { return static_cast<const T *>(address()); }

    /** Read one entry. Waits. */
    T entry(size_t position) const {
        T value{};
        detail::check(jit_var_read(m_index, position, &value));
        return value;
    }

    /** Read one entry. Waits. */
    T operator[](size_t position) const { return entry(position); }

    /** Write one entry. Other handles of the same variable keep the old content. */
    void set_entry(size_t position, T value) {
        *this = steal(jit_var_write(m_index, position, &value));
    }

    /** All entries. Waits. */
    std::vector<T> to_vector() const {
        if (!size())
            return {};
        const T *entries = data();
        return std::vector<T>(entries, entries + size());
    }

    /** Evaluate this array; returns itself. Literals stay literals. */
    JitArray &eval() {
        detail::check_maybe([this] { return jit_var_eval(m_index); });
        return *this;
    }

    /** Let the thread's next evaluation compute it; was there something to do? */
    bool schedule() const {
        return detail::check_maybe([this] { return jit_var_schedule(m_index); });
    }

    /** Name the array in listings and messages; nullptr takes the name away. */
    void set_label(const char *label) {
        *this = steal(jit_var_set_label(m_index, label));
    }

    /** The name with its prefixes, nullptr if there is none. */
    const char *label() const { return jit_var_label(m_index); }

    /* ---- arithmetic: integers wrap, floats round to nearest even */

    friend JitArray operator+(const JitArray &a, const JitArray &b) {
        return number(jit_var_add, a, b);
    }
    friend JitArray operator-(const JitArray &a, const JitArray &b) {
        return number(jit_var_sub, a, b);
    }
    friend JitArray operator*(const JitArray &a, const JitArray &b) {
        return number(jit_var_mul, a, b);
    }
    /** Quotient. Integers truncate; division by 0 gives 0. */
    friend JitArray operator/(const JitArray &a, const JitArray &b) {
        return number(jit_var_div, a, b);
    }
    /** Remainder with the sign of a; a % 0 is a. */
    friend JitArray operator%(const JitArray &a, const JitArray &b) {
        return integer(jit_var_mod, a, b);
    }
    friend JitArray operator-(const JitArray &a) { return number(jit_var_neg, a); }
    friend JitArray operator+(const JitArray &a) { return a; }

    JitArray &operator+=(const JitArray &b) { return *this = *this + b; }
    JitArray &operator-=(const JitArray &b) { return *this = *this - b; }
    JitArray &operator*=(const JitArray &b) { return *this = *this * b; }
    JitArray &operator/=(const JitArray &b) { return *this = *this / b; }
    JitArray &operator%=(const JitArray &b) { return *this = *this % b; }

    /* ---- bits of integers and masks */

    friend JitArray operator&(const JitArray &a, const JitArray &b) {
        return bitwise(jit_var_and, a, b);
    }
    friend JitArray operator|(const JitArray &a, const JitArray &b) {
        return bitwise(jit_var_or, a, b);
    }
    friend JitArray operator^(const JitArray &a, const JitArray &b) {
        return bitwise(jit_var_xor, a, b);
    }
    friend JitArray operator~(const JitArray &a) { return bitwise(jit_var_not, a); }
    /** Shifts by b, taken as unsigned; by the type's width or more gives 0 or sign
     *  bits. */
    friend JitArray operator<<(const JitArray &a, const JitArray &b) {
        return integer(jit_var_shl, a, b);
    }
    friend JitArray operator>>(const JitArray &a, const JitArray &b) {
        return integer(jit_var_shr, a, b);
    }

    JitArray &operator&=(const JitArray &b) { return *this = *this & b; }
    JitArray &operator|=(const JitArray &b) { return *this = *this | b; }
    JitArray &operator^=(const JitArray &b) { return *this = *this ^ b; }
    JitArray &operator<<=(const JitArray &b) { return *this = *this << b; }
    JitArray &operator>>=(const JitArray &b) { return *this = *this >> b; }

    /* ---- logic of masks (no short circuit: both operands are computed) */

    friend JitArray operator!(const JitArray &a) { return mask(jit_var_not, a); }
    friend JitArray operator&&(const JitArray &a, const JitArray &b) {
        return mask(jit_var_and, a, b);
    }
    friend JitArray operator||(const JitArray &a, const JitArray &b) {
        return mask(jit_var_or, a, b);
    }

    /* ---- comparisons; with a NaN only != is true */

    friend Mask operator==(const JitArray &a, const JitArray &b) {
        return Mask::steal(jit_var_eq(a.m_index, b.m_index));
    }
    friend Mask operator!=(const JitArray &a, const JitArray &b) {
        return Mask::steal(jit_var_neq(a.m_index, b.m_index));
    }
    friend Mask operator<(const JitArray &a, const JitArray &b) {
        return compare(jit_var_lt, a, b);
    }
    friend Mask operator<=(const JitArray &a, const JitArray &b) {
        return compare(jit_var_le, a, b);
    }
    friend Mask operator>(const JitArray &a, const JitArray &b) {
        return compare(jit_var_gt, a, b);
    }
    friend Mask operator>=(const JitArray &a, const JitArray &b) {
        return compare(jit_var_ge, a, b);
    }

    /* ---- functions of floats */

    /** Square root, correctly rounded. */
    friend JitArray sqrt(const JitArray &a) { return floating(jit_var_sqrt, a); }
    /** 1 / a, correctly rounded. */
    friend JitArray rcp(const JitArray &a) { return floating(jit_var_rcp, a); }
    /** 1 / sqrt(a), each step correctly rounded. */
    friend JitArray rsqrt(const JitArray &a) { return floating(jit_var_rsqrt, a); }
    /** log |gamma(a)| and, where a > 0, its derivative. */
    friend JitArray lgamma(const JitArray &a) { return floating(jit_var_lgamma, a); }
    friend JitArray digamma(const JitArray &a) { return floating(jit_var_digamma, a); }
    /** Magnitude of a with the sign of b. */
    friend JitArray copysign(const JitArray &a, const JitArray &b) {
        return floating(jit_var_copysign, a, b);
    }
    /** Smaller and larger number as in IEEE 754-2019: a NaN is missing data, -0 <
     *  +0. */
    friend JitArray fmin(const JitArray &a, const JitArray &b) {
        return floating(jit_var_fmin, a, b);
    }
    friend JitArray fmax(const JitArray &a, const JitArray &b) {
        return floating(jit_var_fmax, a, b);
    }

    /* ---- functions of numbers */

    /** Round to an integer: down, up, to nearest (ties to even), towards zero. */
    friend JitArray floor(const JitArray &a) { return number(jit_var_floor, a); }
    friend JitArray ceil(const JitArray &a) { return number(jit_var_ceil, a); }
    friend JitArray round(const JitArray &a) { return number(jit_var_round, a); }
    friend JitArray trunc(const JitArray &a) { return number(jit_var_trunc, a); }
    /** Magnitude; the most negative integer stays itself. */
    friend JitArray abs(const JitArray &a) { return number(jit_var_abs, a); }
    /** Smaller and larger operand; with one NaN the other one. */
    friend JitArray minimum(const JitArray &a, const JitArray &b) {
        return number(jit_var_min, a, b);
    }
    friend JitArray maximum(const JitArray &a, const JitArray &b) {
        return number(jit_var_max, a, b);
    }
    friend JitArray min(const JitArray &a, const JitArray &b) {
        return number(jit_var_min, a, b);
    }
    friend JitArray max(const JitArray &a, const JitArray &b) {
        return number(jit_var_max, a, b);
    }
    /** a * b + c, rounded once. */
    friend JitArray fma(const JitArray &a, const JitArray &b, const JitArray &c) {
        static_assert(!IsMask, "fma: the operands are numbers");
        return steal(jit_var_fma(a.m_index, b.m_index, c.m_index));
    }
    /** m ? a : b, entry by entry; both sides are computed. */
    friend JitArray select(const Mask &m, const JitArray &a, const JitArray &b) {
        return steal(jit_var_select(m.index(), a.m_index, b.m_index));
    }

    /* ---- functions of integers */

    /** Number of one bits, of leading and of trailing zeros (the width for 0). */
    friend JitArray popcnt(const JitArray &a) { return integer(jit_var_popc, a); }
    friend JitArray lzcnt(const JitArray &a) { return integer(jit_var_clz, a); }
    friend JitArray tzcnt(const JitArray &a) { return integer(jit_var_ctz, a); }
    /** The bits in opposite order. */
    friend JitArray brev(const JitArray &a) { return integer(jit_var_brev, a); }
    /** Upper half of the product of double width. */
    friend JitArray mulhi(const JitArray &a, const JitArray &b) {
        return integer(jit_var_mul_hi, a, b);
    }
    /** Product of double width; operands of 8 to 32 bits. */
    friend Wide mulwide(const JitArray &a, const JitArray &b) {
        static_assert(IsInteger && sizeof(T) <= 4,
                      "mulwide: integers of up to 32 bits");
        return Wide::steal(jit_var_mul_wide(a.m_index, b.m_index));
    }

    /* ---- reductions */

    /** Are all, any, none of the entries set? Wait. */
    friend bool all(const JitArray &a) { return mask(jit_var_all, a).entry(0); }
    friend bool any(const JitArray &a) { return mask(jit_var_any, a).entry(0); }
    friend bool none(const JitArray &a) { return !any(a); }
    /** Number of set entries (size 1). */
    friend Index count(const JitArray &a) {
        static_assert(IsMask, "count: the operand is a mask");
        return sum(Index(a));
    }
    /** Sum, product, smallest and largest entry (size 1). */
    friend JitArray sum(const JitArray &a) { return reduce(ReduceOpAdd, a); }
    friend JitArray prod(const JitArray &a) { return reduce(ReduceOpMul, a); }
    friend JitArray hmin(const JitArray &a) { return reduce(ReduceOpMin, a); }
    friend JitArray hmax(const JitArray &a) { return reduce(ReduceOpMax, a); }
    /** Any reduction of all entries to one. */
    friend JitArray reduce(ReduceOp op, const JitArray &a) { return reduce_all(op, a); }
    /** Sum of a[i] * b[i] (size 1). */
    friend JitArray dot(const JitArray &a, const JitArray &b) {
        if constexpr (IsFloat)
            return floating(jit_var_reduce_dot, a, b);
        else
            return reduce_all(ReduceOpAdd, a * b);
    }
    /** Positions of the set entries, in order. Waits; the result may have size 0. */
    friend Index compress(const JitArray &a) {
        static_assert(IsMask, "compress: the operand is a mask");
        return Index::steal(jit_var_compress(a.m_index));
    }
    friend Index compress(JitArray &&a) {
        static_assert(IsMask, "compress: the operand is a mask");
        return Index::steal(jit_var_compress_temporary(a.m_index, 1));
    }
    /** Sums of consecutive blocks of 'size' entries (which divides the array's
     *  size). */
    friend JitArray block_sum(const JitArray &a, size_t size) {
        return block_reduce(ReduceOpAdd, a, size);
    }
    /** Reduce consecutive blocks of 'size' entries. */
    friend JitArray block_reduce(ReduceOp op, const JitArray &a, size_t size) {
        return steal(jit_var_block_reduce(op, a.m_index, size));
    }
    /** Sum of all entries before each one; with 'exclusive' false, including it. */
    friend JitArray prefix_sum(const JitArray &a, bool exclusive = true) {
        return prefix_reduce(ReduceOpAdd, a, exclusive);
    }
    /** Sum of all entries up to and including each one. */
    friend JitArray cumsum(const JitArray &a) {
        return prefix_reduce(ReduceOpAdd, a, false);
    }
    /** Prefix reduction of the whole array, from its end with 'reverse'. */
    friend JitArray prefix_reduce(ReduceOp op, const JitArray &a, bool exclusive = true,
                                  bool reverse = false) {
        return steal(jit_var_block_prefix_reduce(op, a.m_index, a.size(), exclusive,
                                                 reverse));
    }

    /* ---- rearrangement */

    /** The whole array 'times' times: a b a b. */
    friend JitArray tile(const JitArray &a, size_t times) {
        return steal(jit_var_tile(a.m_index, times));
    }
    /** Every entry 'times' times: a a b b. */
    friend JitArray repeat(const JitArray &a, size_t times) {
        return steal(jit_var_repeat(a.m_index, times));
    }
    /** Entries in opposite order. */
    friend JitArray reverse(const JitArray &a) {
        return steal(jit_var_reverse(a.m_index));
    }
    /** Broadcast an array of size 1 to 'size' entries. */
    friend JitArray resize(const JitArray &a, size_t size) {
        return steal(jit_var_resize(a.m_index, size));
    }
    /** The first 'size' entries. */
    friend JitArray shrink(const JitArray &a, size_t size) {
        return steal(jit_var_shrink(a.m_index, size));
    }

private:
    using Unary = uint32_t (*)(uint32_t);
    using Binary = uint32_t (*)(uint32_t, uint32_t);

    /* Apply a function of jit.h. The names say which operands it takes, so that a wrong
     * type is an error of the compiler already. */
    static JitArray apply(Unary function, const JitArray &a) {
        return steal(function(a.m_index));
    }
    static JitArray apply(Binary function, const JitArray &a, const JitArray &b) {
        return steal(function(a.m_index, b.m_index));
    }
    template <typename F, typename... As> static JitArray number(F f, const As &...as) {
        static_assert(!IsMask, "this operation takes numbers, not masks");
        return apply(f, as...);
    }
    template <typename F, typename... As> static JitArray floating(F f,
                                                                   const As &...as) {
        static_assert(IsFloat, "this operation takes floating point numbers");
        return apply(f, as...);
    }
    template <typename F, typename... As> static JitArray integer(F f,
                                                                  const As &...as) {
        static_assert(IsInteger, "this operation takes integers");
        return apply(f, as...);
    }
    template <typename F, typename... As> static JitArray bitwise(F f,
                                                                  const As &...as) {
        static_assert(!IsFloat, "this operation takes integers and masks");
        return apply(f, as...);
    }
    template <typename F, typename... As> static JitArray mask(F f, const As &...as) {
        static_assert(IsMask, "this operation takes masks");
        return apply(f, as...);
    }
    static Mask compare(Binary function, const JitArray &a, const JitArray &b) {
        static_assert(!IsMask, "masks have no order");
        return Mask::steal(function(a.m_index, b.m_index));
    }
    static JitArray reduce_all(ReduceOp op, const JitArray &a) {
        return steal(jit_var_reduce(a.m_index, op));
    }

    void *address() const {
        void *ptr = nullptr;
        const uint32_t written = detail::check(jit_var_data(m_index, &ptr));
        jit_var_dec_ref(std::exchange(m_index, written));
        return ptr;
    }

    /* Mutable because data() may move a literal to memory, under another index. */
    mutable uint32_t m_index = 0;
};

/** Arrays on the CPU. */
template <typename T> using LLVMArray = JitArray<JitBackendLLVM, T>;

/** Arrays on an NVIDIA GPU. Creating one throws where that backend is not available. */
template <typename T> using CUDAArray = JitArray<JitBackendCUDA, T>;

/** The mask type that belongs to an array type. */
template <typename A> using mask_t = typename A::Mask;

/** m ? a : 0 for numbers. */
template <JitBackend B, typename T, std::enable_if_t<!detail::is_bool<T>, int> = 0>
JitArray<B, T> operator&(const JitArray<B, T> &a, const JitArray<B, bool> &m) {
    return JitArray<B, T>::steal(jit_var_and(a.index(), m.index()));
}

/** m ? all bits one : a for numbers. */
template <JitBackend B, typename T, std::enable_if_t<!detail::is_bool<T>, int> = 0>
JitArray<B, T> operator|(const JitArray<B, T> &a, const JitArray<B, bool> &m) {
    return JitArray<B, T>::steal(jit_var_or(a.index(), m.index()));
}

/* ---------------------------------------------------------------- creation */

/** 'size' entries of 'value'. */
template <typename A> A full(detail::same<typename A::value_type> value,
                             size_t size = 1) {
    return A::literal(value, size);
}

/** 'size' zeros (or unset entries). */
template <typename A> A zeros(size_t size = 1) {
    return A::literal(typename A::value_type(0), size);
}

/** 'size' ones (or set entries). */
template <typename A> A ones(size_t size = 1) {
    return A::literal(typename A::value_type(1), size);
}

/** 'size' entries of arbitrary content, to be scattered to. */
template <typename A> A empty(size_t size = 1) {
    if (!size)
        return A();
    detail::start<A::Backend>();
    return A::steal(jit_var_undefined(A::Backend, A::Type, size));
}

/** 'size' entries of 'value' in memory: kernels that use it also serve every other
 *  value. */
template <typename A>
A opaque(detail::same<typename A::value_type> value, size_t size = 1) {
    return A::literal(value, size, true);
}

/** 0, 1, ..., size - 1. */
template <typename A> A arange(size_t size) {
    using Index = typename A::Index;
    static_assert(!A::IsMask, "arange: the entries are numbers");
    if (!size)
        return A();
    detail::start<A::Backend>();
    Index counter = Index::steal(jit_var_counter(A::Backend, size));
    if constexpr (std::is_same_v<A, Index>)
        return counter;
    else
        return A(counter);
}

/** start, start + step, ... while that is below 'stop' (above, for a negative step). */
template <typename A>
A arange(detail::same<typename A::value_type> start,
         detail::same<typename A::value_type> stop,
         detail::same<typename A::value_type> step = 1) {
    const double distance = static_cast<double>(stop) - static_cast<double>(start);
    const double steps = distance / static_cast<double>(step);
    if (!(steps > 0)) /* also an empty range, a step of 0 and NaNs */
        return A();

    size_t size = static_cast<size_t>(steps);
    size += static_cast<double>(size) < steps;
    return fma(arange<A>(size), A(step), A(start));
}

/** 'size' evenly spaced numbers from 'start' to 'stop', which is one of them unless
 *  'endpoint' is false. */
template <typename A>
A linspace(detail::same<typename A::value_type> start,
           detail::same<typename A::value_type> stop, size_t size,
           bool endpoint = true) {
    using T = typename A::value_type;
    using Wide = JitArray<A::Backend, std::conditional_t<detail::is_half<T>, float, T>>;
    static_assert(A::IsFloat, "linspace: the entries are floating point numbers");

    const size_t intervals = endpoint && size > 1 ? size - 1 : size;
    if (size < 2)
        return full<A>(start, size);

    const double first = static_cast<double>(start), last = static_cast<double>(stop);
    const double step = (last - first) / static_cast<double>(intervals);
    const Wide result = fma(arange<Wide>(size), Wide(step), Wide(first));
    if constexpr (std::is_same_v<A, Wide>)
        return result;
    else
        return A(result);
}

/** An array with a copy of 'size' entries at 'ptr'. */
template <typename A> A load(const typename A::value_type *ptr, size_t size) {
    return A::copy(ptr, size);
}

/** An array on the caller's memory, see JitArray::map(). */
template <typename A> A map(typename A::value_type *ptr, size_t size,
                            bool free = false) {
    return A::map(ptr, size, free);
}

/** The same bits as another type of the same size: reinterpret<UInt32>(x). */
template <typename A, JitBackend B, typename T>
A reinterpret(const JitArray<B, T> &a) {
    static_assert(A::Backend == B, "reinterpret: both arrays live on one backend");
    static_assert(sizeof(typename A::value_type) == sizeof(T),
                  "reinterpret: both types have the same size");
    return A::steal(jit_var_cast(a.index(), A::Type, 1));
}

/* ------------------------------------------------------------------ memory */

namespace detail {

/* Indices of gathers and scatters are 32-bit integers on the array's own backend. */
template <typename A, typename I> constexpr void check_index() {
    static_assert(is_array<I>, "the index is an array");
    static_assert(A::Backend == I::Backend && I::IsInteger &&
                      sizeof(typename I::value_type) == 4,
                  "the index is an array of 32-bit integers on the same backend");
}

} /* namespace detail */

/** source[index] where 'mask' is set, 0 elsewhere. Evaluates the source. */
template <typename A, typename I, std::enable_if_t<detail::is_array<A>, int> = 0>
A gather(const A &source, const I &index, const detail::same<mask_t<A>> &mask = true) {
    detail::check_index<A, I>();
    return A::steal(jit_var_gather(source.index(), index.index(), mask.index()));
}

/** target[index] = op(target[index], value) where 'mask' is set. */
template <typename A, typename I, std::enable_if_t<detail::is_array<A>, int> = 0>
void scatter_reduce(ReduceOp op, A &target, const detail::same<A> &value,
                    const I &index,
                    const detail::same<mask_t<A>> &mask = true,
                    ReduceMode mode = ReduceModeAuto) {
    detail::check_index<A, I>();
    target = A::steal(jit_var_scatter(target.index(), value.index(), index.index(),
                                      mask.index(), op, mode));
}

/** target[index] = value where 'mask' is set. Other handles of the target's variable
 *  keep the old content. */
template <typename A, typename I, std::enable_if_t<detail::is_array<A>, int> = 0>
void scatter(A &target, const detail::same<A> &value, const I &index,
             const detail::same<mask_t<A>> &mask = true) {
    scatter_reduce(ReduceOpIdentity, target, value, index, mask);
}

/** target[index] += value where 'mask' is set; equal indices all count. */
template <typename A, typename I, std::enable_if_t<detail::is_array<A>, int> = 0>
void scatter_add(A &target, const detail::same<A> &value, const I &index,
                 const detail::same<mask_t<A>> &mask = true) {
    scatter_reduce(ReduceOpAdd, target, value, index, mask);
}

/** Atomically add 1 to target[index]; returns the former numbers, each once. They have
 *  to be used in the same kernel (see jit_var_scatter_inc). */
template <typename A, typename I, std::enable_if_t<detail::is_array<A>, int> = 0>
A scatter_inc(A &target, const I &index, const detail::same<mask_t<A>> &mask = true) {
    detail::check_index<A, I>();
    static_assert(std::is_same_v<A, typename A::Index>, "scatter_inc: uint32_t only");
    uint32_t written = target.release();
    const uint32_t previous = jit_var_scatter_inc(&written, index.index(),
                                                  mask.index());
    target = A::steal(written);
    return A::steal(previous);
}

/** Atomically replace target[index] by 'value'; returns the former entry, to be
 *  used in the same kernel. */
template <typename A, typename I, std::enable_if_t<detail::is_array<A>, int> = 0>
A scatter_exch(A &target, const detail::same<A> &value, const I &index,
               const detail::same<mask_t<A>> &mask = true) {
    detail::check_index<A, I>();
    uint32_t written = target.release();
    const uint32_t previous = jit_var_scatter_exch(&written, value.index(),
                                                   index.index(),
                                                   mask.index());
    target = A::steal(written);
    return A::steal(previous);
}

/** Atomically replace target[index] by 'value' where it equals 'compare'; returns the
 *  former entry and which lanes succeeded, to be used in the same kernel. */
template <typename A, typename I, std::enable_if_t<detail::is_array<A>, int> = 0>
std::pair<A, mask_t<A>> scatter_cas(A &target, const detail::same<A> &compare,
                                    const detail::same<A> &value, const I &index,
                                    const detail::same<mask_t<A>> &mask = true) {
    detail::check_index<A, I>();
    uint32_t written = target.release(), out[2] = { 0, 0 };
    const bool done = jit_var_scatter_cas(&written, compare.index(), value.index(),
                                          index.index(), mask.index(), out);
    target = A::steal(written);
    detail::check(done);
    return { A::steal(out[0]), mask_t<A>::steal(out[1]) };
}

/* -------------------------------------------------------------- evaluation */

/** Let the thread's next evaluation compute the arrays; was there something to do? */
template <typename... As, std::enable_if_t<(detail::is_array<As> && ...), int> = 0>
bool schedule(const As &...arrays) {
    bool scheduled = false;
    ((scheduled |= arrays.schedule()), ...);
    return scheduled;
}

/** Evaluate the arrays together, so that they share kernels. Does not wait. */
template <typename... As, std::enable_if_t<(detail::is_array<As> && ...), int> = 0>
void eval(const As &...arrays) {
    schedule(arrays...);
    detail::check_maybe([] { return jit_eval(); });
}

} /* namespace jit */

using jit::JitArray;
using jit::LLVMArray;
using jit::CUDAArray;
using jit::arange;
using jit::empty;
using jit::full;
using jit::gather;
using jit::linspace;
using jit::load;
using jit::map;
using jit::ones;
using jit::opaque;
using jit::reinterpret;
using jit::zeros;

#endif /* DRJIT_CORE_ARRAY_H */
