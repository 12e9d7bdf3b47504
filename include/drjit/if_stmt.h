/*
 * drjit/if_stmt.h -- conditionals of which each lane executes one side (C++17)
 *
 *     Float y = if_stmt(std::make_tuple(x), x > 0.f,
 *                       [](const Float &x) { return sqrt(x); },
 *                       [](const Float &x) { return -x; });
 */
#ifndef DRJIT_IF_STMT_H
#define DRJIT_IF_STMT_H

#include <drjit/region.h>

namespace drjit {

/** on_true(arguments...) in lanes where the condition is set, on_false(arguments...) in
 *  the others. Both return one value of the same type: an array, or anything that has
 *  some. What they write to memory, lanes of that side write. A condition of type bool:
 *  one of them is called. Errors of either function end the conditional. */
template <typename... Args, typename Mask, typename True, typename False>
auto if_stmt(const std::tuple<Args...> &arguments, const Mask &condition,
             True &&on_true, False &&on_false, const char *name = "if_stmt") {
    using Result = std::decay_t<decltype(std::apply(on_true, arguments))>;
    static_assert(
        std::is_same_v<Result, std::decay_t<decltype(std::apply(on_false, arguments))>>,
        "if_stmt: both functions return the same type");
    if constexpr (std::is_same_v<Mask, bool>) {
        return condition ? std::apply(on_true, arguments)
                         : std::apply(on_false, arguments);
    } else {
        const uint32_t handle = ad_var_cond_start(name, condition.index());
        detail::Recording recording(detail::backend_of<Mask>, handle);
        Result result = std::apply(on_true, arguments);
        std::vector<uint64_t> outputs = detail::refs(result);
        recording.call([&] {
            return ad_var_cond_append(handle, outputs.size(), outputs.data());
        });
        const Result other = std::apply(on_false, arguments);
        outputs = detail::refs(other);
        recording.call([&] {
            return ad_var_cond_append(handle, outputs.size(), outputs.data());
        });
        recording.call([&] { return ad_var_cond_end(handle, outputs.data()); });
        recording.close();
        detail::adopt(result, outputs);
        return result;
    }
}

} /* namespace drjit */

#endif /* DRJIT_IF_STMT_H */
