"""Docstrings of functions written in C: flow."""

def switch(index, targets, *args, mode=None, label=None, **kwargs):
    """In each lane, ``targets[index](*args, **kwargs)``.
    'index' is an int, which calls one function as Python does, or a UInt32 array. Then
    each function of the sequence 'targets' is called at most once, with arrays for its
    lanes. All return PyTrees of the same structure and types; values that are not
    traced arrays have to be equal:
    >>> dr.switch(UInt(0, 0, 1, 1), [lambda x: x, lambda x: x * 10], UInt(1, 2, 3, 4))
    [1, 2, 30, 40]
    Arguments are PyTrees; functions get containers of their own, and tensors as one-
    dimensional ones. A mask as last positional argument, or named 'active', switches
    lanes off: their results are 0, and they cause no side effects. The functions get
    True in its place. So it is with an index that is out of range; with JitFlag.Debug,
    a warning says where (in evaluated mode: a RuntimeError).
    'mode' is "symbolic" (functions become functions of the kernel), "evaluated" (lanes
    are sorted by function, and only functions that are needed are called) or None:
    JitFlag.SymbolicCalls decides. 'label' names the call."""

def if_stmt(
    args,
    cond,
    true_fn,
    false_fn,
    arg_labels=(),
    rv_labels=(),
    label=None,
    mode=None,
    strict=True,
):
    """``true_fn(*args)`` in lanes where 'cond' holds, ``false_fn(*args)`` in the others.
    'cond' is a Bool array (or a Boolean tensor), or a bool. Both functions are called
    and return PyTrees of the same structure and types, which are combined:
    >>> x, y = dr.if_stmt((i, x, y), i > 0, ...                   lambda i, x, y: (f(i),
    y), ...                   lambda i, x, y: (x, y + 1))
    They work on the containers in 'args', with new array objects in them. What both
    return in the place of an argument, perhaps changed in place, is the caller's
    object. Values that are not traced arrays have to be equal on both sides, if
    'strict'; else that of the false side is the result. Scatters and other side effects
    happen in the lanes of their side only.
    'mode' is "scalar" (a conditional of Python, the default for a bool), "symbolic" (a
    conditional of the kernel, which skips a side that no lane takes), "evaluated" (both
    sides are computed, then one is selected) or None: JitFlag.SymbolicConditionals
    decides. 'arg_labels' and 'rv_labels' name arguments and results in messages,
    'label' the conditional.
    Raises TypeError and RuntimeError for results that do not fit. If a function raises,
    everything is as it was before the call, and the exception goes on."""

def while_loop(
    state,
    cond,
    body,
    labels=(),
    label=None,
    mode=None,
    strict=True,
    compress=None,
    max_iterations=None,
):
    """In each lane, repeat ``state = body(*state)`` while ``cond(*state)`` holds.
    'state' is a tuple of PyTrees. 'cond' returns a Bool array (or a Boolean tensor),
    one entry for each lane, or a bool; it must not change anything. 'body' returns a
    tuple of the structure, types and shapes of 'state'; arrays of one entry adapt to
    the others. The result is the final state:
    >>> i, x = dr.while_loop((UInt(0, 5), Float(1, 2)), ...                      lambda
    i, x: i < 8, ...                      lambda i, x: (i + 1, x * 2))
    Both functions work on the containers of 'state', with new array objects in them.
    What the body changes in place is the caller's object in the end; what it replaces
    is a new one. Objects that are not traced arrays pass through; they must stay equal
    if 'strict'. Scatters and other side effects happen in lanes that are in the loop
    only.
    'mode' is "scalar" (a loop of Python, the default if 'cond' returns a bool),
    "symbolic" (the functions are called once, with arrays that cannot be evaluated, and
    become a loop of the kernel), "evaluated" (they are called for each iteration, with
    evaluated arrays) or None: JitFlag.SymbolicLoops decides. 'compress' (None:
    JitFlag.CompressLoops) has evaluated loops take lanes out that are done. 'labels'
    name the variables in messages, 'label' the loop. 'max_iterations' is for
    derivatives in reverse mode: a bound makes it unnecessary to count iterations first
    (beyond it the traversal fails, or in a recorded construct the kernel that computes
    the gradient), -1 promises that floats are only added to. It has no other effect.
    Raises TypeError and RuntimeError for states that do not fit. If a function raises,
    everything is as it was before the call, and the exception goes on."""
