declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, i32, <8 x i1>)
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
  br label %loop
loop:
  %index = phi i64 [ %begin64, %entry ], [ %next, %full ]
  %left = sub i64 %end64, %index
  %whole = icmp uge i64 %left, 8
  %v0.p0 = getelementptr float, ptr %in0, i64 %index
  %v0 = load <8 x float>, ptr %v0.p0, align 4, !invariant.load !0
  %v1.p0 = getelementptr float, ptr %in1, i64 %index
  %v1 = load <8 x float>, ptr %v1.p0, align 4, !invariant.load !0
  %v2 = fadd <8 x float> %v0, %v1
  br i1 %whole, label %full, label %part, !prof !2
full:
  %f3.p = getelementptr float, ptr %out2, i64 %index
  store <8 x float> %v2, ptr %f3.p, align 4
  %next = add i64 %index, 8
  %more = icmp ult i64 %next, %end64
  br i1 %more, label %loop, label %exit
part:
  %left32 = trunc i64 %left to i32
  %active.e = insertelement <8 x i32> poison, i32 %left32, i32 0
  %active.s = shufflevector <8 x i32> %active.e, <8 x i32> poison, <8 x i32> zeroinitializer
  %active = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %active.s
  %g3.p = getelementptr float, ptr %out2, i64 %index
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v2, ptr %g3.p, i32 4, <8 x i1> %active)
  br label %exit
exit:
  ret void
}
attributes #0 = { nounwind }
!0 = !{}
!1 = !{!"branch_weights", i32 1, i32 10000}
!2 = !{!"branch_weights", i32 10000, i32 1}
