declare i64 @llvm.cttz.i64(i64, i1)
declare i64 @llvm.ctpop.i64(i64)
define internal void @scatter_exch_i32(ptr %base, ptr %idx, ptr %val, ptr %cmp, ptr %out, i64 %mask) noinline #0 {
entry:
  %none = icmp eq i64 %mask, 0
  br i1 %none, label %exit, label %lane
lane:
  %m = phi i64 [ %mask, %entry ], [ %drop, %next ]
  %i = call i64 @llvm.cttz.i64(i64 %m, i1 true)
  %ip = getelementptr i32, ptr %idx, i64 %i
  %n = load i32, ptr %ip, align 4
  %n64 = zext i32 %n to i64
  %p = getelementptr i32, ptr %base, i64 %n64
  %xp = getelementptr i32, ptr %val, i64 %i
  %x = load i32, ptr %xp, align 4
  %op = getelementptr i32, ptr %out, i64 %i
  %old = atomicrmw xchg ptr %p, i32 %x monotonic
  store i32 %old, ptr %op, align 4
  br label %next
next:
  %less = add i64 %m, -1
  %drop = and i64 %m, %less
  %done = icmp eq i64 %drop, 0
  br i1 %done, label %exit, label %lane
exit:
  ret void
}
define internal void @scatter_cas_i32(ptr %base, ptr %idx, ptr %val, ptr %cmp, ptr %out, i64 %mask) noinline #0 {
entry:
  %none = icmp eq i64 %mask, 0
  br i1 %none, label %exit, label %lane
lane:
  %m = phi i64 [ %mask, %entry ], [ %drop, %next ]
  %i = call i64 @llvm.cttz.i64(i64 %m, i1 true)
  %ip = getelementptr i32, ptr %idx, i64 %i
  %n = load i32, ptr %ip, align 4
  %n64 = zext i32 %n to i64
  %p = getelementptr i32, ptr %base, i64 %n64
  %xp = getelementptr i32, ptr %val, i64 %i
  %x = load i32, ptr %xp, align 4
  %op = getelementptr i32, ptr %out, i64 %i
  %cp = getelementptr i32, ptr %cmp, i64 %i
  %c = load i32, ptr %cp, align 4
  %pair = cmpxchg ptr %p, i32 %c, i32 %x monotonic monotonic
  %old = extractvalue { i32, i1 } %pair, 0
  store i32 %old, ptr %op, align 4
  br label %next
next:
  %less = add i64 %m, -1
  %drop = and i64 %m, %less
  %done = icmp eq i64 %drop, 0
  br i1 %done, label %exit, label %lane
exit:
  ret void
}
define internal void @scatter_inc(ptr %base, ptr %idx, ptr %val, ptr %cmp, ptr %out, i64 %mask) noinline #0 {
entry:
  %all = load <8 x i32>, ptr %idx, align 64
  %none = icmp eq i64 %mask, 0
  br i1 %none, label %exit, label %lane
lane:
  %m = phi i64 [ %mask, %entry ], [ %rest, %next ]
  %i = call i64 @llvm.cttz.i64(i64 %m, i1 true)
  %ip = getelementptr i32, ptr %idx, i64 %i
  %n = load i32, ptr %ip, align 4
  %n64 = zext i32 %n to i64
  %p = getelementptr i32, ptr %base, i64 %n64
  %ne = insertelement <8 x i32> poison, i32 %n, i32 0
  %ns = shufflevector <8 x i32> %ne, <8 x i32> poison, <8 x i32> zeroinitializer
  %equal = icmp eq <8 x i32> %all, %ns
  %short = bitcast <8 x i1> %equal to i8
  %bits = zext i8 %short to i64
  %group = and i64 %bits, %m
  %rest = xor i64 %group, %m
  %wide = call i64 @llvm.ctpop.i64(i64 %group)
  %number = trunc i64 %wide to i32
  %old = atomicrmw add ptr %p, i32 %number monotonic
  br label %each
each:
  %g = phi i64 [ %group, %lane ], [ %gd, %each ]
  %count = phi i32 [ %old, %lane ], [ %count1, %each ]
  %k = call i64 @llvm.cttz.i64(i64 %g, i1 true)
  %op = getelementptr i32, ptr %out, i64 %k
  store i32 %count, ptr %op, align 4
  %count1 = add i32 %count, 1
  %gl = add i64 %g, -1
  %gd = and i64 %g, %gl
  %last = icmp eq i64 %gd, 0
  br i1 %last, label %next, label %each
next:
  %done = icmp eq i64 %rest, 0
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
  %slot4 = getelementptr i64, ptr %args, i64 4
  %in4 = load ptr, ptr %slot4, align 8, !invariant.load !0
  %v0.a = getelementptr i64, ptr %args, i64 0
  %v0 = load i64, ptr %v0.a, align 8, !invariant.load !0
  %v0.ptr = inttoptr i64 %v0 to ptr
  %v4.a = getelementptr i64, ptr %args, i64 2
  %v4 = load i64, ptr %v4.a, align 8, !invariant.load !0
  %v4.ptr = inttoptr i64 %v4 to ptr
  %v6.a = getelementptr i64, ptr %args, i64 3
  %v6 = load i64, ptr %v6.a, align 8, !invariant.load !0
  %v6.ptr = inttoptr i64 %v6 to ptr
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
  %v1.p0 = getelementptr i32, ptr %in1, i64 %index
  %v1 = load <8 x i32>, ptr %v1.p0, align 4, !invariant.load !0
  %v3.m = and <8 x i1> %active, %active
  store <8 x i32> %v1, ptr %slot.idx, align 64
  %v3.n = bitcast <8 x i1> %v3.m to i8
  %v3.b = zext i8 %v3.n to i64
  store <8 x i32> zeroinitializer, ptr %slot.out, align 64
  call void @scatter_inc(ptr %v0.ptr, ptr %slot.idx, ptr %slot.val, ptr %slot.cmp, ptr %slot.out, i64 %v3.b)
  %v3 = load <8 x i32>, ptr %slot.out, align 64
  %v5.m = and <8 x i1> %active, %active
  store <8 x i32> %v1, ptr %slot.idx, align 64
  store <8 x i32> %v3, ptr %slot.val, align 64
  %v5.n = bitcast <8 x i1> %v5.m to i8
  %v5.b = zext i8 %v5.n to i64
  store <8 x i32> zeroinitializer, ptr %slot.out, align 64
  call void @scatter_exch_i32(ptr %v4.ptr, ptr %slot.idx, ptr %slot.val, ptr %slot.cmp, ptr %slot.out, i64 %v5.b)
  %v5 = load <8 x i32>, ptr %slot.out, align 64
  %v7.p0 = getelementptr i32, ptr %in4, i64 %index
  %v7 = load <8 x i32>, ptr %v7.p0, align 4, !invariant.load !0
  %v8.m = and <8 x i1> %active, %active
  store <8 x i32> %v1, ptr %slot.idx, align 64
  store <8 x i32> %v7, ptr %slot.cmp, align 64
  store <8 x i32> %v5, ptr %slot.val, align 64
  %v8.n = bitcast <8 x i1> %v8.m to i8
  %v8.b = zext i8 %v8.n to i64
  store <8 x i32> zeroinitializer, ptr %slot.out, align 64
  call void @scatter_cas_i32(ptr %v6.ptr, ptr %slot.idx, ptr %slot.val, ptr %slot.cmp, ptr %slot.out, i64 %v8.b)
  %v8 = load <8 x i32>, ptr %slot.out, align 64
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
