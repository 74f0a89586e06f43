"""Write suites for a kernel's repository: vectors and rules as C, Rust, CUDA or HIP sources."""
