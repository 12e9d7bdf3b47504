/*
 * drjit/while_loop.h -- loops of which each lane makes as many turns as it needs
 * (C++17)
 *
 *     auto [i, x] = while_loop(
 *         std::make_tuple(UInt32(0u), Float(1, 2, 3)),
 *         [](auto &i, auto &) { return i < 10; },
 *         [](auto &i, auto &x) { x = x * .5f; i += 1; });
 */
#ifndef DRJIT_WHILE_LOOP_H
#define DRJIT_WHILE_LOOP_H

#include <drjit/region.h>

namespace drjit {

namespace detail {

/* The states of a loop, as the library exchanges them. */
template <typename State> struct LoopState {
    State &state;
    std::vector<uint64_t> indices;

    /* Call the library with the references of the leaves, which get back what it leaves
     * there, also if it throws. */
    template <typename Function> auto exchange(Function function) {
        indices.clear();
        visit(state, [&](auto &leaf) { indices.push_back(leaf.release()); });
        try {
            auto result = function(indices.data());
            adopt(state, indices);
            return result;
        } catch (...) {
            adopt(state, indices);
            throw;
        }
    }
};

template <typename State, typename Body> void run_body(State &state, Body &body) {
    using Result = decltype(std::apply(body, state));
    if constexpr (std::is_void_v<Result>)
        std::apply(body, state);
    else
        state = std::apply(body, state);
}

} /* namespace detail */

/** Repeat 'body(parts of state...)' in each lane while 'condition(parts of state...)'
 *  holds. The state is a tuple of arrays, or of values that have some; the body changes
 *  its references, or returns the next state as a tuple. Returns the last one. All
 *  that the body changes has to be part of the state. The condition is a mask, or a
 *  bool: then this is a loop of C++. 'max_iterations' is for reverse derivatives: a
 *  bound, or one of ADLoopIterations (see ad_var_loop_start()). Errors of either
 *  function end the loop. */
template <typename... States, typename Condition, typename Body>
std::tuple<States...> while_loop(std::tuple<States...> state, Condition &&condition,
                                 Body &&body, const char *name = "while_loop",
                                 int64_t max_iterations = ADLoopUnbounded) {
    using Mask = std::decay_t<decltype(std::apply(condition, state))>;
    if constexpr (std::is_same_v<Mask, bool>) {
        while (std::apply(condition, state))
            detail::run_body(state, body);
    } else {
        constexpr JitBackend backend = detail::backend_of<Mask>;
        detail::LoopState<std::tuple<States...>> loop{ state, {} };
        std::vector<char> tracked;
        detail::visit(state, [&](auto &leaf) {
            using L = std::remove_reference_t<decltype(leaf)>;
            tracked.push_back(is_diff_v<L> && is_floating_point_v<L>);
        });
        const uint32_t handle = loop.exchange([&](uint64_t *states) {
            return ad_var_loop_start(backend, name, max_iterations, tracked.size(),
                                     states,
                                     reinterpret_cast<const bool *>(tracked.data()));
        });
        detail::Recording recording(backend, handle);
        int done = 0;
        while (!done) {
            const Mask active = std::apply(condition, state);
            const int again = recording.call(
                [&] { return ad_var_loop_cond(handle, active.index()); });
            if (again) {
                recording.call([&] {
                    return loop.exchange([&](uint64_t *states) {
                        return ad_var_loop_compress(handle, states);
                    });
                });
                detail::run_body(state, body);
            }
            done = recording.call([&] {
                return loop.exchange([&](uint64_t *states) {
                    return ad_var_loop_end(handle, states);
                });
            });
        }
        recording.close();
    }
    return state;
}

} /* namespace drjit */

#endif /* DRJIT_WHILE_LOOP_H */
