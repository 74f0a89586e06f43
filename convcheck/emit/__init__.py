"""Write suites of vectors and rules as C, Rust, CUDA or HIP."""
