declare <8 x i64> @llvm.ctpop.v8i64(<8 x i64>)
declare void @llvm.masked.store.v8i32.p0(<8 x i32>, ptr, i32, <8 x i1>)
declare void @llvm.masked.store.v8i64.p0(<8 x i64>, ptr, i32, <8 x i1>)
define void @drjit_00000000000056780000000000001234(i32 %begin, i32 %end, i32 %worker, ptr %args, ptr %scratch) #0 {
entry:
  %begin64 = zext i32 %begin to i64
  %end64 = zext i32 %end to i64
  %slot0 = getelementptr i64, ptr %args, i64 0
  %in0 = load ptr, ptr %slot0, align 8, !invariant.load !0
  %slot1 = getelementptr i64, ptr %args, i64 1
  %in1 = load ptr, ptr %slot1, align 8, !invariant.load !0
  %slot2 = getelementptr i64, ptr %args, i64 2
  %out2 = load ptr, ptr %slot2, align 8, !invariant.load !0
  %slot3 = getelementptr i64, ptr %args, i64 3
  %out3 = load ptr, ptr %slot3, align 8, !invariant.load !0
  %slot4 = getelementptr i64, ptr %args, i64 4
  %out4 = load ptr, ptr %slot4, align 8, !invariant.load !0
  %slot5 = getelementptr i64, ptr %args, i64 5
  %out5 = load ptr, ptr %slot5, align 8, !invariant.load !0
  %slot6 = getelementptr i64, ptr %args, i64 6
  %in6 = load ptr, ptr %slot6, align 8, !invariant.load !0
  %slot7 = getelementptr i64, ptr %args, i64 7
  %out7 = load ptr, ptr %slot7, align 8, !invariant.load !0
  %slot8 = getelementptr i64, ptr %args, i64 8
  %out8 = load ptr, ptr %slot8, align 8, !invariant.load !0
  br label %loop
loop:
  %index = phi i64 [ %begin64, %entry ], [ %next, %full ]
  %left = sub i64 %end64, %index
  %whole = icmp uge i64 %left, 8
  %v0.p0 = getelementptr i32, ptr %in0, i64 %index
  %v0 = load <8 x i32>, ptr %v0.p0, align 4, !invariant.load !0
  %v1.p0 = getelementptr i32, ptr %in1, i64 %index
  %v1 = load <8 x i32>, ptr %v1.p0, align 4, !invariant.load !0
  %v2.a = icmp eq <8 x i32> %v1, zeroinitializer
  %v2.b = icmp eq <8 x i32> %v0, <i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648>
  %v2.c = icmp eq <8 x i32> %v1, <i32 4294967295, i32 4294967295, i32 4294967295, i32 4294967295, i32 4294967295, i32 4294967295, i32 4294967295, i32 4294967295>
  %v2.d = and <8 x i1> %v2.b, %v2.c
  %v2.e = or <8 x i1> %v2.a, %v2.d
  %v2.f = select <8 x i1> %v2.e, <8 x i32> <i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1>, <8 x i32> %v1
  %v2.x = sitofp <8 x i32> %v0 to <8 x double>
  %v2.y = sitofp <8 x i32> %v2.f to <8 x double>
  %v2.z = fdiv <8 x double> %v2.x, %v2.y
  %v2.g = fptosi <8 x double> %v2.z to <8 x i32>
  %v2 = select <8 x i1> %v2.a, <8 x i32> zeroinitializer, <8 x i32> %v2.g
  %v4.a = icmp eq <8 x i32> %v1, zeroinitializer
  %v4.b = icmp eq <8 x i32> %v0, <i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648>
  %v4.c = icmp eq <8 x i32> %v1, <i32 4294967295, i32 4294967295, i32 4294967295, i32 4294967295, i32 4294967295, i32 4294967295, i32 4294967295, i32 4294967295>
  %v4.d = and <8 x i1> %v4.b, %v4.c
  %v4.e = or <8 x i1> %v4.a, %v4.d
  %v4.f = select <8 x i1> %v4.e, <8 x i32> <i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1>, <8 x i32> %v1
  %v4.x = sitofp <8 x i32> %v0 to <8 x double>
  %v4.y = sitofp <8 x i32> %v4.f to <8 x double>
  %v4.z = fdiv <8 x double> %v4.x, %v4.y
  %v4.g = fptosi <8 x double> %v4.z to <8 x i32>
  %v4.m = mul <8 x i32> %v4.g, %v4.f
  %v4.n = sub <8 x i32> %v0, %v4.m
  %v4 = select <8 x i1> %v4.a, <8 x i32> %v0, <8 x i32> %v4.n
  %v6.a = sext <8 x i32> %v0 to <8 x i64>
  %v6.b = sext <8 x i32> %v1 to <8 x i64>
  %v6 = mul <8 x i64> %v6.a, %v6.b
  %v7 = bitcast <8 x i64> %v6 to <8 x i64>
  %l8.0.e = insertelement <8 x i64> poison, i64 32, i32 0
  %l8.0 = shufflevector <8 x i64> %l8.0.e, <8 x i64> poison, <8 x i32> zeroinitializer
  %v9 = lshr <8 x i64> %v7, %l8.0
  %v10 = trunc <8 x i64> %v9 to <8 x i32>
  %v12.a = icmp ult <8 x i32> %v1, <i32 32, i32 32, i32 32, i32 32, i32 32, i32 32, i32 32, i32 32>
  %v12.b = select <8 x i1> %v12.a, <8 x i32> %v1, <8 x i32> <i32 31, i32 31, i32 31, i32 31, i32 31, i32 31, i32 31, i32 31>
  %v12 = ashr <8 x i32> %v0, %v12.b
  %v14.p0 = getelementptr i64, ptr %in6, i64 %index
  %v14 = load <8 x i64>, ptr %v14.p0, align 8, !invariant.load !0
  %v15 = mul <8 x i64> %v14, %v14
  %v17 = call <8 x i64> @llvm.ctpop.v8i64(<8 x i64> %v14)
  br i1 %whole, label %full, label %part, !prof !2
full:
  %f3.p = getelementptr i32, ptr %out2, i64 %index
  store <8 x i32> %v2, ptr %f3.p, align 4
  %f5.p = getelementptr i32, ptr %out3, i64 %index
  store <8 x i32> %v4, ptr %f5.p, align 4
  %f11.p = getelementptr i32, ptr %out4, i64 %index
  store <8 x i32> %v10, ptr %f11.p, align 4
  %f13.p = getelementptr i32, ptr %out5, i64 %index
  store <8 x i32> %v12, ptr %f13.p, align 4
  %f16.p = getelementptr i64, ptr %out7, i64 %index
  store <8 x i64> %v15, ptr %f16.p, align 8
  %f18.p = getelementptr i64, ptr %out8, i64 %index
  store <8 x i64> %v17, ptr %f18.p, align 8
  %next = add i64 %index, 8
  %more = icmp ult i64 %next, %end64
  br i1 %more, label %loop, label %exit
part:
  %left32 = trunc i64 %left to i32
  %active.e = insertelement <8 x i32> poison, i32 %left32, i32 0
  %active.s = shufflevector <8 x i32> %active.e, <8 x i32> poison, <8 x i32> zeroinitializer
  %active = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %active.s
  %g3.p = getelementptr i32, ptr %out2, i64 %index
  call void @llvm.masked.store.v8i32.p0(<8 x i32> %v2, ptr %g3.p, i32 4, <8 x i1> %active)
  %g5.p = getelementptr i32, ptr %out3, i64 %index
  call void @llvm.masked.store.v8i32.p0(<8 x i32> %v4, ptr %g5.p, i32 4, <8 x i1> %active)
  %g11.p = getelementptr i32, ptr %out4, i64 %index
  call void @llvm.masked.store.v8i32.p0(<8 x i32> %v10, ptr %g11.p, i32 4, <8 x i1> %active)
  %g13.p = getelementptr i32, ptr %out5, i64 %index
  call void @llvm.masked.store.v8i32.p0(<8 x i32> %v12, ptr %g13.p, i32 4, <8 x i1> %active)
  %g16.p = getelementptr i64, ptr %out7, i64 %index
  call void @llvm.masked.store.v8i64.p0(<8 x i64> %v15, ptr %g16.p, i32 8, <8 x i1> %active)
  %g18.p = getelementptr i64, ptr %out8, i64 %index
  call void @llvm.masked.store.v8i64.p0(<8 x i64> %v17, ptr %g18.p, i32 8, <8 x i1> %active)
  br label %exit
exit:
  ret void
}
attributes #0 = { nounwind }
!0 = !{}
!1 = !{!"branch_weights", i32 1, i32 10000}
!2 = !{!"branch_weights", i32 10000, i32 1}
