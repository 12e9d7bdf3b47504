/*
 * drjit-core/memory.h -- creation, gather and scatter of C++ arrays (C++17)
 *
 * A part of drjit-core/array.h. A is an array type that the caller names, as in
 * zeros<Float>(10), or that of an argument. Nested arrays are created, gathered and
 * scattered component by component.
 */
#ifndef DRJIT_CORE_MEMORY_H
#define DRJIT_CORE_MEMORY_H

#include <drjit-core/ops.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <tuple>

namespace drjit {

/* --------------------------------------------------------------- traversal */

namespace detail {

/* A class of the program whose member fields() returns a tuple of references. */
template <typename A, typename = void> struct has_fields : std::false_type { };
template <typename A>
struct has_fields<A, std::void_t<decltype(std::declval<A &>().fields())>>
    : std::true_type { };
template <typename A> struct is_tuple : std::false_type { };
template <typename... As> struct is_tuple<std::tuple<As...>> : std::true_type { };
template <typename A, typename B> struct is_tuple<std::pair<A, B>> : std::true_type { };
template <typename A, size_t N> struct is_tuple<std::array<A, N>> : std::true_type { };

/* Call a function for every leaf of a value: an array, nested or not, a matrix, a
 * complex number, ..., a class with fields(), a tuple, pair, std::array or std::vector.
 * Others have none. */
template <typename A, typename Function> void visit(A &value, Function function) {
    using V = std::remove_const_t<A>;
    if constexpr (is_leaf<V>)
        function(value);
    else if constexpr (is_nested<V>) {
        for (size_t i = 0; i < V::Size; ++i)
            visit(value.entry(i), function);
    } else if constexpr (is_tuple<V>::value)
        std::apply([&](auto &...parts) { (visit(parts, function), ...); }, value);
    else if constexpr (has_fields<V>::value)
        std::apply([&](auto &...parts) { (visit(parts, function), ...); },
                   const_cast<V &>(value).fields());
}
template <typename A, typename Function>
void visit(std::vector<A> &values, Function function) {
    for (A &value : values)
        visit(value, function);
}
template <typename A, typename Function>
void visit(const std::vector<A> &values, Function function) {
    for (const A &value : values)
        visit(value, function);
}

/* Two values of one type at the same time. */
template <typename A, typename Function>
void visit_both(A &first, const A &second, Function function) {
    std::vector<const void *> leaves;
    visit(second, [&](const auto &leaf) { leaves.push_back(&leaf); });
    size_t i = 0;
    visit(first, [&](auto &leaf) {
        using L = std::remove_reference_t<decltype(leaf)>;
        function(leaf, *static_cast<const L *>(leaves[i++]));
    });
}

/* Members of two objects of one class that are, or have, arrays. */
template <typename A, typename Function>
void visit_fields(A &first, const A &second, Function function) {
    const auto pair = [&](auto &x, const auto &y) {
        using V = std::remove_reference_t<decltype(x)>;
        if constexpr (is_array<V> || has_fields<V>::value)
            function(x, y);
    };
    auto others = const_cast<A &>(second).fields();
    std::apply([&](auto &...xs) {
        std::apply([&](auto &...ys) { (pair(xs, ys), ...); }, others);
    }, first.fields());
}

/* A class that is not an array. */
template <typename A> inline constexpr bool is_class = has_fields<A>::value;
template <typename A> using if_class = std::enable_if_t<is_class<A>, int>;

} /* namespace detail */

/* ---------------------------------------------------------------- creation */

namespace detail {

/* An array, or a class that has some, whose leaves are made by make(a type of leaf);
 * numbers by make(number), members that are not arrays by their constructors. */
template <typename A> struct type_t { using type = A; };
template <typename A, typename Make> A build(Make make) {
    if constexpr (is_nested<A>) {
        A result;
        for (size_t i = 0; i < A::Size; ++i)
            result.entry(i) = build<value_t<A>>(make);
        return result;
    } else if constexpr (is_class<A>) {
        A result{};
        visit(result, [&](auto &leaf) {
            leaf = make(type_t<std::remove_reference_t<decltype(leaf)>>());
        });
        return result;
    } else
        return make(type_t<A>());
}

} /* namespace detail */

/** 'size' entries of 'value' in memory: kernels that use it also serve every other
 *  value. */
template <typename A> A opaque(detail::same<scalar_t<A>> value, size_t size = 1) {
    return detail::build<A>([=](auto type) {
        return decltype(type)::type::literal(value, size, true);
    });
}

/** 'size' entries of 'value'. */
template <typename A> A full(detail::same<scalar_t<A>> value, size_t size = 1) {
    return detail::build<A>([=](auto type) {
        using L = typename decltype(type)::type;
        if constexpr (detail::is_leaf<L>)
            return L::literal(value, size);
        else
            return value;
    });
}

/** 'size' zeros (or unset entries), also in all arrays of a class; ones (or set
 *  entries). */
template <typename A> A zeros(size_t size = 1) {
    return detail::build<A>([=](auto type) {
        using L = typename decltype(type)::type;
        if constexpr (detail::is_leaf<L>)
            return L::literal(value_t<L>(0), size);
        else
            return L(0);
    });
}
template <typename A> A ones(size_t size = 1) {
    return full<A>(scalar_t<A>(1), size);
}

/** 'size' entries of arbitrary content, to be scattered to. */
template <typename A> A empty(size_t size = 1) {
    return detail::build<A>([=](auto type) {
        using L = typename decltype(type)::type;
        if constexpr (detail::is_leaf<L>)
            return L::empty(size);
        else
            return L(0);
    });
}

/** 0, 1, ..., size - 1. */
template <typename A> A arange(size_t size) { return A::counter(size); }

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
    using Wide = replace_scalar_t<A, std::conditional_t<detail::is_half<T>, float, T>>;
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

/** All pairs of entries: the first array varies fastest. */
template <typename A> std::pair<A, A> meshgrid(const A &x, const A &y) {
    return { tile(x, y.size()), repeat(y, x.size()) };
}

/** An array with a copy of 'size' entries at 'ptr'. */
template <typename A> A load(const void *ptr, size_t size) {
    return A::copy(ptr, size);
}

/** Copy all entries to 'ptr'. Waits. */
template <typename A, detail::if_leaf<A> = 0> void store(void *ptr, const A &array) {
    if (array.size())
        std::memcpy(ptr, array.data(), array.size() * sizeof(scalar_t<A>));
}

/** An array on the caller's memory, see BasicArray::map(). */
template <typename A> A map(typename A::value_type *ptr, size_t size,
                            bool free = false) {
    return A::map(ptr, size, free);
}

/** The same bits as another type of the same size: reinterpret<UInt32>(x). */
template <typename A, typename F, JitBackend B, typename T>
A reinterpret(const BasicArray<F, B, T> &a) {
    static_assert(A::Backend == B, "reinterpret: both arrays live on one backend");
    static_assert(sizeof(typename A::value_type) == sizeof(T),
                  "reinterpret: both types have the same size");
    return A::steal(typename A::Ref(jit_var_cast(a.index(), A::Type, 1)));
}
template <typename A, typename B> A reinterpret_array(const B &a) {
    return reinterpret<A>(a);
}

/** Entries of one array in another type. */
template <typename A, typename F, JitBackend B, typename T>
A cast(const BasicArray<F, B, T> &a) {
    return A(a);
}

/* ------------------------------------------------------------------ memory */

namespace detail {

/* Indices of gathers and scatters are 32-bit integers on the array's own backend. */
template <typename A, typename I> constexpr void check_index() {
    static_assert(is_leaf<I>, "the index is an array");
    static_assert(A::Backend == I::Backend && I::IsInteger &&
                      sizeof(typename I::value_type) == 4,
                  "the index is an array of 32-bit integers on the same backend");
}

/* The leaf that a nested array consists of. */
template <typename A, typename = void> struct leaf_t { using type = A; };
template <typename T, size_t N> struct leaf_t<Array<T, N>> : leaf_t<T> { };

} /* namespace detail */

/** The mask of a type that gathers and scatters take: one for all components. */
template <typename A> using lane_mask_t = mask_t<typename detail::leaf_t<A>::type>;

/** source[index] where 'mask' is set, 0 elsewhere. Evaluates the source. For a nested
 *  type, the source is of that type, too, or is an array that holds the components of
 *  an entry one after the other: component k of entry i is number i * N + k.
 *  'mode': how derivatives are scattered (jit_var_scatter()). */
template <typename A, typename I, detail::if_leaf<A> = 0, detail::if_leaf<I> = 0>
A gather(const A &source, const I &index, const detail::same<mask_t<A>> &mask = true,
         ReduceMode mode = ReduceMode::Auto) {
    detail::check_index<A, I>();
    return A::steal(A::Family::gather(source.ref(), index.index(), mask.index(), mode));
}
template <typename A, typename I, detail::if_nested<A> = 0, detail::if_leaf<I> = 0>
A gather(const A &source, const I &index,
         const detail::same<lane_mask_t<A>> &mask = true,
         ReduceMode mode = ReduceMode::Auto) {
    A result;
    for (size_t i = 0; i < A::Size; ++i)
        result.entry(i) = gather<value_t<A>>(source.entry(i), index, mask, mode);
    return result;
}
template <typename A, typename L, typename I, detail::if_nested<A> = 0,
          detail::if_leaf<L> = 0, detail::if_leaf<I> = 0>
A gather(const L &source, const I &index,
         const detail::same<lane_mask_t<A>> &mask = true,
         ReduceMode mode = ReduceMode::Auto) {
    A result;
    const scalar_t<I> step = scalar_t<I>(A::Size);
    for (size_t i = 0; i < A::Size; ++i)
        result.entry(i) = gather<value_t<A>>(source, fma(index, step, scalar_t<I>(i)),
                                             mask, mode);
    return result;
}

/** target[index] = op(target[index], value) where 'mask' is set. Nested as gather(). */
template <typename A, typename I, detail::if_leaf<A> = 0, detail::if_leaf<I> = 0>
void scatter_reduce(ReduceOp op, A &target, const detail::same<A> &value,
                    const I &index, const detail::same<mask_t<A>> &mask = true,
                    ReduceMode mode = ReduceMode::Auto) {
    detail::check_index<A, I>();
    target = A::steal(A::Family::scatter(target.ref(), value.ref(), index.index(),
                                         mask.index(), op, mode));
}
template <typename A, typename I, detail::if_nested<A> = 0, detail::if_leaf<I> = 0>
void scatter_reduce(ReduceOp op, A &target, const detail::same<A> &value,
                    const I &index, const detail::same<lane_mask_t<A>> &mask = true,
                    ReduceMode mode = ReduceMode::Auto) {
    for (size_t i = 0; i < A::Size; ++i)
        scatter_reduce(op, target.entry(i), value.entry(i), index, mask, mode);
}
template <typename L, typename T, size_t N, typename I, detail::if_leaf<L> = 0,
          detail::if_leaf<I> = 0>
void scatter_reduce(ReduceOp op, L &target, const Array<T, N> &value, const I &index,
                    const detail::same<mask_t<L>> &mask = true,
                    ReduceMode mode = ReduceMode::Auto) {
    for (size_t i = 0; i < N; ++i)
        scatter_reduce(op, target, value.entry(i),
                       fma(index, scalar_t<I>(N), scalar_t<I>(i)), mask, mode);
}

/** target[index] = value where 'mask' is set. Other handles of the target's variable
 *  keep the old content. */
template <typename A, typename V, typename I, detail::if_leaf<I> = 0,
          std::enable_if_t<!detail::is_class<A>, int> = 0>
void scatter(A &target, const V &value, const I &index,
             const detail::same<lane_mask_t<A>> &mask = true,
             ReduceMode mode = ReduceMode::Auto) {
    scatter_reduce(ReduceOp::Identity, target, value, index, mask, mode);
}

/** target[index] += value where 'mask' is set; equal indices all count. */
template <typename A, typename V, typename I, detail::if_leaf<I> = 0>
void scatter_add(A &target, const V &value, const I &index,
                 const detail::same<lane_mask_t<A>> &mask = true) {
    scatter_reduce(ReduceOp::Add, target, value, index, mask);
}

/** Atomically add 1 to target[index]; returns the former numbers, each once. They have
 *  to be used in the same kernel (see jit_var_scatter_inc). */
template <typename A, typename I, detail::if_leaf<A> = 0>
A scatter_inc(A &target, const I &index, const detail::same<mask_t<A>> &mask = true) {
    detail::check_index<A, I>();
    static_assert(std::is_same_v<A, JitArray<A::Backend, uint32_t>>,
                  "scatter_inc: arrays of uint32_t");
    return A::steal(jit_var_scatter_inc(target.index_ptr(), index.index(),
                                        mask.index()));
}

/** Atomically replace target[index] by 'value'; returns the former entry, to be
 *  used in the same kernel. */
template <typename A, typename I, detail::if_leaf<A> = 0>
A scatter_exch(A &target, const detail::same<A> &value, const I &index,
               const detail::same<mask_t<A>> &mask = true) {
    detail::check_index<A, I>();
    static_assert(!is_diff_v<A>, "scatter_exch: arrays without derivatives");
    return A::steal(jit_var_scatter_exch(target.index_ptr(), value.index(),
                                         index.index(), mask.index()));
}

/** Atomically replace target[index] by 'value' where it equals 'compare'; returns the
 *  former entry and which lanes succeeded, to be used in the same kernel. */
template <typename A, typename I, detail::if_leaf<A> = 0>
std::pair<A, mask_t<A>> scatter_cas(A &target, const detail::same<A> &compare,
                                    const detail::same<A> &value, const I &index,
                                    const detail::same<mask_t<A>> &mask = true) {
    detail::check_index<A, I>();
    static_assert(!is_diff_v<A>, "scatter_cas: arrays without derivatives");
    uint32_t out[2] = { 0, 0 };
    jit_var_scatter_cas(target.index_ptr(), compare.index(), value.index(),
                        index.index(), mask.index(), out);
    return { A::steal(out[0]), mask_t<A>::steal(out[1]) };
}

/* ----------------------------------------------------------------- classes */

/** In a class: which of its members are arrays, or have arrays; then loops,
 *  conditionals, calls, eval() and functions of derivatives take objects of it. */
#define DRJIT_STRUCT(name, ...)                                                        \
    auto fields() { return std::tie(__VA_ARGS__); }

/** The number of entries of a value: the largest of its arrays. */
template <typename A> size_t width(const A &value) {
    size_t result = detail::is_scalar<A> ? 1 : 0;
    detail::visit(value, [&](auto &leaf) { result = std::max(result, leaf.size()); });
    return result;
}

/** m ? a : b for all arrays of two objects of a class; other members are those of the
 *  first. */
template <typename M, typename A, detail::if_class<A> = 0>
A select(const M &m, const A &a, const detail::same<A> &b) {
    if constexpr (std::is_same_v<M, bool>) {
        return m ? a : b;
    } else {
        A result(a);
        detail::visit_fields(result, b, [&](auto &x, const auto &y) {
            x = select(m, x, y);
        });
        return result;
    }
}

/** Gather from, and scatter to, all arrays of a class. */
template <typename A, typename I, detail::if_class<A> = 0, detail::if_leaf<I> = 0>
A gather(const A &source, const I &index, const detail::same<mask_t<I>> &mask = true,
         ReduceMode mode = ReduceMode::Auto) {
    A result(source);
    detail::visit(result, [&](auto &leaf) {
        leaf = gather<std::remove_reference_t<decltype(leaf)>>(leaf, index, mask, mode);
    });
    return result;
}
template <typename A, typename I, detail::if_class<A> = 0, detail::if_leaf<I> = 0>
void scatter(A &target, const detail::same<A> &value, const I &index,
             const detail::same<mask_t<I>> &mask = true,
             ReduceMode mode = ReduceMode::Auto) {
    detail::visit_both(target, value, [&](auto &leaf, const auto &part) {
        scatter(leaf, part, index, mask, mode);
    });
}

/* -------------------------------------------------------------- evaluation */

/** Let the thread's next evaluation compute the values; was there something to do? */
template <typename... As> bool schedule(const As &...values) {
    bool scheduled = false;
    [[maybe_unused]] const auto one = [&](auto &leaf) {
        scheduled |= leaf.valid() && leaf.schedule();
    };
    (detail::visit(values, one), ...);
    return scheduled;
}

/** Evaluate the values together, so that they share kernels. Does not wait. */
template <typename... As> void eval(const As &...values) {
    schedule(values...);
    jit_eval();
}

/** Write the values to memory: kernels load them, and serve other values as well. */
template <typename... As> void make_opaque(As &...values) {
    schedule(values...);
    (detail::visit(values, [](auto &leaf) { leaf.make_opaque(); }), ...);
}

/** Wait for what this thread has evaluated; for the device; for all. */
inline void sync_thread() { jit_sync_thread(); }
inline void sync_device() { jit_sync_device(); }
inline void sync_all_devices() { jit_sync_all_devices(); }

/** Name the arrays of a value in listings and messages. */
template <typename A> void set_label(A &value, const char *label) {
    detail::visit(value, [&](auto &leaf) { leaf.set_label(label); });
}

} /* namespace drjit */

#endif /* DRJIT_CORE_MEMORY_H */
