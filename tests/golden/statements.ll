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
define void @drjit_00000000000056780000000000001234(i32 %begin, i32 %end, i32 %worker, ptr %args) #0 {
entry:
  %begin64 = zext i32 %begin to i64
  %end64 = zext i32 %end to i64
  %part0 = alloca [64 x i8], align 64
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
  store <8 x float> %v2, ptr %part0, align 64
  %g3.p = getelementptr float, ptr %out2, i64 %index
  %g3.n = mul i64 %left, 4
  call void @store_part(ptr %g3.p, ptr %part0, i64 %g3.n)
  br label %exit
exit:
  ret void
}
attributes #0 = { nounwind }
!0 = !{}
!1 = !{!"branch_weights", i32 1, i32 10000}
!2 = !{!"branch_weights", i32 10000, i32 1}
