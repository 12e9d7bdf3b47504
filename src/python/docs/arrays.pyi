"""Docstrings of functions written in C: arrays."""

class ArrayBase:
    """Base class of all arrays, of every backend, tensors included.

    It cannot be instantiated, and is there for ``isinstance(x, dr.ArrayBase)`` and for
    the members below, which all array types have. [Array types](../arrays.md) has the
    types and their constructors, [Exchange](../exchange.md) how memory is shared with
    NumPy and others. Components of small arrays are selected by names: ``v.x``, and
    several together (``v.zyx``, ``v.xy = ...``).

    Args:
        *args: what a type is made of: numbers, sequences, other arrays, memory of NumPy
            and others.
        **kwargs: as the type has them.

    Raises:
        TypeError: ``ArrayBase`` itself is instantiated.

    Example:
        >>> v = Array3f([1, 2], 3, 4)
        >>> isinstance(v, dr.ArrayBase), isinstance(3.0, dr.ArrayBase)
        (True, False)
        >>> v.shape, v.ndim, v.x
        ((3, 2), 2, [1, 2])
        >>> v.zx
        [[4, 1],
         [4, 2]]

    See also:
        :func:`drjit.is_array_v`, :data:`drjit.AnyArray`
    """

    def __init__(self, *args, **kwargs): ...
    def numpy(self, eval=True):
        """Return the array as a NumPy array.

        Its shape is that of ``shape``: components first, lanes last. Complex numbers
        become NumPy's, without an axis for their parts. Of flat arrays and tensors it
        is a writable view of their memory: what NumPy writes, the array has. The array
        itself is only ever changed by moving it to new memory, so it does not change
        NumPy's. Other types have several pieces of memory, which are copied into one.

        Args:
            eval (bool): compute the array now, and wait for it. With ``False``, an
                array that is not computed yet gives a copy whose entries are
                unspecified until the next evaluation, which fills them in.

        Returns:
            numpy.ndarray: of the dtype of the entries. Derivatives are left behind.

        Raises:
            RuntimeError: the array is ragged, that is, its components have different
                lengths.

        Example:
            >>> x = Float(1, 2, 3)
            >>> x.numpy()[0] = 10
            >>> x
            [10, 2, 3]
            >>> Array3f([1, 2], 3, 4).numpy().shape
            (3, 2)
        """

    def to_numpy(self, eval=True):
        """Return the array as a NumPy array: another name of ``numpy()``."""

    def memview(self):
        """Return the array as a ``memoryview``: shared or copied as ``numpy()``
        does."""

    def torch(self, eval=True):
        """Return the array as a PyTorch tensor: shared or copied as ``numpy()`` does.

        Derivatives are left behind; :func:`drjit.wrap` passes them on.

        Args:
            eval (bool): as for ``numpy()``.

        Raises:
            ModuleNotFoundError: PyTorch is not installed.
        """

    def jax(self):
        """Return the array as a JAX array: shared or copied as ``numpy()`` does.

        JAX's arrays are immutable: do not write to the memory as long as JAX uses it.
        :func:`drjit.wrap` passes derivatives on. ``ModuleNotFoundError`` without JAX.
        """

    def tf(self):
        """Return the array as a TensorFlow tensor: shared or copied as ``numpy()``
        does.

        :func:`drjit.wrap` passes derivatives on. ``ModuleNotFoundError`` without
        TensorFlow.
        """

    def item(self):
        """Return the only entry as a Python ``bool``, ``int`` or ``float``; waits for
        it.

        Raises:
            RuntimeError: the array does not have exactly one entry.

        Example:
            >>> dr.sum(Float(1, 2, 3)).item()
            6.0
        """

    @property
    def real(self):
        """Real part of a complex number or quaternion, a view; other arrays are their
        own.

        It can be assigned to, where it is a part: ``z.real = 0``.
        """

    @property
    def imag(self):
        """Imaginary part: of a complex number a view, of a quaternion a copy of x, y,
        z.

        Other arrays give zeros of their type and shape. That of complex numbers and
        quaternions can be assigned to: ``z.imag = 0``.
        """

    @property
    def grad(self):
        """The gradient, zeros if there is none: :func:`drjit.grad` and
        :func:`drjit.set_grad`."""

    @property
    def shape(self):
        """The extents, a tuple of ``int``: components first, and of traced arrays lanes
        last.

        A ``RuntimeError`` if the array is ragged. :func:`drjit.shape` takes other
        objects, too.
        """

    @property
    def ndim(self):
        """Number of axes, an ``int``: the length of ``shape``."""

    @property
    def size(self):
        """Number of entries of a tensor, an ``int``; other types raise
        ``AttributeError``.

        :func:`drjit.width` is for them.
        """

    @property
    def dtype(self):
        """Type of the entries of a tensor, a :class:`drjit.VarType`; other types raise
        ``AttributeError``.

        :func:`drjit.type_v` is for them.
        """

    @property
    def device(self):
        """Where a tensor is computed, ``"cpu"`` or ``"gpu"``; other types raise
        ``AttributeError``."""

    @property
    def array(self):
        """The entries without the structure of a special type.

        Of a tensor it is the flat array with its entries in row-major order, a view:
        writing to it writes to the tensor. Of a matrix, complex number or quaternion it
        is a copy, a plain nested array of its components (``Matrix3f`` gives
        ``Array33f``). Other arrays are their own.
        """

    @property
    def T(self):
        """Transpose of a matrix, or of a tensor with two axes; a copy.

        Other types and numbers of axes are an ``AttributeError``. See
        :func:`drjit.transpose`.
        """

    @property
    def mT(self):
        """Transpose of a matrix, or of the last two axes of a tensor; a copy.

        Other types, and tensors with fewer axes, are an ``AttributeError``.
        """

    @property
    def index(self):
        """Index of the variable of a flat array in the trace, an ``int``; 0 for other
        types.

        The components of nested arrays, and ``array`` of a tensor, have one each.
        """

    @property
    def index_ad(self):
        """Index of a flat array in the graph of derivatives, 0 if it has no
        derivative."""

    @property
    def state(self):
        """How the array is represented now, a :class:`drjit.VarState`: literal,
        evaluated, ...

        ``Mixed`` if the components differ, ``Invalid`` of empty arrays and in
        ``drjit.scalar``.
        """

    @property
    def label(self):
        """Name of the variable in graphs and messages, a ``str``, or ``None`` if it has
        none.

        It can be assigned to: components of nested arrays get ``label_0``, ``label_1``,
        and so on. With ``JitFlag.Debug`` variables without a name have the line that
        made them. See :func:`drjit.set_label`.
        """

    @property
    def x(self):
        """Component 0, a view: ``v.x = 1`` and ``v.x += 1`` change ``v``.

        Nested arrays with a fixed number of components and quaternions have it; others
        raise ``AttributeError``. Letters together select several components, in that
        order: ``v.zyx``, ``v.xx``, ``v.xy = ...``.
        """

    @property
    def y(self):
        """Component 1, a view; see ``x``."""

    @property
    def z(self):
        """Component 2, a view; see ``x``."""

    @property
    def w(self):
        """Component 3, a view; see ``x``. The real part of a quaternion."""

    def __array_namespace__(self, *, api_version=None):
        """Return the module with the functions of the Python array API standard for
        tensors, ``drjit.array_api``.

        Args:
            api_version (str): version of the standard, ``"2021.12"`` to ``"2023.12"``;
                None is the last of them.

        Raises:
            TypeError: the array is not a tensor.
            ValueError: it is of another version of the standard.
        """

    def to_device(self, device, /, *, stream=None):
        """Return the tensor itself if it is on a device, :attr:`device`.

        The constructor of another backend's type moves entries to its device.

        Args:
            device (str): a device.
            stream: None, there are no streams to choose from.

        Raises:
            TypeError: the array is not a tensor.
            ValueError: it is another device, or a stream is given.
        """

    def _repr_html_(self):
        """How a notebook shows the array: type, shape, state, memory, first entries.

        Evaluates the array, as printing does, unless it is symbolic.
        """

    def _repr_png_(self):
        """The array as a PNG file, None if it is not a picture.

        Pictures are tensors of the shape (height, width), or with 1, 3 or 4 channels at
        the end, and 8 to 4096 pixels on each side. Entries are masks, bytes, or floats,
        of which 0 is black and 1 is white.
        """
