# SPDX-License-Identifier: Apache-2.0
"""OpenBLAS takes a CPU that is newer than itself for a Prescott, and PyTorch would be four times slower. CORE is what its
environment needs to have the kernels that suit this CPU, if it is such a one."""
import ctypes, glob, os

BLAS = glob.glob("/usr/lib/*/openblas-openmp/libblas.so.3")


def openblas_core():
    if not BLAS or "OPENBLAS_CORETYPE" in os.environ:
        return {}
    library = ctypes.CDLL(BLAS[0])
    library.openblas_get_corename.restype = ctypes.c_char_p
    with open("/proc/cpuinfo") as lines:
        flags = next((line.split() for line in lines if line.startswith("flags")), [])
    for flag, core in (("avx512vl", "SkylakeX"), ("avx2", "Haswell")):
        if library.openblas_get_corename() == b"Prescott" and flag in flags:
            return {"OPENBLAS_CORETYPE": core}
    return {}


CORE = openblas_core()
