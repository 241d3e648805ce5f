"""Compiles every Cython kernel beside the family that uses it; everything else is in pyproject.toml."""

import os
from pathlib import Path

import numpy
from Cython.Build import cythonize
from setuptools import Extension, setup

ROOT = Path(__file__).parent
AS_FAST_WITH_O2 = {"evidence", "terms", "uses"}
"""Kernels that are as fast with -O2 as with -O3, and compile in less time."""
SHARED = "sleuth._cyutility"
"""Cython's support for memoryviews, compiled once: each kernel would carry a copy and compile twice as long."""


def extension(name: str, source: Path, *include_dirs: Path, level: str) -> Extension:
    """Return a module compiled for speed.

    No contraction of floats: equal documents get equal scores on every path. No wrapping of signed integers, which
    Python's own flags ask for: loops over blocks are a quarter slower with it, and none overflows (`make overflow`).
    No debug information: it takes a fifth of the compiler's time.
    """
    return Extension(
        name,
        [str(source.relative_to(ROOT))],
        include_dirs=[numpy.get_include(), *(str(folder.relative_to(ROOT)) for folder in include_dirs)],
        define_macros=[("NPY_NO_DEPRECATED_API", "NPY_1_7_API_VERSION")],
        extra_compile_args=[level, "-g0", "-ffp-contract=off", "-fno-wrapv"],
    )


def kernel(path: Path) -> Extension:
    """Return the module of one .pyx file."""
    name = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
    return extension(name, path, path.parent, level="-O2" if path.stem in AS_FAST_WITH_O2 else "-O3")


def kernels() -> list[Extension]:
    """Return all modules, translated to C. They are none where `make` has compiled them: pip would do it again."""
    if "SLEUTH_COMPILED" in os.environ:
        return []
    shared = (ROOT / "src" / SHARED.replace(".", "/")).with_suffix(".c")
    modules = [kernel(path) for path in sorted((ROOT / "src").rglob("*.pyx"))]
    return cythonize(
        [extension(SHARED, shared, level="-O1"), *modules],
        # neither is used, and both cost time to compile: pickling, and functions that know their signatures
        compiler_directives={"language_level": 3, "auto_pickle": False, "binding": False},
        shared_utility_qualified_name=SHARED,
    )


setup(ext_modules=kernels(), options={"build_ext": {"parallel": os.cpu_count()}})
