declare <8 x i8> @llvm.fptoui.sat.v8i8.v8f64(<8 x double>)
declare <8 x i64> @llvm.fptosi.sat.v8i64.v8f64(<8 x double>)
declare void @llvm.masked.store.v8i64.p0(<8 x i64>, ptr, i32, <8 x i1>)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, i32, <8 x i1>)
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
  %slot0 = getelementptr i64, ptr %args, i64 0
  %in0 = load ptr, ptr %slot0, align 8, !invariant.load !0
  %slot1 = getelementptr i64, ptr %args, i64 1
  %out1 = load ptr, ptr %slot1, align 8, !invariant.load !0
  %slot2 = getelementptr i64, ptr %args, i64 2
  %out2 = load ptr, ptr %slot2, align 8, !invariant.load !0
  %slot3 = getelementptr i64, ptr %args, i64 3
  %in3 = load ptr, ptr %slot3, align 8, !invariant.load !0
  %slot4 = getelementptr i64, ptr %args, i64 4
  %out4 = load ptr, ptr %slot4, align 8, !invariant.load !0
  %slot5 = getelementptr i64, ptr %args, i64 5
  %out5 = load ptr, ptr %slot5, align 8, !invariant.load !0
  %slot6 = getelementptr i64, ptr %args, i64 6
  %out6 = load ptr, ptr %slot6, align 8, !invariant.load !0
  br label %loop
loop:
  %index = phi i64 [ %begin64, %entry ], [ %next, %full ]
  %left = sub i64 %end64, %index
  %whole = icmp uge i64 %left, 8
  %v0.p0 = getelementptr double, ptr %in0, i64 %index
  %v0 = load <8 x double>, ptr %v0.p0, align 8, !invariant.load !0
  %v1 = call <8 x i8> @llvm.fptoui.sat.v8i8.v8f64(<8 x double> %v0)
  %v3 = call <8 x i64> @llvm.fptosi.sat.v8i64.v8f64(<8 x double> %v0)
  %v5.p0 = getelementptr i64, ptr %in3, i64 %index
  %v5 = load <8 x i64>, ptr %v5.p0, align 8, !invariant.load !0
  %v6 = sitofp <8 x i64> %v5 to <8 x float>
  %v9 = icmp ne <8 x i64> %v5, zeroinitializer
  %v11 = bitcast <8 x double> %v0 to <8 x i64>
  br i1 %whole, label %full, label %part, !prof !2
full:
  %f2.p = getelementptr i8, ptr %out1, i64 %index
  store <8 x i8> %v1, ptr %f2.p, align 1
  %f4.p = getelementptr i64, ptr %out2, i64 %index
  store <8 x i64> %v3, ptr %f4.p, align 8
  %f7.p = getelementptr float, ptr %out4, i64 %index
  store <8 x float> %v6, ptr %f7.p, align 4
  %f10.z = zext <8 x i1> %v9 to <8 x i8>
  %f10.p = getelementptr i8, ptr %out5, i64 %index
  store <8 x i8> %f10.z, ptr %f10.p, align 1
  %f12.p = getelementptr i64, ptr %out6, i64 %index
  store <8 x i64> %v11, ptr %f12.p, align 8
  %next = add i64 %index, 8
  %more = icmp ult i64 %next, %end64
  br i1 %more, label %loop, label %exit
part:
  %left32 = trunc i64 %left to i32
  %active.e = insertelement <8 x i32> poison, i32 %left32, i32 0
  %active.s = shufflevector <8 x i32> %active.e, <8 x i32> poison, <8 x i32> zeroinitializer
  %active = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %active.s
  %g4.p = getelementptr i64, ptr %out2, i64 %index
  call void @llvm.masked.store.v8i64.p0(<8 x i64> %v3, ptr %g4.p, i32 8, <8 x i1> %active)
  %g7.p = getelementptr float, ptr %out4, i64 %index
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v6, ptr %g7.p, i32 4, <8 x i1> %active)
  %g12.p = getelementptr i64, ptr %out6, i64 %index
  call void @llvm.masked.store.v8i64.p0(<8 x i64> %v11, ptr %g12.p, i32 8, <8 x i1> %active)
  store <8 x i8> %v1, ptr %part0, align 64
  %g10.z = zext <8 x i1> %v9 to <8 x i8>
  store <8 x i8> %g10.z, ptr %part1, align 64
  %g2.p = getelementptr i8, ptr %out1, i64 %index
  %g2.n = mul i64 %left, 1
  call void @store_part(ptr %g2.p, ptr %part0, i64 %g2.n)
  %g10.p = getelementptr i8, ptr %out5, i64 %index
  %g10.n = mul i64 %left, 1
  call void @store_part(ptr %g10.p, ptr %part1, i64 %g10.n)
  br label %exit
exit:
  ret void
}
attributes #0 = { nounwind }
!0 = !{}
!1 = !{!"branch_weights", i32 1, i32 10000}
!2 = !{!"branch_weights", i32 10000, i32 1}
