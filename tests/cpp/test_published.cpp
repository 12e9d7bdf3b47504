/*
 * test_published.cpp -- programs for the published headers compile, and do what they
 * say
 *
 * Names of all enumerations, the C interface with exceptions, the members of arrays,
 * and two complete programs: the one that the core library's document shows for the C++
 * wrapper, and the volume of a sphere by Monte Carlo integration.
 */
#include <drjit-core/array.h>
#include <drjit-core/llvm.h>
#include <drjit/array.h>
#include <drjit/autodiff.h>
#include <drjit/random.h>

#include "check.h"

#include <csignal>
#include <iostream>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

using Bool   = LLVMArray<bool>;
using Float  = LLVMArray<float>;
using Int32  = LLVMArray<int32_t>;
using UInt32 = LLVMArray<uint32_t>;

/* ------------------------------------------------------------------- names */

/* Scoped enumerators, and the constants with the names of C. */
#define NAME(E, name) static_assert(E::name == E##name, "");
#define NAMES_1(E, a) NAME(E, a)
#define NAMES_2(E, a, b) NAME(E, a) NAME(E, b)
#define NAMES_4(E, a, b, c, d) NAMES_2(E, a, b) NAMES_2(E, c, d)
#define NAMES_8(E, a, b, c, d, e, f, g, h) NAMES_4(E, a, b, c, d) NAMES_4(E, e, f, g, h)
NAMES_4(JitBackend, None, CUDA, LLVM, Metal)
NAMES_1(JitBackend, Count)
NAMES_8(LogLevel, Disable, Error, Warn, Info, InfoSym, Debug, Trace, None)
NAMES_8(VarType, Void, Bool, BaseInt, Int8, UInt8, Int16, UInt16, Int32)
NAMES_8(VarType, UInt32, Int64, UInt64, Pointer, BaseFloat, Float16, Float32, Float64)
NAMES_1(VarType, Count)
NAMES_8(JitOp, Neg, Not, Sqrt, Abs, Add, Sub, Mul, Div)
NAMES_8(JitOp, Mod, MulHi, MulWide, Fma, Min, Max, FMin, FMax)
NAMES_8(JitOp, Copysign, Ceil, Floor, Round, Trunc, Eq, Neq, Lt)
NAMES_8(JitOp, Le, Gt, Ge, Select, Popc, Clz, Ctz, Brev)
NAMES_8(JitOp, And, Or, Xor, Shl, Shr, Rcp, Rsqrt, Sin)
NAMES_4(JitOp, Cos, Exp2, Log2, Tanh)
NAMES_2(JitOp, Step, Count)
NAMES_8(ReduceOp, Identity, Add, Mul, Min, Max, And, Or, Count)
NAMES_4(ReduceMode, Auto, Direct, Local, NoConflicts)
NAMES_2(ReduceMode, Expand, Permute)
NAMES_8(VarState, Invalid, Undefined, Literal, Unevaluated, Evaluated, Dirty, Symbolic,
        Mixed)
NAMES_8(JitFlag, Debug, ReuseIndices, ConstantPropagation, FastMath, ValueNumbering,
        SymbolicLoops, OptimizeLoops, CompressLoops)
NAMES_8(JitFlag, SymbolicCalls, OptimizeCalls, MergeFunctions, SymbolicConditionals,
        PacketOps, ForceOptiX, PrintIR, KernelHistory)
NAMES_8(JitFlag, LaunchBlocking, ForbidSynchronization, ScatterReduceLocal,
        SymbolicScope, KernelFreezing, FreezingScope, EnableObjectTraversal,
        ShaderExecutionReordering)
NAMES_8(JitFlag, SpillToSharedMemory, LoopRecord, LoopOptimize, VCallRecord,
        VCallDeduplicate, VCallOptimize, Recording, Default)
NAMES_4(AllocType, Host, HostAsync, HostPinned, Device)
NAMES_4(KernelType, JIT, Memcpy, HostFunc, Dot)
NAMES_8(KernelType, BlockReduce, BlockPrefixReduce, BatchedGemm, Compress, MkPerm,
        Memset, Poke, Aggregate)
NAMES_2(KernelRecordingMode, Recorded, Replayed)
NAMES_1(KernelRecordingMode, Inactive)
NAMES_2(MatrixLayout, RowMajor, InferencingOptimal)
NAMES_1(MatrixLayout, TrainingOptimal)
NAMES_2(ADMode, Forward, Backward)
NAMES_4(ADFlag, ClearEdges, ClearInput, ClearInterior, Default)

static_assert(uint32_t(JitBackend::CUDA) == 1 && uint32_t(JitBackend::LLVM) == 2, "");
static_assert(uint32_t(JitFlagDefault & JitFlag::Debug) == 0, "");
static_assert((uint32_t(JitFlagDefault) & uint32_t(JitFlag::SymbolicLoops)) != 0, "");
static_assert(std::is_same_v<jit::half, drjit::half>, "");
static_assert(std::is_same_v<drjit::mask_t<Float>, Bool>, "");
static_assert(std::is_same_v<decltype(Float().str()), std::string>, "");

/* ------------------------------------------------------------- C interface */

static void test_c_interface() {
    current = "C interface";
    CHECK(jit_init((uint32_t) JitBackend::LLVM));
    CHECK(jit_init(JitBackend::LLVM) && jit_init(JitBackendLLVM) && jit_init(2));
    if (!jit_has_backend(JitBackend::CUDA))
        CHECK(throws("CUDA", [] { jit_init(JitBackend::CUDA | JitBackend::LLVM); }));
    jit_set_log_level_stderr(LogLevel::Warn);
    CHECK(jit_log_level_stderr() == LogLevelWarn);
    jit_set_flag(JitFlag::Debug, 1);
    CHECK(jit_flag(JitFlag::Debug) && (jit_flags() & JitFlag::Debug));
    jit_set_flag(JitFlagDebug, 0);
    jit_set_flags(JitFlag::Default);
    CHECK(jit_flags() == (uint32_t) JitFlagDefault);

    /* 0.5 plus a counter, step by step. */
    uint32_t v0 = jit_var_f32(JitBackend::LLVM, .5f);
    uint32_t v1 = jit_var_new_counter(/* backend = */ JitBackendLLVM, /* size = */ 10);
    uint32_t v2 = jit_var_new_cast(/* index = */ v1, /* target_type = */ VarTypeFloat32,
                                   /* reinterpret = */ 0);
    uint32_t v3 = jit_var_new_op_2(JitOpAdd, v0, v2);
    const uint32_t operands[] = { v3, v3 };
    uint32_t v4 = jit_var_op(JitOp::Mul, operands);
    CHECK(jit_var_type(v3) == VarType::Float32);
    CHECK(jit_var_state(v0) == VarState::Literal);
    CHECK(std::string(jit_var_str(v3)) ==
          "[0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5]");
    float square = 0;
    jit_var_read(v4, 9, &square);
    CHECK(square == 9.5f * 9.5f);

    /* What fails throws, and the next call is a call like any other. */
    CHECK(throws("jit_var_read", [&] { jit_var_read(v4, 10, &square); }));
    CHECK(throws("jit_var_add", [&] { jit_var_add(v1, v2); }));
    CHECK(throws("jit_var_add", [&] { jit_var_add(v1, 0); }));
    CHECK(throws("", [&] { jit_var_eval(0xfffffff0u); }));
    CHECK(!jit_var_schedule(v0));                /* nothing to do is no error */
    CHECK(jit_registry_id(&square) == 0);
    CHECK(drjit::c::jit_var_add(v1, v2) == 0);   /* the function of C: an error value */
    CHECK(drjit::c::jit_error() == JIT_ERROR_ARGUMENT);
    CHECK(jit_malloc_device(nullptr) == -1);     /* an old error is not thrown again */

    /* 0 below, 1 from there on: as select(x < 2, 0, 1). */
    uint32_t two = jit_var_f32(JitBackend::LLVM, 2.5f);
    const uint32_t both[] = { v3, two };
    uint32_t v5 = jit_var_op(JitOp::Step, both);
    CHECK(jit_var_type(v5) == VarType::Float32);
    CHECK(std::string(jit_var_str(v5)) == "[0, 0, 1, 1, 1, 1, 1, 1, 1, 1]");

    for (uint32_t index : { v0, v1, v2, v3, v4, v5, two })
        jit_var_dec_ref_ext(index);

    void *memory = jit_malloc(AllocType::Host, 100);
    CHECK(memory != nullptr);
    jit_free(memory);
    if (!jit_has_backend(JitBackend::CUDA))
        CHECK(throws("", [] { jit_malloc(AllocType::Device, 100); }));
}

static void test_raise() {
    current = "jit_raise, jit_fail";
    CHECK(throws("number 7 of 9", [] { jit_raise("number %d of %s", 7, "9"); }));
    try {
        jit_raise("%s", std::string(5000, 'x').c_str());
    } catch (const std::runtime_error &error) {
        CHECK(std::string(error.what()).size() == 5000);
    }
    int ends[2];
    CHECK(pipe(ends) == 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 2);
        signal(SIGABRT, SIG_DFL);
        jit_fail("cannot go on with %d", 42);
    }
    close(ends[1]);
    char text[200] = "";
    const ssize_t length = read(ends[0], text, sizeof(text) - 1);
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    CHECK(length > 0 && std::string(text).find("cannot go on with 42") !=
                            std::string::npos);
}

/* ------------------------------------------------------------------ arrays */

static void test_members() {
    current = "members";
    Float x(1, 4, 9);
    CHECK(x.size() == 3 && x.valid() && !Float().valid() && x.index() != 0);
    CHECK(x.read(1) == 4.f && x.data()[2] == 9.f && *x.index_ptr() == x.index());
    x.write(0, 16);
    CHECK(x.str() == "[16, 4, 9]");
    std::ostringstream stream;
    stream << sqrt(x) << (x == 4.f);
    CHECK(stream.str() == "[4, 2, 3][False, True, False]");
    x.set_label("x");
    CHECK(std::string(x.label()) == "x");
    Float y = Float::steal(jit_var_add(x.index(), x.index()));
    const Float z = Float::borrow(y.index());
    CHECK(jit_var_ref(y.index()) == 2 && all(eq(y, z)) && none(neq(y, z)));
    CHECK(UInt32::counter(3).str() == "[0, 1, 2]");
    CHECK(hsum(x)[0] == 29 && hmul(x)[0] == 576 && hmin(x)[0] == 4 && hmax(x)[0] == 16);
    CHECK(fmadd(x, 2.f, 1.f)[0] == 33.f && max(x, 5.f)[1] == 5.f && abs(-x)[2] == 9.f);
    CHECK(any(x > 9.f) && !all(x > 9.f) && count(x > 5.f)[0] == 2);
    CHECK(block_sum(arange<UInt32>(6), 3).str() == "[3, 12]");
    CHECK(block_prefix_sum(UInt32(1, 2, 3, 4), 2).str() == "[0, 1, 0, 3]");
    CHECK(reverse(x)[0] == 9.f && x.opaque_width()[0] == 3);
    Float literal = 3.f;
    literal.make_opaque();
    CHECK(jit_var_state(literal.index()) == VarState::Evaluated);
    literal.resize(4);
    CHECK(literal.size() == 4);
    const uint32_t index = y.release();
    CHECK(!y.valid());
    jit_var_dec_ref(index);

    UInt32 counters = zeros<UInt32>(2);
    scatter_reduce(ReduceOp::Add, counters, UInt32(5u), UInt32(1u));
    scatter(counters, UInt32(3u), UInt32(0u));
    UInt32 before = scatter_inc(counters, UInt32(0u));
    CHECK(before[0] == 3 && counters.str() == "[4, 5]");

    /* An integer and a float are a float; an array keeps its precision. */
    CHECK((UInt32(1, 2) / 4.f).str() == "[0.25, 0.5]");
    CHECK((Float(1, 2) * 2.5)[1] == 5.f && (7 / UInt32(2u))[0] == 3);
    static_assert(std::is_same_v<decltype(Float() * 2.5), Float>, "");
    static_assert(std::is_same_v<decltype(UInt32() * 2.5), LLVMArray<double>>, "");
}

/* A class of a program that is an array, and looks at the index itself. */
struct Derived : Float {
    using Float::Float;
    uint32_t raw() const { return m_index; }
};

/* Each member and function of the list that test_members() does not spell. */
static void test_functions() {
    current = "functions";
    const float numbers[] = { -1.5f, 2.5f, 0.25f };
    Float x = Float::copy(numbers, 3);
    CHECK(abs(x).str() == "[1.5, 2.5, 0.25]" && ceil(x).str() == "[-1, 3, 1]");
    CHECK(floor(x).str() == "[-2, 2, 0]" && round(x).str() == "[-2, 2, 0]");
    CHECK(trunc(x).str() == "[-1, 2, 0]" && copysign(2.f, x).str() == "[-2, 2, 2]");
    CHECK(min(x, 0.f).str() == "[-1.5, 0, 0]" && max(x, 0.f).str() == "[0, 2.5, 0.25]");
    CHECK(select(x < 0.f, -x, x).str() == abs(x).str() && !none(x < 0.f));
    CHECK(all(eq(x, x)) && any(neq(x, 2.5f)));
    alignas(64) float memory[] = { 1, 2, 3 };
    const Float mapped = Float::map(memory, 3);
    CHECK(mapped.data() == memory && map<Float>(memory, 3)[2] == 3);

    UInt32 target = empty<UInt32>(3);
    scatter(target, UInt32(7, 8, 9), UInt32(2, 0, 1));
    CHECK(target.str() == "[8, 9, 7]" && gather(target, UInt32(0u)).str() == "[8]");
    CHECK(full<Float>(2, 2).str() == "[2, 2]" && zeros<Float>(2).str() == "[0, 0]");
    CHECK(linspace<Float>(0, 1, 3).str() == "[0, 0.5, 1]");
    Float unknown = opaque<Float>(3);
    CHECK(jit_var_state(unknown.index()) != VarState::Literal && unknown[0] == 3);
    const UInt32 width = x.opaque_width_();
    CHECK(width[0] == 3 && jit_var_state(width.index()) != VarState::Literal);
    Float y = x + 1.f;
    CHECK(y.schedule());
    y.eval();
    CHECK(jit_var_state(y.index()) == VarState::Evaluated && !y.schedule());

    Derived derived(1, 2);
    CHECK(derived.raw() == derived.index() && derived.raw() != 0);
}

/* Every operator, and every one that assigns, against those of C++. */
#define OPERATOR(sign)                                                                 \
    CHECK((a sign b)[0] == (12u sign 5u) && (a sign 5u)[0] == (12u sign 5u) &&         \
          (12u sign b)[0] == (12u sign 5u));                                           \
    c = a;                                                                             \
    c sign##= b;                                                                       \
    CHECK(c[0] == (12u sign 5u) && a[0] == 12u);
#define COMPARISON(sign)                                                               \
    CHECK((a sign b)[0] == (12u sign 5u) && (a sign 12u)[0] == (12u sign 12u) &&       \
          (4u sign b)[0] == (4u sign 5u));
static void test_operators() {
    current = "operators";
    const UInt32 a = opaque<UInt32>(12), b = opaque<UInt32>(5);
    UInt32 c;
    OPERATOR(+) OPERATOR(-) OPERATOR(*) OPERATOR(/) OPERATOR(%)
    OPERATOR(<<) OPERATOR(>>) OPERATOR(&) OPERATOR(|) OPERATOR(^)
    COMPARISON(==) COMPARISON(!=) COMPARISON(<) COMPARISON(<=) COMPARISON(>)
    COMPARISON(>=)
    const Bool yes = opaque<Bool>(true), no = opaque<Bool>(false);
    CHECK((yes && no)[0] == false && (yes || no)[0] == true && (!no)[0] == true);
    CHECK((yes && true)[0] == true && (false || no)[0] == false);
    CHECK((~a)[0] == ~12u && (-Int32(4))[0] == -4);
}

/* Of the core library's document. */
static void test_core_program() {
    current = "core program";
    // 101 numbers from 0 to 1: [0, 0.01, 0.02, ..., 1]
    Float x = linspace<Float>(0, 1, 101);

    // [0, 2, 4, 8, .., 98]
    UInt32 index = arange<UInt32>(50) * 2;

    // The same as "y = x[index]"
    Float y = gather(x, index);

    /// A comparison gives a mask
    Bool mask = x < .5f;

    // The conditional operator
    Float z = select(mask, sqrt(x), 1.f / x);

    CHECK(near(y, 50, 1e-6, [](size_t i) { return double(i) / 50; }));
    CHECK(near(z, 101, 1e-5, [](size_t i) {
        const double t = double(i) / 100;
        return i < 50 ? std::sqrt(t) : 1 / t;
    }));
    CHECK(z.str().substr(0, 8) == "[0, 0.1,");
}

/* Of the document on arrays of GPUs, here on the CPU. */
namespace monte_carlo {

using namespace drjit;

using FloatC    = LLVMArray<float>;
using Vector3fC = Array<FloatC, 3>;
using PCG32C    = PCG32<FloatC>;
using MaskC     = mask_t<FloatC>;

static void test() {
    current = "Monte Carlo program";
    PCG32C rng(PCG32_DEFAULT_STATE, arange<FloatC>(1000000));

    Vector3fC v(
        rng.next_float32() * 2.f - 1.f,
        rng.next_float32() * 2.f - 1.f,
        rng.next_float32() * 2.f - 1.f
    );

    MaskC inside = norm(v) < 1.f;

    std::ostringstream out;
    out << count(inside) / (float) inside.size() << std::endl;

    /* pi / 6, four standard deviations of the mean of a million samples: 0.002. */
    const double found = std::stod(out.str().substr(1));
    CHECK(std::fabs(found - 3.14159265358979 / 6) < .002);

    /* any_or and its kin do not evaluate arrays of the JIT. */
    CHECK(any_or<true>(inside) && !all_or<false>(inside) && none_or<true>(inside));
    const drjit::Array<float, 2> numbers(1.f, 3.f);
    CHECK(any_or<false>(numbers > 2.f) && !all_or<true>(numbers > 2.f));
}

} /* namespace monte_carlo */

static void test_all() {
    test_c_interface();
    test_raise();
    test_members();
    test_functions();
    test_operators();
    test_core_program();
    monte_carlo::test();
}

int main() { return run_tests("test_published", test_all); }
