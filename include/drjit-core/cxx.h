/*
 * drjit-core/cxx.h -- what C++ programs have beside the functions of C (C++11)
 *
 * A part of drjit-core/jit.h in C++: errors as exceptions, jit_raise(), jit_fail(), and
 * jit_malloc() by kind of memory. The functions of checked_*.inc throw a drjit::Error.
 */
#ifndef DRJIT_CORE_CXX_H
#define DRJIT_CORE_CXX_H

#include <drjit-core/types.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

JIT_C_BEGIN
/* Those of jit.h, which includes this. */
JIT_EXPORT int jit_error(void);
JIT_EXPORT const char *jit_error_message(void);
JIT_EXPORT void jit_error_clear(void);
JIT_C_END

#if defined(__GNUC__)
#  define JIT_COLD __attribute__((cold, noinline))
#else
#  define JIT_COLD
#endif

namespace drjit {

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

namespace detail {

/* Turn the calling thread's error record into an exception. Out of line, so that a call
 * in a program is a call, a comparison and a branch that is not taken. */
[[noreturn]] JIT_COLD inline void raise()
{
    throw Error(static_cast<JitError>(c::jit_error()), c::jit_error_message());
}
JIT_COLD inline void raise_if_any()
{
    if (c::jit_error() != JIT_OK)
        raise();
}

/* Between the two, the error record is that of one call. */
inline void begin()
{
    c::jit_error_clear();
}

/* Results that functions of C return with errors are 0, NULL, false, and -1 of the
 * type; all but the last can also be results without an error. */
template <typename R> R end(R result)
{
    if (result == R(0) || result == R(-1))
        raise_if_any();
    return result;
}
template <typename R> R *end(R *result)
{
    if (!result)
        raise_if_any();
    return result;
}
inline bool end(bool result)
{
    if (!result)
        raise_if_any();
    return result;
}
inline double end(double result)
{
    if (!(result > 0))
        raise_if_any();
    return result;
}

/* The result of a function that returns 0 only with an error, which it has recorded:
 * then the record is that of this call in any case. */
template <typename R> R sure(R result)
{
    if (!result)
        raise();
    return result;
}

inline std::string format(const char *text, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    const int length = std::vsnprintf(nullptr, 0, text, again);
    va_end(again);
    std::string result(length > 0 ? static_cast<size_t>(length) : 0, '\0');
    if (length > 0)
        std::vsnprintf(&result[0], result.size() + 1, text, arguments);
    return result;
}

} /* namespace detail */

} /* namespace drjit */

/** Kinds of memory, as C++ programs name them. The first two are the CPU's. */
#define JIT_ALLOC_TYPE_LIST(X, E) \
    X(E, Host, 0) X(E, HostAsync, 1) X(E, HostPinned, 2) X(E, Device, 3) X(E, Count, 4)
JIT_ENUM(AllocType, JIT_ALLOC_TYPE_LIST)

/** Throw a drjit::Error with code JIT_ERROR_STATE and this message, as printf() makes
 *  it. */
[[noreturn]] JIT_PRINTF(1, 2) inline void jit_raise(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const std::string message = drjit::detail::format(format, arguments);
    va_end(arguments);
    throw drjit::Error(JIT_ERROR_STATE, message);
}

/** Write this message to stderr and abort: for what must not happen. */
[[noreturn]] JIT_PRINTF(1, 2) inline void jit_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const std::string message = drjit::detail::format(format, arguments);
    va_end(arguments);
    std::fprintf(stderr, "critical failure: %s\n", message.c_str());
    std::abort();
}

#endif /* DRJIT_CORE_CXX_H */
