"""Compiles every Cython kernel beside the family that uses it; everything else is in pyproject.toml."""

from pathlib import Path

import numpy
from Cython.Build import cythonize
from setuptools import Extension, setup

ROOT = Path(__file__).parent


def kernel(path: Path) -> Extension:
    """One module per .pyx.

    No contraction of floats: equal documents get equal scores on every path. No wrapping of signed integers, which
    Python's own flags ask for: loops over blocks are a quarter slower with it, and none overflows (`make overflow`).
    """
    name = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
    folders = [folder for folder in (path.parent, path.parent / "treesitter") if folder.is_dir()]
    return Extension(
        name,
        [str(path.relative_to(ROOT))],
        include_dirs=[numpy.get_include(), *(str(folder.relative_to(ROOT)) for folder in folders)],
        define_macros=[("NPY_NO_DEPRECATED_API", "NPY_1_7_API_VERSION")],
        extra_compile_args=["-O3", "-ffp-contract=off", "-fno-wrapv"],
    )


setup(
    ext_modules=cythonize(
        [kernel(path) for path in sorted((ROOT / "src").rglob("*.pyx"))],
        compiler_directives={"language_level": 3},
    )
)
