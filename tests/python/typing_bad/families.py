"""Operations on families of array types that give others than these lines say."""

from drjit import llvm
from drjit.llvm import ad

a = ad.Array3f(1, 2, 3)
x = llvm.Float(1)

plain: llvm.Array3f = a + 1  # error
lower: llvm.Array3f = a * llvm.Array3f(1)  # error
leaf: llvm.Float = x * ad.Float(1)  # error
mask: llvm.Bool = x < ad.Float(1)  # error
component: llvm.Float = a.x  # error
generator: llvm.PCG32 = ad.PCG32()  # error
ad.NoSuchType  # error
fine: ad.Float = x * ad.Float(1)
