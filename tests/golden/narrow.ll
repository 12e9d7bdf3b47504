declare <8 x i16> @llvm.bitreverse.v8i16(<8 x i16>)
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
  %part3 = alloca [64 x i8], align 64
  %part4 = alloca [64 x i8], align 64
  %slot0 = getelementptr i64, ptr %args, i64 0
  %in0 = load ptr, ptr %slot0, align 8, !invariant.load !0
  %slot1 = getelementptr i64, ptr %args, i64 1
  %in1 = load ptr, ptr %slot1, align 8, !invariant.load !0
  %slot2 = getelementptr i64, ptr %args, i64 2
  %out2 = load ptr, ptr %slot2, align 8, !invariant.load !0
  %slot3 = getelementptr i64, ptr %args, i64 3
  %out3 = load ptr, ptr %slot3, align 8, !invariant.load !0
  %slot4 = getelementptr i64, ptr %args, i64 4
  %in4 = load ptr, ptr %slot4, align 8, !invariant.load !0
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
  %v0.p0 = getelementptr i8, ptr %in0, i64 %index
  %v0 = load <8 x i8>, ptr %v0.p0, align 1, !invariant.load !0
  %v1.p0 = getelementptr i8, ptr %in1, i64 %index
  %v1 = load <8 x i8>, ptr %v1.p0, align 1, !invariant.load !0
  %v2 = icmp sgt <8 x i8> %v0, %v1
  %v3 = select <8 x i1> %v2, <8 x i8> %v0, <8 x i8> %v1
  %v5.a = sext <8 x i8> %v0 to <8 x i16>
  %v5.b = sext <8 x i8> %v1 to <8 x i16>
  %v5 = mul <8 x i16> %v5.a, %v5.b
  %v7.p0 = getelementptr i16, ptr %in4, i64 %index
  %v7 = load <8 x i16>, ptr %v7.p0, align 2, !invariant.load !0
  %v8 = call <8 x i16> @llvm.bitreverse.v8i16(<8 x i16> %v7)
  %v10.p0 = getelementptr i8, ptr %in6, i64 %index
  %v10.8.0 = load <8 x i8>, ptr %v10.p0, align 1, !invariant.load !0
  %v10 = icmp ne <8 x i8> %v10.8.0, zeroinitializer
  %v11 = select <8 x i1> %v10, <8 x i8> %v0, <8 x i8> %v1
  %v13 = xor <8 x i1> %v10, <i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true>
  br i1 %whole, label %full, label %part, !prof !2
full:
  %f4.p = getelementptr i8, ptr %out2, i64 %index
  store <8 x i8> %v3, ptr %f4.p, align 1
  %f6.p = getelementptr i16, ptr %out3, i64 %index
  store <8 x i16> %v5, ptr %f6.p, align 2
  %f9.p = getelementptr i16, ptr %out5, i64 %index
  store <8 x i16> %v8, ptr %f9.p, align 2
  %f12.p = getelementptr i8, ptr %out7, i64 %index
  store <8 x i8> %v11, ptr %f12.p, align 1
  %f14.z = zext <8 x i1> %v13 to <8 x i8>
  %f14.p = getelementptr i8, ptr %out8, i64 %index
  store <8 x i8> %f14.z, ptr %f14.p, align 1
  %next = add i64 %index, 8
  %more = icmp ult i64 %next, %end64
  br i1 %more, label %loop, label %exit
part:
  store <8 x i8> %v3, ptr %part0, align 64
  store <8 x i16> %v5, ptr %part1, align 64
  store <8 x i16> %v8, ptr %part2, align 64
  store <8 x i8> %v11, ptr %part3, align 64
  %g14.z = zext <8 x i1> %v13 to <8 x i8>
  store <8 x i8> %g14.z, ptr %part4, align 64
  %g4.p = getelementptr i8, ptr %out2, i64 %index
  %g4.n = mul i64 %left, 1
  call void @store_part(ptr %g4.p, ptr %part0, i64 %g4.n)
  %g6.p = getelementptr i16, ptr %out3, i64 %index
  %g6.n = mul i64 %left, 2
  call void @store_part(ptr %g6.p, ptr %part1, i64 %g6.n)
  %g9.p = getelementptr i16, ptr %out5, i64 %index
  %g9.n = mul i64 %left, 2
  call void @store_part(ptr %g9.p, ptr %part2, i64 %g9.n)
  %g12.p = getelementptr i8, ptr %out7, i64 %index
  %g12.n = mul i64 %left, 1
  call void @store_part(ptr %g12.p, ptr %part3, i64 %g12.n)
  %g14.p = getelementptr i8, ptr %out8, i64 %index
  %g14.n = mul i64 %left, 1
  call void @store_part(ptr %g14.p, ptr %part4, i64 %g14.n)
  br label %exit
exit:
  ret void
}
attributes #0 = { nounwind }
!0 = !{}
!1 = !{!"branch_weights", i32 1, i32 10000}
!2 = !{!"branch_weights", i32 10000, i32 1}
