"""Docstrings of functions written in C: derivatives."""

def enable_grad(*args):
    """Track derivatives by the float arrays with derivatives in these PyTrees. Other
    objects are left alone; so is what is tracked already. Within suspend_grad() nothing
    happens."""

def disable_grad(*args):
    """Track derivatives by the arrays in these PyTrees no more."""

def set_grad_enabled(arg, value, /):
    """enable_grad(arg) if 'value' is True, else disable_grad(arg)."""

def grad_enabled(*args):
    """Is any array in these PyTrees tracked, and not suspended?"""

def detach(arg, preserve_type=True):
    """A PyTree with the same arrays, not tracked. With preserve_type=False they are of the
    types without derivatives."""

def grad(arg, preserve_type=True):
    """The gradients of a PyTree: arrays of the same types (or of those without
    derivatives) and shapes, zeros where there is no gradient."""

def set_grad(target, source):
    """Replace the gradients of 'target' by 'source', a PyTree of the same structure, whose
    leaves are converted to the types and broadcast to the sizes of the target's. An
    array with one entry gets the sum, one that occurs several times that of its
    gradients. Arrays that are not tracked are left alone; where no array is, and a
    gradient other than zero is lost, there is a RuntimeWarning."""

def accum_grad(target, source):
    """Add to the gradients: see set_grad()."""

def clear_grad(arg, /):
    """Forget the gradients of a PyTree."""

def enqueue(mode, *args):
    """Note, for the next traverse() of this thread, all that the arrays in these PyTrees
    depend on (ADMode.Backward), or that depends on them (ADMode.Forward)."""
