"""Docstrings of functions written in C: arrays."""

class ArrayBase:
    """Base class of all Dr.Jit arrays and tensors."""

    def numpy(self, eval=True):
        """The array as a NumPy array, shape (extents..., lanes). A flat array or tensor is
        not copied: both see each other's changes. With 'eval=False' the array is not
        computed now: NumPy's has its entries from the next evaluation on, and any
        before it."""

    def to_numpy(self, eval=True):
        """Another name of numpy()."""

    def memview(self):
        """The array as a memoryview, not copied if flat or a tensor."""

    def torch(self, eval=True):
        """The array as a PyTorch tensor, not copied if flat or a tensor. 'eval' as in
        numpy()."""

    def jax(self):
        """The array as a JAX array, not copied if flat or a tensor."""

    def tf(self):
        """The array as a TensorFlow tensor, not copied if flat or a tensor."""

    def item(self):
        """The only entry as a Python bool, int or float. RuntimeError if there is not
        exactly one."""

    @property
    def real(self):
        """Real part of a complex number or quaternion (a view); other arrays are their
        own."""

    @property
    def imag(self):
        """Imaginary part: of a complex number a component (a view), of a quaternion a copy
        of the first three; zeros for other arrays."""

    @property
    def grad(self):
        """The gradient: see drjit.grad() and drjit.set_grad()."""

    @property
    def shape(self):
        """The extents, lanes of just-in-time compiled arrays last. RuntimeError if ragged."""

    @property
    def ndim(self):
        """Number of axes."""

    @property
    def array(self):
        """The storage of a tensor (a one-dimensional view); a plain array with the
        components of a matrix, complex number or quaternion; else the array itself."""

    @property
    def T(self):
        """Transpose of a matrix or tensor with two axes."""

    @property
    def mT(self):
        """Transpose of a matrix, or of the last two axes of a tensor."""

    @property
    def index(self):
        """Index of the variable of a leaf, 0 for others."""

    @property
    def index_ad(self):
        """Index of a leaf in the graph of derivatives, 0 without one."""

    @property
    def state(self):
        """Evaluation state, a drjit.VarState."""

    @property
    def label(self):
        """Name of the variable in graphs and messages, None if it has none."""

    @property
    def x(self):
        """Component 0 of a static array, quaternions included: a view. Other types:
        RuntimeError."""

    @property
    def y(self):
        """Component 1 of a static array, quaternions included: a view. Other types:
        RuntimeError."""

    @property
    def z(self):
        """Component 2 of a static array, quaternions included: a view. Other types:
        RuntimeError."""

    @property
    def w(self):
        """Component 3 of a static array, quaternions included: a view. Other types:
        RuntimeError."""

    def _repr_html_(self):
        """How a notebook shows the array: type, shape, state, memory, gradient, entries.

        Evaluates the array, as printing does, unless it is symbolic.
        """

    def _repr_png_(self):
        """The array as a PNG file, None if it is not a picture.

        Pictures are tensors of the shape (height, width), or with 1, 3 or 4 channels at
        the end, and 8 to 4096 pixels on each side. Entries are masks, bytes, or floats,
        of which 0 is black and 1 is white.
        """
