"""Suites for the repository where a kernel lives: the vectors and rules of cases as source files
of C, Rust, CUDA or HIP that need nothing else.
"""
