/*
 * drjit/math.h -- mathematical functions and constants (C++17, header only)
 *
 * A part of drjit/array.h.
 * The functions are those of drjit-core/ops.h, whose table names them, for arrays of
 * the JIT, nested arrays and numbers; constants are of the type of an array's entries.
 */
#ifndef DRJIT_MATH_H
#define DRJIT_MATH_H

#include <drjit-core/array.h>

namespace drjit {

/** Pi and what is computed with it, e, roots, logarithms. */
template <typename A>
inline constexpr scalar_t<A> Pi = scalar_t<A>(3.14159265358979323846);
template <typename A>
inline constexpr scalar_t<A> TwoPi = scalar_t<A>(6.28318530717958647692);
template <typename A>
inline constexpr scalar_t<A> InvPi = scalar_t<A>(0.31830988618379067154);
template <typename A>
inline constexpr scalar_t<A> E = scalar_t<A>(2.71828182845904523536);
template <typename A>
inline constexpr scalar_t<A> SqrtTwo = scalar_t<A>(1.41421356237309504880);
template <typename A>
inline constexpr scalar_t<A> LogTwo = scalar_t<A>(0.69314718055994530942);
/** Limits of floats: infinity, largest and smallest normal number, half of the distance
 *  from 1 to the next number. */
template <typename A>
inline constexpr scalar_t<A> Infinity = std::numeric_limits<scalar_t<A>>::infinity();
template <typename A>
inline constexpr scalar_t<A> Largest = std::numeric_limits<scalar_t<A>>::max();
template <typename A>
inline constexpr scalar_t<A> Smallest = std::numeric_limits<scalar_t<A>>::min();
template <typename A>
inline constexpr scalar_t<A> Epsilon = std::numeric_limits<scalar_t<A>>::epsilon() / 2;

/** An angle in degrees as one in radians, and back. */
template <typename A> A deg_to_rad(const A &a) { return a * (Pi<A> / 180); }
template <typename A> A rad_to_deg(const A &a) { return a * (180 / Pi<A>); }

} /* namespace drjit */

#endif /* DRJIT_MATH_H */
