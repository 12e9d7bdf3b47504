/*
 * native_engine.h -- machine code for x86-64, made in microseconds
 */
#ifndef ENGINE_NATIVE_CORE_NATIVE_ENGINE_H
#define ENGINE_NATIVE_CORE_NATIVE_ENGINE_H

#include "engine/engine.h"

extern const Engine native_engine;

#endif
