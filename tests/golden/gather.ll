declare <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr>, i32, <8 x i1>, <8 x float>)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, i32, <8 x i1>)
@zero = internal constant i64 0, align 8
define internal void @store_part(ptr %to, ptr %from, i64 %size) noinline cold #0 {
entry:
  br label %byte
byte:
  %i = phi i64 [ 0, %entry ], [ %next, %byte ]
  %a = getelementptr i8, ptr %from, i64 %i
  %x = load i8, ptr %a, align 1
  %b = getelementptr i8, ptr %to, i64 %i
  store i8 %x, ptr %b, align 1
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %size
  br i1 %more, label %byte, label %exit
exit:
  ret void
}
define void @drjit_00000000000056780000000000001234(i32 %begin, i32 %end, i32 %worker, ptr %args, ptr %scratch) #0 {
entry:
  %begin64 = zext i32 %begin to i64
  %end64 = zext i32 %end to i64
  %part0 = alloca [64 x i8], align 64
  %slot1 = getelementptr i64, ptr %args, i64 1
  %in1 = load ptr, ptr %slot1, align 8, !invariant.load !0
  %slot2 = getelementptr i64, ptr %args, i64 2
  %out2 = load ptr, ptr %slot2, align 8, !invariant.load !0
  %slot4 = getelementptr i64, ptr %args, i64 4
  %out4 = load ptr, ptr %slot4, align 8, !invariant.load !0
  %zero.e = insertelement <8 x ptr> poison, ptr @zero, i32 0
  %zero.ptrs = shufflevector <8 x ptr> %zero.e, <8 x ptr> poison, <8 x i32> zeroinitializer
  %v0.a = getelementptr i64, ptr %args, i64 0
  %v0 = load i64, ptr %v0.a, align 8, !invariant.load !0
  %v0.ptr = inttoptr i64 %v0 to ptr
  %v5.a = getelementptr i64, ptr %args, i64 3
  %v5 = load i64, ptr %v5.a, align 8, !invariant.load !0
  %v5.ptr = inttoptr i64 %v5 to ptr
  br label %loop
loop:
  %index = phi i64 [ %begin64, %entry ], [ %next, %full ]
  %left = sub i64 %end64, %index
  %whole = icmp uge i64 %left, 8
  %valid = select i1 %whole, i64 8, i64 %left
  %valid32 = trunc i64 %valid to i32
  %active.e = insertelement <8 x i32> poison, i32 %valid32, i32 0
  %active.s = shufflevector <8 x i32> %active.e, <8 x i32> poison, <8 x i32> zeroinitializer
  %active = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %active.s
  %v1.a = trunc i64 %index to i32
  %v1.b = insertelement <8 x i32> poison, i32 %v1.a, i32 0
  %v1.c = shufflevector <8 x i32> %v1.b, <8 x i32> poison, <8 x i32> zeroinitializer
  %v1 = add <8 x i32> %v1.c, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v2.p0 = getelementptr i8, ptr %in1, i64 %index
  %v2.8.0 = load <8 x i8>, ptr %v2.p0, align 1, !invariant.load !0
  %v2 = icmp ne <8 x i8> %v2.8.0, zeroinitializer
  %v3.m = and <8 x i1> %v2, %active
  %v3.p = getelementptr i8, ptr %v0.ptr, i64 8589934592
  %v3.x = xor <8 x i32> %v1, <i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648>
  %v3.y = sext <8 x i32> %v3.x to <8 x i64>
  %v3.g = getelementptr float, ptr %v3.p, <8 x i64> %v3.y
  %v3 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> %v3.g, i32 4, <8 x i1> %v3.m, <8 x float> zeroinitializer)
  %v7.m = and <8 x i1> %active, %active
  %v7.p = getelementptr i8, ptr %v5.ptr, i64 2147483648
  %v7.x = xor <8 x i32> %v1, <i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648>
  %v7.y = sext <8 x i32> %v7.x to <8 x i64>
  %v7.g = getelementptr i8, ptr %v7.p, <8 x i64> %v7.y
  %v7.h = select <8 x i1> %v7.m, <8 x ptr> %v7.g, <8 x ptr> %zero.ptrs
  %v7.p0 = extractelement <8 x ptr> %v7.h, i32 0
  %v7.l0 = load i8, ptr %v7.p0, align 1
  %v7.i0 = insertelement <8 x i8> poison, i8 %v7.l0, i32 0
  %v7.p1 = extractelement <8 x ptr> %v7.h, i32 1
  %v7.l1 = load i8, ptr %v7.p1, align 1
  %v7.i1 = insertelement <8 x i8> %v7.i0, i8 %v7.l1, i32 1
  %v7.p2 = extractelement <8 x ptr> %v7.h, i32 2
  %v7.l2 = load i8, ptr %v7.p2, align 1
  %v7.i2 = insertelement <8 x i8> %v7.i1, i8 %v7.l2, i32 2
  %v7.p3 = extractelement <8 x ptr> %v7.h, i32 3
  %v7.l3 = load i8, ptr %v7.p3, align 1
  %v7.i3 = insertelement <8 x i8> %v7.i2, i8 %v7.l3, i32 3
  %v7.p4 = extractelement <8 x ptr> %v7.h, i32 4
  %v7.l4 = load i8, ptr %v7.p4, align 1
  %v7.i4 = insertelement <8 x i8> %v7.i3, i8 %v7.l4, i32 4
  %v7.p5 = extractelement <8 x ptr> %v7.h, i32 5
  %v7.l5 = load i8, ptr %v7.p5, align 1
  %v7.i5 = insertelement <8 x i8> %v7.i4, i8 %v7.l5, i32 5
  %v7.p6 = extractelement <8 x ptr> %v7.h, i32 6
  %v7.l6 = load i8, ptr %v7.p6, align 1
  %v7.i6 = insertelement <8 x i8> %v7.i5, i8 %v7.l6, i32 6
  %v7.p7 = extractelement <8 x ptr> %v7.h, i32 7
  %v7.l7 = load i8, ptr %v7.p7, align 1
  %v7.i7 = insertelement <8 x i8> %v7.i6, i8 %v7.l7, i32 7
  %v7 = icmp ne <8 x i8> %v7.i7, zeroinitializer
  br i1 %whole, label %full, label %part, !prof !2
full:
  %f4.p = getelementptr float, ptr %out2, i64 %index
  store <8 x float> %v3, ptr %f4.p, align 4
  %f8.z = zext <8 x i1> %v7 to <8 x i8>
  %f8.p = getelementptr i8, ptr %out4, i64 %index
  store <8 x i8> %f8.z, ptr %f8.p, align 1
  %next = add i64 %index, 8
  %more = icmp ult i64 %next, %end64
  br i1 %more, label %loop, label %exit
part:
  %g4.p = getelementptr float, ptr %out2, i64 %index
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v3, ptr %g4.p, i32 4, <8 x i1> %active)
  %g8.z = zext <8 x i1> %v7 to <8 x i8>
  store <8 x i8> %g8.z, ptr %part0, align 64
  %g8.p = getelementptr i8, ptr %out4, i64 %index
  %g8.n = mul i64 %left, 1
  call void @store_part(ptr %g8.p, ptr %part0, i64 %g8.n)
  br label %exit
exit:
  ret void
}
attributes #0 = { nounwind }
!0 = !{}
!1 = !{!"branch_weights", i32 1, i32 10000}
!2 = !{!"branch_weights", i32 10000, i32 1}
