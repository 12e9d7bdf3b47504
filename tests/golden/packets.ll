declare <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr>, i32, <8 x i1>, <8 x float>)
declare void @llvm.masked.scatter.v8f32.v8p0(<8 x float>, <8 x ptr>, i32, <8 x i1>)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, i32, <8 x i1>)
define void @drjit_00000000000056780000000000001234(i32 %begin, i32 %end, i32 %worker, ptr %args, ptr %scratch) #0 {
entry:
  %begin64 = zext i32 %begin to i64
  %end64 = zext i32 %end to i64
  %slot1 = getelementptr i64, ptr %args, i64 1
  %out1 = load ptr, ptr %slot1, align 8, !invariant.load !0
  %v0.a = getelementptr i64, ptr %args, i64 0
  %v0 = load i64, ptr %v0.a, align 8, !invariant.load !0
  %v0.ptr = inttoptr i64 %v0 to ptr
  %v18.a = getelementptr i64, ptr %args, i64 2
  %v18 = load i64, ptr %v18.a, align 8, !invariant.load !0
  %v18.ptr = inttoptr i64 %v18 to ptr
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
  %l2.0.e = insertelement <8 x i32> poison, i32 3, i32 0
  %l2.0 = shufflevector <8 x i32> %l2.0.e, <8 x i32> poison, <8 x i32> zeroinitializer
  %v3 = and <8 x i32> %v1, %l2.0
  %l5.0.e = insertelement <8 x i32> poison, i32 4, i32 0
  %l5.0 = shufflevector <8 x i32> %l5.0.e, <8 x i32> poison, <8 x i32> zeroinitializer
  %v6 = mul <8 x i32> %v3, %l5.0
  %v7.m = and <8 x i1> %active, %active
  %v7.p = getelementptr i8, ptr %v0.ptr, i64 8589934592
  %v7.x = xor <8 x i32> %v6, <i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648>
  %v7.y = sext <8 x i32> %v7.x to <8 x i64>
  %v7.g = getelementptr float, ptr %v7.p, <8 x i64> %v7.y
  %v7 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> %v7.g, i32 4, <8 x i1> %v7.m, <8 x float> zeroinitializer)
  %l8.0.e = insertelement <8 x i32> poison, i32 1, i32 0
  %l8.0 = shufflevector <8 x i32> %l8.0.e, <8 x i32> poison, <8 x i32> zeroinitializer
  %v9 = add <8 x i32> %v6, %l8.0
  %v10.m = and <8 x i1> %active, %active
  %v10.p = getelementptr i8, ptr %v0.ptr, i64 8589934592
  %v10.x = xor <8 x i32> %v9, <i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648>
  %v10.y = sext <8 x i32> %v10.x to <8 x i64>
  %v10.g = getelementptr float, ptr %v10.p, <8 x i64> %v10.y
  %v10 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> %v10.g, i32 4, <8 x i1> %v10.m, <8 x float> zeroinitializer)
  %l11.0.e = insertelement <8 x i32> poison, i32 2, i32 0
  %l11.0 = shufflevector <8 x i32> %l11.0.e, <8 x i32> poison, <8 x i32> zeroinitializer
  %v12 = add <8 x i32> %v6, %l11.0
  %v13.m = and <8 x i1> %active, %active
  %v13.p = getelementptr i8, ptr %v0.ptr, i64 8589934592
  %v13.x = xor <8 x i32> %v12, <i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648>
  %v13.y = sext <8 x i32> %v13.x to <8 x i64>
  %v13.g = getelementptr float, ptr %v13.p, <8 x i64> %v13.y
  %v13 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> %v13.g, i32 4, <8 x i1> %v13.m, <8 x float> zeroinitializer)
  %v14 = add <8 x i32> %v6, %l2.0
  %v15.m = and <8 x i1> %active, %active
  %v15.p = getelementptr i8, ptr %v0.ptr, i64 8589934592
  %v15.x = xor <8 x i32> %v14, <i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648>
  %v15.y = sext <8 x i32> %v15.x to <8 x i64>
  %v15.g = getelementptr float, ptr %v15.p, <8 x i64> %v15.y
  %v15 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> %v15.g, i32 4, <8 x i1> %v15.m, <8 x float> zeroinitializer)
  %v16 = fadd <8 x float> %v13, %v15
  %v19 = mul <8 x i32> %v3, %l11.0
  %v20.m = and <8 x i1> %active, %active
  %v20.p = getelementptr i8, ptr %v18.ptr, i64 8589934592
  %v20.x = xor <8 x i32> %v19, <i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648>
  %v20.y = sext <8 x i32> %v20.x to <8 x i64>
  %v20.g = getelementptr float, ptr %v20.p, <8 x i64> %v20.y
  call void @llvm.masked.scatter.v8f32.v8p0(<8 x float> %v7, <8 x ptr> %v20.g, i32 4, <8 x i1> %v20.m)
  %v21 = add <8 x i32> %v19, %l8.0
  %v22.m = and <8 x i1> %active, %active
  %v22.p = getelementptr i8, ptr %v18.ptr, i64 8589934592
  %v22.x = xor <8 x i32> %v21, <i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648>
  %v22.y = sext <8 x i32> %v22.x to <8 x i64>
  %v22.g = getelementptr float, ptr %v22.p, <8 x i64> %v22.y
  call void @llvm.masked.scatter.v8f32.v8p0(<8 x float> %v10, <8 x ptr> %v22.g, i32 4, <8 x i1> %v22.m)
  br i1 %whole, label %full, label %part, !prof !2
full:
  %f17.p = getelementptr float, ptr %out1, i64 %index
  store <8 x float> %v16, ptr %f17.p, align 4
  %next = add i64 %index, 8
  %more = icmp ult i64 %next, %end64
  br i1 %more, label %loop, label %exit
part:
  %g17.p = getelementptr float, ptr %out1, i64 %index
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v16, ptr %g17.p, i32 4, <8 x i1> %active)
  br label %exit
exit:
  ret void
}
attributes #0 = { nounwind }
!0 = !{}
!1 = !{!"branch_weights", i32 1, i32 10000}
!2 = !{!"branch_weights", i32 10000, i32 1}
