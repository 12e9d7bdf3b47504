/*
 * drjit/region.h -- values that enter and leave recorded code (C++17, header only)
 *
 * A part of while_loop.h, if_stmt.h and call.h.
 */
#ifndef DRJIT_REGION_H
#define DRJIT_REGION_H

#include <drjit/autodiff.h>

namespace drjit {

namespace detail {

/* References of all leaves of a value, as indices of ad.h: borrowed. */
template <typename A> std::vector<uint64_t> refs(const A &value) {
    std::vector<uint64_t> result;
    visit(value, [&](auto &leaf) { result.push_back(leaf.ref()); });
    return result;
}

/* Put references into the leaves of a value, which owns them from then on. */
template <typename A> void adopt(A &value, const std::vector<uint64_t> &refs) {
    size_t i = 0;
    visit(value, [&](auto &leaf) {
        using L = std::remove_reference_t<decltype(leaf)>;
        typename L::Ref ref = static_cast<typename L::Ref>(refs[i++]);
        L::Family::dec(leaf.release());
        *leaf.index_ptr() = ref;
    });
}

/* The backend of a mask, or of an array of instances. */
template <typename A> inline constexpr JitBackend backend_of = A::Backend;

/* Gives up a recording unless it was completed: a function of the program has thrown.
 * (Functions of the library that fail end their recording themselves.) */
struct Recording {
    JitBackend backend;
    uint32_t handle;
    bool open = true;

    Recording(JitBackend where, uint32_t recording)
        : backend(where), handle(recording) { }
    Recording(const Recording &) = delete;
    Recording &operator=(const Recording &) = delete;
    ~Recording() {
        if (open)
            c::ad_record_end(backend, handle, 1);
    }

    /* A call of the library that belongs to the recording. */
    template <typename Function> auto call(Function function) {
        open = false;
        auto result = function();
        open = true;
        return result;
    }
    void close() { open = false; }
};

} /* namespace detail */

} /* namespace drjit */

#endif /* DRJIT_REGION_H */
