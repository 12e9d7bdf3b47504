/*
 * drjit/autodiff.h -- C++ arrays with derivatives (C++17, header only)
 *
 * DiffArray<Backend, T> is a handle of a tracked variable of drjit-core/ad.h: the same
 * class as LLVMArray, with the same operators and functions, but what is computed from
 * an array with enabled gradients has derivatives.
 *
 *     using Float = LLVMDiffArray<float>;
 *     Float x = arange<Float>(3);
 *     enable_grad(x);
 *     backward(sum(x * x));
 *     std::cout << grad(x) << std::endl;     [0, 2, 4]
 *
 * The functions here take an array, or anything that has some: nested arrays, matrices,
 * tuples, vectors, classes with fields() (DRJIT_STRUCT). Arrays without derivatives and
 * those of integers are left alone. Errors, threads and rules are those of ad.h.
 */
#ifndef DRJIT_AUTODIFF_H
#define DRJIT_AUTODIFF_H

#include <drjit-core/ad.h>
#include <drjit-core/array.h>

namespace drjit {

using ::ADFlag;
using ::ADMode;

namespace family {

/* The functions of ad.h, by the names that BasicArray uses. */
struct Tracked {
    using Ref = uint64_t;
    static uint32_t variable(Ref a) { return ad_var_index(a); }
    static void inc(Ref a) noexcept { c::ad_var_inc_ref(a); }
    static void dec(Ref a) noexcept { c::ad_var_dec_ref(a); }
    static Ref share(Ref a) { return ad_var_inc_ref(a); }
    static Ref op(JitOp op, const Ref *as) { return ad_var_op(op, as); }
    static Ref cast(Ref a, VarType type) { return ad_var_cast(a, type, 0); }
    static Ref gather(Ref a, uint32_t index, uint32_t mask, ReduceMode mode) {
        return ad_var_gather(a, index, mask, mode);
    }
    static Ref scatter(Ref target, Ref value, uint32_t index, uint32_t mask,
                       ReduceOp op, ReduceMode mode) {
        return ad_var_scatter(target, value, index, mask, op, mode);
    }
    static Ref reduce(Ref a, ReduceOp op) { return ad_var_reduce(a, op); }
    static Ref dot(Ref a, Ref b) { return ad_var_reduce_dot(a, b); }
    static Ref block_reduce(ReduceOp op, Ref a, size_t size) {
        return ad_var_block_reduce(op, a, size);
    }
    static Ref prefix(ReduceOp op, Ref a, size_t size, bool exclusive, bool reverse) {
        return ad_var_block_prefix_reduce(op, a, size, exclusive, reverse);
    }
    static Ref copy(Ref a) { return ad_var_copy(a); }
    static Ref tile(Ref a, size_t times) { return ad_var_tile(a, times); }
    static Ref repeat(Ref a, size_t times) { return ad_var_repeat(a, times); }
    static Ref reverse(Ref a) { return ad_var_reverse(a); }
    static Ref resize(Ref a, size_t size) { return ad_var_resize(a, size); }
    static Ref shrink(Ref a, size_t size) { return ad_var_shrink(a, size); }
    static Ref write(Ref a, size_t position, const void *value) {
        return ad_var_write(a, position, value);
    }
    /* The node with another variable, whose reference is taken. */
    static Ref with_variable(Ref a, uint32_t variable) {
        const Ref both = (a & ~Ref(0xffffffffu)) | variable;
        const Ref result = ad_var_inc_ref(both);
        c::jit_var_dec_ref(variable);
        return result;
    }
};

} /* namespace family */

/** An array that can have derivatives. */
template <JitBackend Backend, typename T>
using DiffArray = BasicArray<family::Tracked, Backend, T>;
template <typename T> using LLVMDiffArray = DiffArray<JitBackend::LLVM, T>;
template <typename T> using CUDADiffArray = DiffArray<JitBackend::CUDA, T>;

namespace detail {

template <typename A> struct detached { using type = A; };
template <JitBackend B, typename T> struct detached<DiffArray<B, T>> {
    using type = JitArray<B, T>;
};
template <typename T, size_t N> struct detached<Array<T, N>> {
    using type = Array<typename detached<T>::type, N>;
};

/* A function for every leaf of a value that can have derivatives. */
template <typename A, typename Function> void visit_tracked(A &value, Function f) {
    visit(value, [&](auto &leaf) {
        using L = std::remove_const_t<std::remove_reference_t<decltype(leaf)>>;
        if constexpr (is_diff_v<L> && is_floating_point_v<L>)
            f(leaf);
    });
}

} /* namespace detail */

/** The type of a value without derivatives: LLVMArray<float>. */
template <typename A> using detached_t = typename detail::detached<A>::type;

/** Derivatives with respect to the value are wanted (or not). */
template <typename... As> void enable_grad(As &...values) {
    const auto one = [](auto &leaf) {
        using L = std::remove_reference_t<decltype(leaf)>;
        leaf = L::steal(ad_var_enable(leaf.ref()));
    };
    (detail::visit_tracked(values, one), ...);
}
template <typename... As> void disable_grad(As &...values) {
    const auto one = [](auto &leaf) {
        using L = std::remove_reference_t<decltype(leaf)>;
        leaf = L::steal(ad_var_detach(leaf.ref()));
    };
    (detail::visit_tracked(values, one), ...);
}
template <typename A> void set_grad_enabled(A &value, bool enable) {
    enable ? enable_grad(value) : disable_grad(value);
}

/** Are there any? */
template <typename... As> bool grad_enabled(const As &...values) {
    bool enabled = false;
    const auto one = [&](auto &leaf) { enabled |= ad_grad_enabled(leaf.ref()); };
    (detail::visit_tracked(values, one), ...);
    return enabled;
}

/** The values without derivatives: of the same type, or of one without. */
template <bool preserve_type = true, typename A> auto detach(const A &value) {
    if constexpr (preserve_type || !is_diff_v<A>) {
        A result(value);
        disable_grad(result);
        return result;
    } else if constexpr (detail::is_leaf<A>) {
        return detached_t<A>::borrow(value.index());
    } else {
        detached_t<A> result;
        for (size_t i = 0; i < A::Size; ++i)
            result.entry(i) = detach<false>(value.entry(i));
        return result;
    }
}

/** The gradient: same type and size, zeros where none was computed, itself without
 *  derivatives unless they were computed with ADFlag::CreateGraph. */
template <typename A> A grad(const A &value) {
    A result(value);
    detail::visit(result, [](auto &leaf) {
        using L = std::remove_reference_t<decltype(leaf)>;
        if constexpr (is_diff_v<L> && is_floating_point_v<L>)
            leaf = L::steal(ad_grad(leaf.ref()));
        else
            leaf = zeros<L>(leaf.size());
    });
    return result;
}

/** Replace the gradient, or add to it: by a value of the same type, or a number. */
template <typename A> void set_grad(A &value, const detail::same<A> &gradient) {
    detail::visit_both(value, gradient, [](auto &leaf, const auto &part) {
        if constexpr (is_diff_v<std::remove_reference_t<decltype(leaf)>>)
            ad_set_grad(leaf.ref(), part.ref());
    });
}
template <typename A> void accum_grad(A &value, const detail::same<A> &gradient) {
    detail::visit_both(value, gradient, [](auto &leaf, const auto &part) {
        if constexpr (is_diff_v<std::remove_reference_t<decltype(leaf)>>)
            ad_accum_grad(leaf.ref(), part.ref());
    });
}
template <typename... As> void clear_grad(As &...values) {
    (detail::visit_tracked(values, [](auto &leaf) { ad_clear_grad(leaf.ref()); }),
     ...);
}

/** The value of the first with the derivatives of the second argument. */
template <typename A> A replace_grad(const A &value, const detail::same<A> &gradient) {
    A result(value);
    detail::visit_both(result, gradient, [](auto &leaf, const auto &part) {
        using L = std::remove_reference_t<decltype(leaf)>;
        if constexpr (is_diff_v<L>)
            leaf = L::steal(ad_var_replace_grad(leaf.ref(), part.ref()));
    });
    return result;
}

/** Note values, from which traverse() begins (see ad_enqueue()). */
template <typename... As> void enqueue(ADMode mode, const As &...values) {
    (detail::visit_tracked(values,
                           [=](auto &leaf) { ad_enqueue(mode, leaf.ref()); }), ...);
}
/** Propagate the gradients that are set (see ad_traverse()). */
inline void traverse(ADMode mode, ADFlag flags = ADFlag::Default) {
    ad_traverse(mode, flags);
}

/** Propagate the gradients of a value, which are set, to what it was computed from. An
 *  Error if it has no derivatives, unless 'flags' has ADFlag::AllowNoGrad. */
template <typename A>
void backward_from(const A &value, ADFlag flags = ADFlag::Default) {
    if (!grad_enabled(value) && (flags & ADFlag::AllowNoGrad) == ADFlag::ClearNone)
        jit_raise("drjit::backward(): the argument does not depend on a variable with "
                  "enabled gradients");
    enqueue(ADMode::Backward, value);
    traverse(ADMode::Backward, flags);
}
/** The same to what is computed from it. */
template <typename A>
void forward_from(const A &value, ADFlag flags = ADFlag::Default) {
    if (!grad_enabled(value) && (flags & ADFlag::AllowNoGrad) == ADFlag::ClearNone)
        jit_raise("drjit::forward(): gradients of the argument are not enabled");
    enqueue(ADMode::Forward, value);
    traverse(ADMode::Forward, flags);
}
/** Gradients of all that 'value' depends on, of the sum of its entries. */
template <typename A> void backward(const A &value, ADFlag flags = ADFlag::Default) {
    A target(value);
    detail::visit_tracked(target, [](auto &leaf) {
        using L = std::remove_reference_t<decltype(leaf)>;
        ad_set_grad(leaf.ref(), ones<L>().ref());
    });
    backward_from(target, flags);
}
/** Derivatives of all that depends on 'value', if its entries grow by one each. */
template <typename A> void forward(const A &value, ADFlag flags = ADFlag::Default) {
    A source(value);
    detail::visit_tracked(source, [](auto &leaf) {
        using L = std::remove_reference_t<decltype(leaf)>;
        ad_set_grad(leaf.ref(), ones<L>().ref());
    });
    forward_from(source, flags);
}
/** Derivatives of a value, from gradients that are set on what it depends on. */
template <typename A> A forward_to(const A &value, ADFlag flags = ADFlag::Default) {
    enqueue(ADMode::Backward, value);
    traverse(ADMode::Forward, flags);
    return grad(value);
}
/** Gradients of a value, from those that are set on what depends on it. */
template <typename A> A backward_to(const A &value, ADFlag flags = ADFlag::Default) {
    enqueue(ADMode::Forward, value);
    traverse(ADMode::Backward, flags);
    return grad(value);
}

/** While it lives, operations of this thread ignore derivatives, or take notice of
 *  them again. */
template <ADScope kind> struct GradScope {
    GradScope() { ad_scope_enter(kind, 0, nullptr); }
    ~GradScope() { c::ad_scope_leave(true); }
    GradScope(const GradScope &) = delete;
    GradScope &operator=(const GradScope &) = delete;
};
using suspend_grad = GradScope<ADScopeSuspend>;
using resume_grad = GradScope<ADScopeResume>;

} /* namespace drjit */

using drjit::DiffArray;

#endif /* DRJIT_AUTODIFF_H */
