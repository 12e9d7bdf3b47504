/*
 * drjit/call.h -- calls of which each lane has an instance of its own (C++17)
 *
 * LLVMArray<Class *> holds, for each lane, an instance of a class, or none. Instances
 * are in the registry of the library, in the domain that their class names:
 *
 *     struct Shape {
 *         static constexpr const char *Domain = "Shape";
 *         Shape() { jit_registry_put("", Domain, this); }
 *         virtual ~Shape() { jit_registry_remove(this); }
 *         virtual Float area(const Float &scale) const = 0;
 *     };
 *     Float area = dispatch(shapes, [](Shape *shape, const Float &scale) {
 *                               return shape->area(scale); }, scale);
 */
#ifndef DRJIT_CALL_H
#define DRJIT_CALL_H

#include <drjit/region.h>

namespace drjit {

/** An instance for each lane: in memory, their ids in the registry (UInt32, 0: none).
 *  */
template <typename F, JitBackend B, typename Class>
struct BasicArray<F, B, Class *> : BasicArray<F, B, uint32_t> {
    using Ids = BasicArray<F, B, uint32_t>;
    using value_type = Class *;
    using Value = Class *;
    using Mask = BasicArray<F, B, bool>;

    BasicArray() noexcept = default;
    /** One instance, registered before, or none. */
    BasicArray(Class *instance) : Ids(jit_registry_id(instance)) { }
    /** Instances by their ids. */
    explicit BasicArray(const Ids &ids) : Ids(ids) { }

    static BasicArray steal(typename Ids::Ref index) {
        return BasicArray(Ids::steal(index));
    }
    static BasicArray borrow(typename Ids::Ref index) {
        return BasicArray(Ids::borrow(index));
    }
    static BasicArray literal(Class *instance, size_t size, bool opaque = false) {
        return BasicArray(Ids::literal(jit_registry_id(instance), size, opaque));
    }

    /** The instance of one lane. Waits. */
    Class *entry(size_t lane) const {
        return static_cast<Class *>(
            jit_registry_ptr(variant(), Class::Domain, Ids::entry(lane)));
    }
    Class *operator[](size_t lane) const { return entry(lane); }

    /** Which instances there are. */
    static const char *variant() { return variant_of<Class>(0); }

private:
    template <typename C> static auto variant_of(int) -> decltype(C::Variant) {
        return C::Variant;
    }
    template <typename C> static const char *variant_of(long) { return ""; }
};

namespace detail {

/* All instances of a domain, by id. */
template <typename Class> struct Instances {
    std::vector<uint32_t> ids;
    std::vector<Class *> pointers;

    explicit Instances(const char *variant) {
        const uint32_t bound = jit_registry_id_bound(variant, Class::Domain);
        for (uint32_t id = 1; id <= bound; ++id)
            if (void *ptr = c::jit_registry_ptr(variant, Class::Domain, id)) {
                ids.push_back(id);
                pointers.push_back(static_cast<Class *>(ptr));
            }
        if (ids.empty())
            jit_raise("drjit::dispatch(): no instance is registered in domain \"%s\"",
                      Class::Domain);
    }
};

/* Outputs of a function without a result. */
struct Nothing {
    auto fields() { return std::tuple<>(); }
};
template <typename Function, typename... Args> auto invoke(Function &f, Args &...args) {
    if constexpr (std::is_void_v<decltype(f(args...))>) {
        f(args...);
        return Nothing();
    } else
        return std::decay_t<decltype(f(args...))>(f(args...));
}

/* Trace every callable, and one call of them all. */
template <typename Ptr, typename Class, typename Function, typename... Args>
auto dispatch_symbolic(const Ptr &self, const Instances<Class> &instances,
                       Function &function, std::tuple<Args...> arguments) {
    const uint32_t handle = ad_var_call_start(Ptr::Backend, Class::Domain, 0);
    Recording recording(Ptr::Backend, handle);
    visit(arguments, [&](auto &leaf) {
        using L = std::remove_reference_t<decltype(leaf)>;
        leaf = L::steal(
            static_cast<typename L::Ref>(ad_var_call_input(handle, leaf.ref())));
    });
    const auto trace = [&](Class *instance) {
        auto result = std::apply(
            [&](auto &...args) { return invoke(function, instance, args...); },
            arguments);
        const std::vector<uint64_t> outputs = refs(result);
        recording.call([&] {
            return ad_var_call_append(handle, outputs.size(), outputs.data());
        });
        return result;
    };
    auto result = trace(instances.pointers[0]);
    for (size_t i = 1; i < instances.pointers.size(); ++i)
        trace(instances.pointers[i]);
    std::vector<uint64_t> results = refs(result);
    recording.call([&] {
        return ad_var_call(handle, self.index(), uint32_t(instances.ids.size()),
                           instances.ids.data(), nullptr, results.data());
    });
    recording.close();
    adopt(result, results);
    return result;
}

/* Sort lanes by instance, and call each with its lanes. */
template <typename Ptr, typename Class, typename Function, typename... Args>
auto dispatch_evaluated(const Ptr &self, const Instances<Class> &instances,
                        Function &function, const std::tuple<Args...> &arguments) {
    using UInt32 = JitArray<Ptr::Backend, uint32_t>;
    using Result = decltype(invoke(function, std::declval<Class *&>(),
                                   std::declval<Args &>()...));
    struct Buckets {
        JitCallBucket *data = nullptr;
        uint32_t count = 0;
        ~Buckets() { c::jit_var_call_release(data, count); }
    } buckets;
    jit_var_call_reduce(Ptr::variant(), Class::Domain, 0, self.index(), 0,
                        &buckets.data, &buckets.count);
    size_t size = self.size();
    visit(arguments, [&](auto &leaf) { size = std::max(size, leaf.size()); });
    Result result;
    bool first = true;
    const auto call = [&](Class *instance, const UInt32 *lanes) {
        std::tuple<Args...> inputs(arguments);
        if (lanes)
            visit(inputs, [&](auto &leaf) {
                if (leaf.size() > 1)
                    leaf = gather(leaf, *lanes);
            });
        Result part = std::apply(
            [&](auto &...args) { return invoke(function, instance, args...); }, inputs);
        if (first) {
            result = part;
            visit(result, [&](auto &leaf) {
                leaf = zeros<std::remove_reference_t<decltype(leaf)>>(size);
            });
            first = false;
        }
        if (lanes)
            visit_both(result, part, [&](auto &leaf, const auto &value) {
                scatter(leaf, value, *lanes);
            });
    };
    for (uint32_t i = 0; i < buckets.count; ++i) {
        const UInt32 lanes = UInt32::borrow(buckets.data[i].index);
        call(static_cast<Class *>(buckets.data[i].ptr), &lanes);
    }
    if (first) { /* no lane has one: nothing happens, and the results are zeros */
        const JitArray<Ptr::Backend, bool> never(false);
        jit_var_mask_push(Ptr::Backend, never.index());
        call(instances.pointers[0], nullptr);
        jit_var_mask_pop(Ptr::Backend);
    }
    return result;
}

} /* namespace detail */

/** function(instance, arguments...) in each lane with the lane's instance: every
 *  instance of the domain is traced, or without JitFlag::SymbolicCalls called with its
 *  lanes. Arguments and result are arrays, or values that have some, or the result is
 *  void; 0 in lanes without an instance. An Error if the domain has no instances. */
template <typename F, JitBackend B, typename Class, typename Function, typename... Args>
auto dispatch(const BasicArray<F, B, Class *> &self, Function &&function,
              const Args &...arguments) {
    const detail::Instances<Class> instances(BasicArray<F, B, Class *>::variant());
    std::tuple<Args...> inputs(arguments...);
    if (jit_flag(JitFlag::SymbolicCalls))
        return detail::dispatch_symbolic(self, instances, function, std::move(inputs));
    return detail::dispatch_evaluated(self, instances, function, inputs);
}

} /* namespace drjit */

#endif /* DRJIT_CALL_H */
