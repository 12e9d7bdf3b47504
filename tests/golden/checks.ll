declare i64 @llvm.cttz.i64(i64, i1)
declare i64 @llvm.ctpop.i64(i64)
@zero = internal constant i64 0, align 8
define internal void @scatter_set_direct_i16(ptr %base, ptr %idx, ptr %val, i64 %mask) noinline #0 {
entry:
  %none = icmp eq i64 %mask, 0
  br i1 %none, label %exit, label %lane
lane:
  %m = phi i64 [ %mask, %entry ], [ %drop, %next ]
  %i = call i64 @llvm.cttz.i64(i64 %m, i1 true)
  %ip = getelementptr i32, ptr %idx, i64 %i
  %n = load i32, ptr %ip, align 4
  %n64 = zext i32 %n to i64
  %p = getelementptr i16, ptr %base, i64 %n64
  %xp = getelementptr i16, ptr %val, i64 %i
  %x = load i16, ptr %xp, align 2
  store i16 %x, ptr %p, align 2
  br label %next
next:
  %less = add i64 %m, -1
  %drop = and i64 %m, %less
  %done = icmp eq i64 %drop, 0
  br i1 %done, label %exit, label %lane
exit:
  ret void
}
define internal void @check_failed(ptr %report, ptr %idx, i64 %mask) noinline cold #0 {
  %wide = call i64 @llvm.ctpop.i64(i64 %mask)
  %number = trunc i64 %wide to i32
  %old = atomicrmw add ptr %report, i32 %number monotonic
  %i = call i64 @llvm.cttz.i64(i64 %mask, i1 true)
  %ip = getelementptr i32, ptr %idx, i64 %i
  %n = load i32, ptr %ip, align 4
  %p = getelementptr i8, ptr %report, i64 4
  store atomic i32 %n, ptr %p monotonic, align 4
  ret void
}
define void @drjit_00000000000056780000000000001234(i32 %begin, i32 %end, i32 %worker, ptr %args, ptr %scratch) #0 {
entry:
  %begin64 = zext i32 %begin to i64
  %end64 = zext i32 %end to i64
  %slot.idx = alloca [64 x i8], align 64
  %slot.val = alloca [64 x i8], align 64
  %slot.cmp = alloca [64 x i8], align 64
  %slot.out = alloca [64 x i8], align 64
  %slot2 = getelementptr i64, ptr %args, i64 2
  %in2 = load ptr, ptr %slot2, align 8, !invariant.load !0
  %slot3 = getelementptr i64, ptr %args, i64 3
  %report = load ptr, ptr %slot3, align 8, !invariant.load !0
  %zero.e = insertelement <8 x ptr> poison, ptr @zero, i32 0
  %zero.ptrs = shufflevector <8 x ptr> %zero.e, <8 x ptr> poison, <8 x i32> zeroinitializer
  %v0.a = getelementptr i64, ptr %args, i64 0
  %v0 = load i64, ptr %v0.a, align 8, !invariant.load !0
  %v0.ptr = inttoptr i64 %v0 to ptr
  %v1.a = getelementptr i64, ptr %args, i64 1
  %v1 = load i64, ptr %v1.a, align 8, !invariant.load !0
  %v1.ptr = inttoptr i64 %v1 to ptr
  %v4.p = getelementptr i8, ptr %report, i64 0
  %v4.q = getelementptr i8, ptr %v4.p, i64 8
  %v4.o = load i64, ptr %v4.q, align 8
  %v4.z = icmp ne i64 %v4.o, 0
  %v4.j = add i64 %v4.o, -1
  %v4.k = icmp ult i64 %v4.j, 4294967295
  %v4.s = select i1 %v4.k, i64 %v4.j, i64 4294967295
  %v4.i = trunc i64 %v4.s to i32
  %v4.ie = insertelement <8 x i32> poison, i32 %v4.i, i32 0
  %v4.is = shufflevector <8 x i32> %v4.ie, <8 x i32> poison, <8 x i32> zeroinitializer
  %v4.ze = insertelement <8 x i1> poison, i1 %v4.z, i32 0
  %v4.zs = shufflevector <8 x i1> %v4.ze, <8 x i1> poison, <8 x i32> zeroinitializer
  %v6.p = getelementptr i8, ptr %report, i64 16
  %v6.q = getelementptr i8, ptr %v6.p, i64 8
  %v6.o = load i64, ptr %v6.q, align 8
  %v6.z = icmp ne i64 %v6.o, 0
  %v6.j = add i64 %v6.o, -1
  %v6.k = icmp ult i64 %v6.j, 4294967295
  %v6.s = select i1 %v6.k, i64 %v6.j, i64 4294967295
  %v6.i = trunc i64 %v6.s to i32
  %v6.ie = insertelement <8 x i32> poison, i32 %v6.i, i32 0
  %v6.is = shufflevector <8 x i32> %v6.ie, <8 x i32> poison, <8 x i32> zeroinitializer
  %v6.ze = insertelement <8 x i1> poison, i1 %v6.z, i32 0
  %v6.zs = shufflevector <8 x i1> %v6.ze, <8 x i1> poison, <8 x i32> zeroinitializer
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
  %v2.p0 = getelementptr i32, ptr %in2, i64 %index
  %v2 = load <8 x i32>, ptr %v2.p0, align 4, !invariant.load !0
  %l3.0.e = insertelement <8 x i1> poison, i1 true, i32 0
  %l3.0 = shufflevector <8 x i1> %l3.0.e, <8 x i1> poison, <8 x i32> zeroinitializer
  %v4.c = icmp ule <8 x i32> %v2, %v4.is
  %v4.d = and <8 x i1> %v4.c, %v4.zs
  %v4 = and <8 x i1> %v4.d, %l3.0
  %v4.e = xor <8 x i1> %v4, %l3.0
  %v4.f = and <8 x i1> %v4.e, %active
  %v4.n = bitcast <8 x i1> %v4.f to i8
  %v4.b = zext i8 %v4.n to i64
  %v4.t = icmp ne i64 %v4.b, 0
  br i1 %v4.t, label %fail4, label %b1, !prof !1
fail4:
  store <8 x i32> %v2, ptr %slot.idx, align 64
  call void @check_failed(ptr %v4.p, ptr %slot.idx, i64 %v4.b)
  br label %b1
b1:
  %v5.m = and <8 x i1> %v4, %active
  %v5.p = getelementptr i8, ptr %v1.ptr, i64 4294967296
  %v5.x = xor <8 x i32> %v2, <i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648>
  %v5.y = sext <8 x i32> %v5.x to <8 x i64>
  %v5.g = getelementptr i16, ptr %v5.p, <8 x i64> %v5.y
  %v5.h = select <8 x i1> %v5.m, <8 x ptr> %v5.g, <8 x ptr> %zero.ptrs
  %v5.p0 = extractelement <8 x ptr> %v5.h, i32 0
  %v5.l0 = load i16, ptr %v5.p0, align 2
  %v5.i0 = insertelement <8 x i16> poison, i16 %v5.l0, i32 0
  %v5.p1 = extractelement <8 x ptr> %v5.h, i32 1
  %v5.l1 = load i16, ptr %v5.p1, align 2
  %v5.i1 = insertelement <8 x i16> %v5.i0, i16 %v5.l1, i32 1
  %v5.p2 = extractelement <8 x ptr> %v5.h, i32 2
  %v5.l2 = load i16, ptr %v5.p2, align 2
  %v5.i2 = insertelement <8 x i16> %v5.i1, i16 %v5.l2, i32 2
  %v5.p3 = extractelement <8 x ptr> %v5.h, i32 3
  %v5.l3 = load i16, ptr %v5.p3, align 2
  %v5.i3 = insertelement <8 x i16> %v5.i2, i16 %v5.l3, i32 3
  %v5.p4 = extractelement <8 x ptr> %v5.h, i32 4
  %v5.l4 = load i16, ptr %v5.p4, align 2
  %v5.i4 = insertelement <8 x i16> %v5.i3, i16 %v5.l4, i32 4
  %v5.p5 = extractelement <8 x ptr> %v5.h, i32 5
  %v5.l5 = load i16, ptr %v5.p5, align 2
  %v5.i5 = insertelement <8 x i16> %v5.i4, i16 %v5.l5, i32 5
  %v5.p6 = extractelement <8 x ptr> %v5.h, i32 6
  %v5.l6 = load i16, ptr %v5.p6, align 2
  %v5.i6 = insertelement <8 x i16> %v5.i5, i16 %v5.l6, i32 6
  %v5.p7 = extractelement <8 x ptr> %v5.h, i32 7
  %v5.l7 = load i16, ptr %v5.p7, align 2
  %v5 = insertelement <8 x i16> %v5.i6, i16 %v5.l7, i32 7
  %l3.1.e = insertelement <8 x i1> poison, i1 true, i32 0
  %l3.1 = shufflevector <8 x i1> %l3.1.e, <8 x i1> poison, <8 x i32> zeroinitializer
  %v6.c = icmp ule <8 x i32> %v2, %v6.is
  %v6.d = and <8 x i1> %v6.c, %v6.zs
  %v6 = and <8 x i1> %v6.d, %l3.1
  %v6.e = xor <8 x i1> %v6, %l3.1
  %v6.f = and <8 x i1> %v6.e, %active
  %v6.n = bitcast <8 x i1> %v6.f to i8
  %v6.b = zext i8 %v6.n to i64
  %v6.t = icmp ne i64 %v6.b, 0
  br i1 %v6.t, label %fail6, label %b2, !prof !1
fail6:
  store <8 x i32> %v2, ptr %slot.idx, align 64
  call void @check_failed(ptr %v6.p, ptr %slot.idx, i64 %v6.b)
  br label %b2
b2:
  %v7.m = and <8 x i1> %v6, %active
  store <8 x i16> %v5, ptr %slot.val, align 64
  store <8 x i32> %v2, ptr %slot.idx, align 64
  %v7.n = bitcast <8 x i1> %v7.m to i8
  %v7.b = zext i8 %v7.n to i64
  call void @scatter_set_direct_i16(ptr %v0.ptr, ptr %slot.idx, ptr %slot.val, i64 %v7.b)
  br i1 %whole, label %full, label %part, !prof !2
full:
  %next = add i64 %index, 8
  %more = icmp ult i64 %next, %end64
  br i1 %more, label %loop, label %exit
part:
  br label %exit
exit:
  ret void
}
attributes #0 = { nounwind }
!0 = !{}
!1 = !{!"branch_weights", i32 1, i32 10000}
!2 = !{!"branch_weights", i32 10000, i32 1}
