declare i64 @llvm.cttz.i64(i64, i1)
declare i64 @llvm.ctpop.i64(i64)
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
declare void @llvm.masked.scatter.v8f32.v8p0(<8 x float>, <8 x ptr>, i32, <8 x i1>)
define internal void @scatter_add_direct_f32(ptr %base, ptr %idx, ptr %val, i64 %mask) noinline #0 {
entry:
  %pa0 = getelementptr i32, ptr %idx, i64 0
  %pi0 = load i32, ptr %pa0, align 4
  %pw0 = zext i32 %pi0 to i64
  %pt0 = getelementptr float, ptr %base, i64 %pw0
  call void @llvm.prefetch.p0(ptr %pt0, i32 1, i32 3, i32 1)
  %pa1 = getelementptr i32, ptr %idx, i64 1
  %pi1 = load i32, ptr %pa1, align 4
  %pw1 = zext i32 %pi1 to i64
  %pt1 = getelementptr float, ptr %base, i64 %pw1
  call void @llvm.prefetch.p0(ptr %pt1, i32 1, i32 3, i32 1)
  %pa2 = getelementptr i32, ptr %idx, i64 2
  %pi2 = load i32, ptr %pa2, align 4
  %pw2 = zext i32 %pi2 to i64
  %pt2 = getelementptr float, ptr %base, i64 %pw2
  call void @llvm.prefetch.p0(ptr %pt2, i32 1, i32 3, i32 1)
  %pa3 = getelementptr i32, ptr %idx, i64 3
  %pi3 = load i32, ptr %pa3, align 4
  %pw3 = zext i32 %pi3 to i64
  %pt3 = getelementptr float, ptr %base, i64 %pw3
  call void @llvm.prefetch.p0(ptr %pt3, i32 1, i32 3, i32 1)
  %pa4 = getelementptr i32, ptr %idx, i64 4
  %pi4 = load i32, ptr %pa4, align 4
  %pw4 = zext i32 %pi4 to i64
  %pt4 = getelementptr float, ptr %base, i64 %pw4
  call void @llvm.prefetch.p0(ptr %pt4, i32 1, i32 3, i32 1)
  %pa5 = getelementptr i32, ptr %idx, i64 5
  %pi5 = load i32, ptr %pa5, align 4
  %pw5 = zext i32 %pi5 to i64
  %pt5 = getelementptr float, ptr %base, i64 %pw5
  call void @llvm.prefetch.p0(ptr %pt5, i32 1, i32 3, i32 1)
  %pa6 = getelementptr i32, ptr %idx, i64 6
  %pi6 = load i32, ptr %pa6, align 4
  %pw6 = zext i32 %pi6 to i64
  %pt6 = getelementptr float, ptr %base, i64 %pw6
  call void @llvm.prefetch.p0(ptr %pt6, i32 1, i32 3, i32 1)
  %pa7 = getelementptr i32, ptr %idx, i64 7
  %pi7 = load i32, ptr %pa7, align 4
  %pw7 = zext i32 %pi7 to i64
  %pt7 = getelementptr float, ptr %base, i64 %pw7
  call void @llvm.prefetch.p0(ptr %pt7, i32 1, i32 3, i32 1)
  %none = icmp eq i64 %mask, 0
  br i1 %none, label %exit, label %lane
lane:
  %m = phi i64 [ %mask, %entry ], [ %drop, %next ]
  %i = call i64 @llvm.cttz.i64(i64 %m, i1 true)
  %ip = getelementptr i32, ptr %idx, i64 %i
  %n = load i32, ptr %ip, align 4
  %n64 = zext i32 %n to i64
  %p = getelementptr float, ptr %base, i64 %n64
  %xp = getelementptr float, ptr %val, i64 %i
  %x = load float, ptr %xp, align 4
  %seen0 = load atomic i32, ptr %p monotonic, align 4
  br label %try
try:
  %old = phi i32 [ %seen0, %lane ], [ %seen, %try ]
  %ov = bitcast i32 %old to float
  %nv = fadd float %ov, %x
  %new = bitcast float %nv to i32
  %pair = cmpxchg ptr %p, i32 %old, i32 %new monotonic monotonic
  %seen = extractvalue { i32, i1 } %pair, 0
  %ok = extractvalue { i32, i1 } %pair, 1
  br i1 %ok, label %next, label %try
next:
  %less = add i64 %m, -1
  %drop = and i64 %m, %less
  %done = icmp eq i64 %drop, 0
  br i1 %done, label %exit, label %lane
exit:
  ret void
}
define internal void @scatter_add_local_f32(ptr %base, ptr %idx, ptr %val, i64 %mask) noinline #0 {
entry:
  %none = icmp eq i64 %mask, 0
  br i1 %none, label %exit, label %first
first:
  %fi = call i64 @llvm.cttz.i64(i64 %mask, i1 true)
  %fp = getelementptr i32, ptr %idx, i64 %fi
  %fn = load i32, ptr %fp, align 4
  %all = load <8 x i32>, ptr %idx, align 64
  %ne = insertelement <8 x i32> poison, i32 %fn, i32 0
  %ns = shufflevector <8 x i32> %ne, <8 x i32> poison, <8 x i32> zeroinitializer
  %equal = icmp eq <8 x i32> %all, %ns
  %short = bitcast <8 x i1> %equal to i8
  %bits = zext i8 %short to i64
  %group = and i64 %bits, %mask
  %unequal = xor i64 %group, %mask
  %same = icmp eq i64 %unequal, 0
  br i1 %same, label %many, label %ahead
many:
  %vals = load <8 x float>, ptr %val, align 64
  %gs = trunc i64 %mask to i8
  %gm = bitcast i8 %gs to <8 x i1>
  %keep = select <8 x i1> %gm, <8 x float> %vals, <8 x float> <float 0x8000000000000000, float 0x8000000000000000, float 0x8000000000000000, float 0x8000000000000000, float 0x8000000000000000, float 0x8000000000000000, float 0x8000000000000000, float 0x8000000000000000>
  %sh4 = shufflevector <8 x float> %keep, <8 x float> poison, <8 x i32> <i32 4, i32 5, i32 6, i32 7, i32 0, i32 1, i32 2, i32 3>
  %co4 = fadd <8 x float> %keep, %sh4
  %sh2 = shufflevector <8 x float> %co4, <8 x float> poison, <8 x i32> <i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 0, i32 1>
  %co2 = fadd <8 x float> %co4, %sh2
  %sh1 = shufflevector <8 x float> %co2, <8 x float> poison, <8 x i32> <i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 0>
  %co1 = fadd <8 x float> %co2, %sh1
  %tree = extractelement <8 x float> %co1, i32 0
  %vp = getelementptr float, ptr %val, i64 %fi
  store float %tree, ptr %vp, align 4
  %minus = sub i64 0, %mask
  %single = and i64 %mask, %minus
  br label %lane
ahead:
  %pa0 = getelementptr i32, ptr %idx, i64 0
  %pi0 = load i32, ptr %pa0, align 4
  %pw0 = zext i32 %pi0 to i64
  %pt0 = getelementptr float, ptr %base, i64 %pw0
  call void @llvm.prefetch.p0(ptr %pt0, i32 1, i32 3, i32 1)
  %pa1 = getelementptr i32, ptr %idx, i64 1
  %pi1 = load i32, ptr %pa1, align 4
  %pw1 = zext i32 %pi1 to i64
  %pt1 = getelementptr float, ptr %base, i64 %pw1
  call void @llvm.prefetch.p0(ptr %pt1, i32 1, i32 3, i32 1)
  %pa2 = getelementptr i32, ptr %idx, i64 2
  %pi2 = load i32, ptr %pa2, align 4
  %pw2 = zext i32 %pi2 to i64
  %pt2 = getelementptr float, ptr %base, i64 %pw2
  call void @llvm.prefetch.p0(ptr %pt2, i32 1, i32 3, i32 1)
  %pa3 = getelementptr i32, ptr %idx, i64 3
  %pi3 = load i32, ptr %pa3, align 4
  %pw3 = zext i32 %pi3 to i64
  %pt3 = getelementptr float, ptr %base, i64 %pw3
  call void @llvm.prefetch.p0(ptr %pt3, i32 1, i32 3, i32 1)
  %pa4 = getelementptr i32, ptr %idx, i64 4
  %pi4 = load i32, ptr %pa4, align 4
  %pw4 = zext i32 %pi4 to i64
  %pt4 = getelementptr float, ptr %base, i64 %pw4
  call void @llvm.prefetch.p0(ptr %pt4, i32 1, i32 3, i32 1)
  %pa5 = getelementptr i32, ptr %idx, i64 5
  %pi5 = load i32, ptr %pa5, align 4
  %pw5 = zext i32 %pi5 to i64
  %pt5 = getelementptr float, ptr %base, i64 %pw5
  call void @llvm.prefetch.p0(ptr %pt5, i32 1, i32 3, i32 1)
  %pa6 = getelementptr i32, ptr %idx, i64 6
  %pi6 = load i32, ptr %pa6, align 4
  %pw6 = zext i32 %pi6 to i64
  %pt6 = getelementptr float, ptr %base, i64 %pw6
  call void @llvm.prefetch.p0(ptr %pt6, i32 1, i32 3, i32 1)
  %pa7 = getelementptr i32, ptr %idx, i64 7
  %pi7 = load i32, ptr %pa7, align 4
  %pw7 = zext i32 %pi7 to i64
  %pt7 = getelementptr float, ptr %base, i64 %pw7
  call void @llvm.prefetch.p0(ptr %pt7, i32 1, i32 3, i32 1)
  br label %lane
lane:
  %m = phi i64 [ %mask, %ahead ], [ %single, %many ], [ %drop, %next ]
  %i = call i64 @llvm.cttz.i64(i64 %m, i1 true)
  %ip = getelementptr i32, ptr %idx, i64 %i
  %n = load i32, ptr %ip, align 4
  %n64 = zext i32 %n to i64
  %p = getelementptr float, ptr %base, i64 %n64
  %xp = getelementptr float, ptr %val, i64 %i
  %x = load float, ptr %xp, align 4
  %seen0 = load atomic i32, ptr %p monotonic, align 4
  br label %try
try:
  %old = phi i32 [ %seen0, %lane ], [ %seen, %try ]
  %ov = bitcast i32 %old to float
  %nv = fadd float %ov, %x
  %new = bitcast float %nv to i32
  %pair = cmpxchg ptr %p, i32 %old, i32 %new monotonic monotonic
  %seen = extractvalue { i32, i1 } %pair, 0
  %ok = extractvalue { i32, i1 } %pair, 1
  br i1 %ok, label %next, label %try
next:
  %less = add i64 %m, -1
  %drop = and i64 %m, %less
  %done = icmp eq i64 %drop, 0
  br i1 %done, label %exit, label %lane
exit:
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
  %slot1 = getelementptr i64, ptr %args, i64 1
  %in1 = load ptr, ptr %slot1, align 8, !invariant.load !0
  %slot2 = getelementptr i64, ptr %args, i64 2
  %in2 = load ptr, ptr %slot2, align 8, !invariant.load !0
  %slot3 = getelementptr i64, ptr %args, i64 3
  %in3 = load ptr, ptr %slot3, align 8, !invariant.load !0
  %v0.a = getelementptr i64, ptr %args, i64 0
  %v0 = load i64, ptr %v0.a, align 8, !invariant.load !0
  %v0.ptr = inttoptr i64 %v0 to ptr
  %v5.a = getelementptr i64, ptr %args, i64 4
  %v5 = load i64, ptr %v5.a, align 8, !invariant.load !0
  %v5.ptr = inttoptr i64 %v5 to ptr
  %v7.a = getelementptr i64, ptr %args, i64 5
  %v7 = load i64, ptr %v7.a, align 8, !invariant.load !0
  %v7.ptr = inttoptr i64 %v7 to ptr
  %v9.a = getelementptr i64, ptr %args, i64 6
  %v9 = load i64, ptr %v9.a, align 8, !invariant.load !0
  %v9.ptr = inttoptr i64 %v9 to ptr
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
  %v1.p0 = getelementptr float, ptr %in1, i64 %index
  %v1 = load <8 x float>, ptr %v1.p0, align 4, !invariant.load !0
  %v2.p0 = getelementptr i32, ptr %in2, i64 %index
  %v2 = load <8 x i32>, ptr %v2.p0, align 4, !invariant.load !0
  %v3.p0 = getelementptr i8, ptr %in3, i64 %index
  %v3.8.0 = load <8 x i8>, ptr %v3.p0, align 1, !invariant.load !0
  %v3 = icmp ne <8 x i8> %v3.8.0, zeroinitializer
  %v4.m = and <8 x i1> %v3, %active
  store <8 x float> %v1, ptr %slot.val, align 64
  store <8 x i32> %v2, ptr %slot.idx, align 64
  %v4.n = bitcast <8 x i1> %v4.m to i8
  %v4.b = zext i8 %v4.n to i64
  call void @scatter_add_direct_f32(ptr %v0.ptr, ptr %slot.idx, ptr %slot.val, i64 %v4.b)
  %v6.m = and <8 x i1> %v3, %active
  store <8 x float> %v1, ptr %slot.val, align 64
  store <8 x i32> %v2, ptr %slot.idx, align 64
  %v6.n = bitcast <8 x i1> %v6.m to i8
  %v6.b = zext i8 %v6.n to i64
  call void @scatter_add_local_f32(ptr %v5.ptr, ptr %slot.idx, ptr %slot.val, i64 %v6.b)
  %v8.m = and <8 x i1> %v3, %active
  %v8.p = getelementptr i8, ptr %v7.ptr, i64 8589934592
  %v8.x = xor <8 x i32> %v2, <i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648>
  %v8.y = sext <8 x i32> %v8.x to <8 x i64>
  %v8.g = getelementptr float, ptr %v8.p, <8 x i64> %v8.y
  call void @llvm.masked.scatter.v8f32.v8p0(<8 x float> %v1, <8 x ptr> %v8.g, i32 4, <8 x i1> %v8.m)
  %v10.m = and <8 x i1> %v3, %active
  %v10.p = getelementptr i8, ptr %v9.ptr, i64 8589934592
  %v10.x = xor <8 x i32> %v2, <i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648, i32 2147483648>
  %v10.y = sext <8 x i32> %v10.x to <8 x i64>
  %v10.g = getelementptr float, ptr %v10.p, <8 x i64> %v10.y
  call void @llvm.masked.scatter.v8f32.v8p0(<8 x float> %v1, <8 x ptr> %v10.g, i32 4, <8 x i1> %v10.m)
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
