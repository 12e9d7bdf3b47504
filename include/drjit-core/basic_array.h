/*
 * drjit-core/basic_array.h -- the class of all arrays of the JIT (C++17, header only)
 *
 * A part of drjit-core/array.h, whose head says how to use it.
 */
#ifndef DRJIT_CORE_BASIC_ARRAY_H
#define DRJIT_CORE_BASIC_ARRAY_H

#include <drjit-core/traits.h>

#include <ostream>
#include <string>
#include <vector>

namespace drjit {

namespace detail {

/* Initialise the backend before its first variable. */
template <JitBackend Backend> void start() {
    if (!c::jit_has_backend(Backend))
        jit_init(Backend);
}

} /* namespace detail */

namespace family {

/* The functions that arrays without derivatives use; Tracked (drjit/autodiff.h) has
 * functions of the same names for those with. */
struct Plain {
    using Ref = uint32_t;
    static uint32_t variable(Ref a) { return a; }
    static void inc(Ref a) noexcept { c::jit_var_inc_ref(a); }
    static void dec(Ref a) noexcept { c::jit_var_dec_ref(a); }
    static Ref share(Ref a) { return jit_var_inc_ref(a); }
    static Ref op(JitOp op, const Ref *as) { return jit_var_op(op, as); }
    static Ref cast(Ref a, VarType type) { return jit_var_cast(a, type, 0); }
    static Ref gather(Ref a, uint32_t index, uint32_t mask, ReduceMode) {
        return jit_var_gather(a, index, mask);
    }
    static Ref scatter(Ref target, Ref value, uint32_t index, uint32_t mask,
                       ReduceOp op, ReduceMode mode) {
        return jit_var_scatter(target, value, index, mask, op, mode);
    }
    static Ref reduce(Ref a, ReduceOp op) { return jit_var_reduce(a, op); }
    static Ref dot(Ref a, Ref b) { return jit_var_reduce_dot(a, b); }
    static Ref block_reduce(ReduceOp op, Ref a, size_t size) {
        return jit_var_block_reduce(op, a, size);
    }
    static Ref prefix(ReduceOp op, Ref a, size_t size, bool exclusive, bool reverse) {
        return jit_var_block_prefix_reduce(op, a, size, exclusive, reverse);
    }
    static Ref copy(Ref a) { return jit_var_copy(a); }
    static Ref tile(Ref a, size_t times) { return jit_var_tile(a, times); }
    static Ref repeat(Ref a, size_t times) { return jit_var_repeat(a, times); }
    static Ref reverse(Ref a) { return jit_var_reverse(a); }
    static Ref resize(Ref a, size_t size) { return jit_var_resize(a, size); }
    static Ref shrink(Ref a, size_t size) { return jit_var_shrink(a, size); }
    static Ref write(Ref a, size_t position, const void *value) {
        return jit_var_write(a, position, value);
    }
    static Ref with_variable(Ref, uint32_t variable) { return variable; }
};

} /* namespace family */

/* ------------------------------------------------------------------- array */

/** A one-dimensional array of T on a backend; see the head of this file. The family is
 *  that of LLVMArray and CUDAArray, without derivatives, or that of DiffArray. */
template <typename Family_, JitBackend Backend_, typename T> struct BasicArray {
    using Family = Family_;
    /** What the handle holds: an index of jit.h, or one of ad.h. */
    using Ref = typename Family::Ref;
    /** Where the array lives. */
    static constexpr JitBackend Backend = Backend_;
    /** Element type as an enumerator of jit.h. */
    static constexpr VarType Type = detail::var_type<T>();
    static constexpr bool IsMask = detail::is_bool<T>;
    static constexpr bool IsFloat = detail::is_float<T>;
    static constexpr bool IsInteger = detail::is_integer<T>;

    template <typename S> using With = BasicArray<Family, Backend, S>;
    using value_type = T;                /**< element type */
    using Value = T;                     /**< the same */
    using Mask = With<bool>;             /**< what comparisons give */
    using Index = With<uint32_t>;        /**< what addresses entries */
    using Wide = With<detail::wide<T>>;  /**< what mulwide() gives */

    /* ---- life */

    /** No variable, size 0. */
    BasicArray() noexcept = default;

    /** A literal of size 1. Numbers become masks, and masks numbers, only by comparing
     *  and select(). */
    template <typename S,
              std::enable_if_t<detail::is_scalar<S> && detail::is_bool<S> == IsMask,
                               int> = 0>
    BasicArray(S value) : BasicArray(literal(static_cast<T>(value), 1)) { }

    /** An array of the given entries (two or more): Float(1, 2, 3). */
    template <typename... Ts,
              std::enable_if_t<(sizeof...(Ts) > 1) && (detail::is_scalar<Ts> && ...),
                               int> = 0>
    BasicArray(Ts... values) {
        const T entries[] = { static_cast<T>(values)... };
        *this = copy(entries, sizeof...(Ts));
    }

    /** Convert from another element type, as jit_var_cast() does: floats become
     *  integers by truncation with saturation, masks become 0 and 1, numbers become !=
     *  0. */
    template <typename U, std::enable_if_t<!std::is_same_v<T, U>, int> = 0>
    explicit BasicArray(const BasicArray<Family, Backend_, U> &other)
        : m_index(Family::cast(other.ref(), Type)) { }

    /** An array without derivatives as one that could have some. */
    template <typename F, std::enable_if_t<std::is_same_v<F, family::Plain> &&
                                           !std::is_same_v<F, Family>, int> = 0>
    BasicArray(const BasicArray<F, Backend_, T> &other)
        : m_index(Family::share(other.index())) { }

    BasicArray(const BasicArray &other) noexcept : m_index(other.m_index) {
        if (m_index)
            Family::inc(m_index);
    }

    BasicArray(BasicArray &&other) noexcept
        : m_index(std::exchange(other.m_index, 0)) { }

    BasicArray &operator=(const BasicArray &other) noexcept {
        BasicArray(other).swap(*this);
        return *this;
    }

    BasicArray &operator=(BasicArray &&other) noexcept {
        BasicArray(std::move(other)).swap(*this);
        return *this;
    }

    ~BasicArray() { Family::dec(m_index); }

    /** Exchange two arrays. */
    void swap(BasicArray &other) noexcept { std::swap(m_index, other.m_index); }

    /** Take over the caller's reference; 0 throws the thread's error. */
    static BasicArray steal(Ref index) {
        BasicArray result;
        if (!index)
            detail::raise();
        result.m_index = index;
        return result;
    }

    /** Share a variable; the caller keeps its reference. */
    static BasicArray borrow(Ref index) { return steal(Family::share(index)); }

    /** Give up the reference: the caller owns the returned index. */
    Ref release() noexcept { return std::exchange(m_index, 0); }

    /** Index of the variable of jit.h (borrowed), 0 if there is none. */
    uint32_t index() const noexcept { return Family::variable(m_index); }

    /** What the handle holds (borrowed): for a DiffArray the index of ad.h. */
    Ref ref() const noexcept { return m_index; }

    /** Address of that, for functions of C that replace it. */
    Ref *index_ptr() noexcept { return &m_index; }

    /** Is there a variable? */
    bool valid() const noexcept { return m_index != 0; }

    /** An array with a copy of 'size' entries at 'ptr'. */
    static BasicArray copy(const void *ptr, size_t size) {
        return make(size, [=] { return jit_var_mem_copy(Backend, Type, ptr, size); });
    }

    /** An array on the caller's memory, aligned to sizeof(T). With 'free', C's free()
     *  is called after the last use; else the memory must outlive array and queued
     *  work. */
    static BasicArray map(T *ptr, size_t size, bool free = false) {
        return make(size, [=] { return jit_var_mem_map(Backend, Type, ptr, size,
                                                       free); });
    }

    /** 'size' entries of one value; with 'opaque' kernels load it instead of baking it
     *  in. */
    static BasicArray literal(T value, size_t size, bool opaque = false) {
        return make(size, [=] { return jit_var_literal(Backend, Type, &value, size,
                                                       opaque); });
    }

    /** 'size' entries of arbitrary content, to be scattered to. */
    static BasicArray empty(size_t size) {
        return make(size, [=] { return jit_var_undefined(Backend, Type, size); });
    }

    /** 0, 1, ..., size - 1. */
    static BasicArray counter(size_t size) {
        static_assert(!IsMask, "counter: the entries are numbers");
        const With<uint32_t> numbers = With<uint32_t>::make(
            size, [=] { return jit_var_counter(Backend, size); });
        if constexpr (std::is_same_v<T, uint32_t>)
            return numbers;
        else
            return size ? BasicArray(numbers) : BasicArray();
    }

    /** A variable of jit.h that 'create' makes, in a backend that is initialised; none
     *  for size 0. */
    template <typename Create> static BasicArray make(size_t size, Create create) {
        if (!size)
            return BasicArray();
        detail::start<Backend>();
        return steal(Ref(create()));
    }

    /* ---- content */

    /** Number of entries. */
    size_t size() const { return m_index ? jit_var_size(index()) : 0; }

    /** Entries as text, "[0.5, 1.5, ...]" (see jit_var_str). Waits. */
    std::string str() const { return m_index ? jit_var_str(index()) : "[]"; }

    /** Address of the entries, evaluated and complete; masks are one byte an entry.
     *  Literals are written to memory, which is why the handle may name another
     *  variable then. */
    T *data() { return static_cast<T *>(address()); }
    const T *data() const { return static_cast<const T *>(address()); }

    /** Read one entry. Waits. */
    T entry(size_t position) const {
        T value{};
        jit_var_read(index(), position, &value);
        return value;
    }
    T read(size_t position) const { return entry(position); }
    T operator[](size_t position) const { return entry(position); }

    /** Write one entry. Other handles of the same variable keep the old content. */
    void set_entry(size_t position, T value) {
        *this = steal(Family::write(m_index, position, &value));
    }
    void write(size_t position, T value) { set_entry(position, value); }

    /** All entries. Waits. */
    std::vector<T> to_vector() const {
        if (!size())
            return {};
        const T *entries = data();
        return std::vector<T>(entries, entries + size());
    }

    /** Evaluate this array; returns itself. Literals stay literals. */
    BasicArray &eval() {
        jit_var_eval(index());
        return *this;
    }
    const BasicArray &eval() const {
        jit_var_eval(index());
        return *this;
    }

    /** Let the thread's next evaluation compute it; was there something to do? */
    bool schedule() const { return jit_var_schedule(index()); }

    /** Kernels load its entries from memory from now on, also those of a literal. */
    void make_opaque() { address(); }

    /** The size as an array of one entry that kernels do not bake in. */
    Index opaque_width() const {
        return Index::steal(typename Index::Ref(jit_var_opaque_width(index())));
    }

    Index opaque_width_() const { return opaque_width(); }

    /** Name the array in listings and messages; nullptr takes the name away. */
    void set_label(const char *label) {
        replace(jit_var_set_label(index(), label));
    }

    /** The name with its prefixes, nullptr if there is none. */
    const char *label() const { return jit_var_label(index()); }

    /** This array where it has one entry, broadcast to 'size'. */
    void resize(size_t size) { *this = steal(Family::resize(m_index, size)); }

private:
    template <typename F, JitBackend B, typename U> friend struct BasicArray;

    /* Another variable of jit.h (a new reference) takes the place of this one. */
    void replace(uint32_t variable) const {
        const Ref old = std::exchange(m_index, Family::with_variable(m_index,
                                                                     variable));
        Family::dec(old);
    }

    void *address() const {
        void *ptr = nullptr;
        replace(jit_var_data(index(), &ptr));
        return ptr;
    }

protected:
    /** What the handle holds. Mutable because data() may move a literal to memory,
     *  under another index. */
    mutable Ref m_index = 0;
};

/** An array without derivatives. */
template <JitBackend Backend, typename T>
using JitArray = BasicArray<family::Plain, Backend, T>;

/** Arrays on the CPU. */
template <typename T> using LLVMArray = JitArray<JitBackend::LLVM, T>;

/** Arrays on an NVIDIA GPU. Creating one throws where that backend is not available. */
template <typename T> using CUDAArray = JitArray<JitBackend::CUDA, T>;

} /* namespace drjit */

#endif /* DRJIT_CORE_BASIC_ARRAY_H */
