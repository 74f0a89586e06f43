"""Choose test inputs, compute their expected values, and store both."""
