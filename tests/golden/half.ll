declare void @llvm.masked.store.v8f64.p0(<8 x double>, ptr, i32, <8 x i1>)
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
  %part1 = alloca [64 x i8], align 64
  %part2 = alloca [64 x i8], align 64
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
  br label %loop
loop:
  %index = phi i64 [ %begin64, %entry ], [ %next, %full ]
  %left = sub i64 %end64, %index
  %whole = icmp uge i64 %left, 8
  %v0.p0 = getelementptr i16, ptr %in0, i64 %index
  %v0 = load <8 x i16>, ptr %v0.p0, align 2, !invariant.load !0
  %v1.p0 = getelementptr i16, ptr %in1, i64 %index
  %v1 = load <8 x i16>, ptr %v1.p0, align 2, !invariant.load !0
  %v2.a = bitcast <8 x i16> %v0 to <8 x half>
  %v2 = fpext <8 x half> %v2.a to <8 x float>
  %v3.a = bitcast <8 x i16> %v1 to <8 x half>
  %v3 = fpext <8 x half> %v3.a to <8 x float>
  %v4 = fmul <8 x float> %v2, %v3
  %v5.a = fptrunc <8 x float> %v4 to <8 x half>
  %v5 = bitcast <8 x half> %v5.a to <8 x i16>
  %v8 = bitcast <8 x i16> %v0 to <8 x i16>
  %l7.0.e = insertelement <8 x i16> poison, i16 32768, i32 0
  %l7.0 = shufflevector <8 x i16> %l7.0.e, <8 x i16> poison, <8 x i32> zeroinitializer
  %v9 = xor <8 x i16> %v8, %l7.0
  %v10 = bitcast <8 x i16> %v9 to <8 x i16>
  %v12 = fcmp olt <8 x float> %v2, %v3
  %v14 = fpext <8 x float> %v2 to <8 x double>
  br i1 %whole, label %full, label %part, !prof !2
full:
  %f6.p = getelementptr i16, ptr %out2, i64 %index
  store <8 x i16> %v5, ptr %f6.p, align 2
  %f11.p = getelementptr i16, ptr %out3, i64 %index
  store <8 x i16> %v10, ptr %f11.p, align 2
  %f13.z = zext <8 x i1> %v12 to <8 x i8>
  %f13.p = getelementptr i8, ptr %out4, i64 %index
  store <8 x i8> %f13.z, ptr %f13.p, align 1
  %f15.p = getelementptr double, ptr %out5, i64 %index
  store <8 x double> %v14, ptr %f15.p, align 8
  %next = add i64 %index, 8
  %more = icmp ult i64 %next, %end64
  br i1 %more, label %loop, label %exit
part:
  %left32 = trunc i64 %left to i32
  %active.e = insertelement <8 x i32> poison, i32 %left32, i32 0
  %active.s = shufflevector <8 x i32> %active.e, <8 x i32> poison, <8 x i32> zeroinitializer
  %active = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %active.s
  %g15.p = getelementptr double, ptr %out5, i64 %index
  call void @llvm.masked.store.v8f64.p0(<8 x double> %v14, ptr %g15.p, i32 8, <8 x i1> %active)
  store <8 x i16> %v5, ptr %part0, align 64
  store <8 x i16> %v10, ptr %part1, align 64
  %g13.z = zext <8 x i1> %v12 to <8 x i8>
  store <8 x i8> %g13.z, ptr %part2, align 64
  %g6.p = getelementptr i16, ptr %out2, i64 %index
  %g6.n = mul i64 %left, 2
  call void @store_part(ptr %g6.p, ptr %part0, i64 %g6.n)
  %g11.p = getelementptr i16, ptr %out3, i64 %index
  %g11.n = mul i64 %left, 2
  call void @store_part(ptr %g11.p, ptr %part1, i64 %g11.n)
  %g13.p = getelementptr i8, ptr %out4, i64 %index
  %g13.n = mul i64 %left, 1
  call void @store_part(ptr %g13.p, ptr %part2, i64 %g13.n)
  br label %exit
exit:
  ret void
}
attributes #0 = { nounwind }
!0 = !{}
!1 = !{!"branch_weights", i32 1, i32 10000}
!2 = !{!"branch_weights", i32 10000, i32 1}
