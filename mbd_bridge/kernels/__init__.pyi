"""The public names of `mbd_bridge.kernels`, each with its module."""

from mbd_bridge.kernels.c_text import c_source as c_source
from mbd_bridge.kernels.cache import Cache as Cache
from mbd_bridge.kernels.compile import (
    PackedKernel as PackedKernel,
    compile_kernel as compile_kernel,
    packed as packed,
)
from mbd_bridge.kernels.derive import (
    gradient as gradient,
    jacobian as jacobian,
    pulled_back as pulled_back,
    rates_along as rates_along,
)
from mbd_bridge.kernels.expression import is_traced as is_traced
from mbd_bridge.kernels.kernel import Kernel as Kernel, Single as Single
from mbd_bridge.kernels.tracing import Graph as Graph, trace as trace
