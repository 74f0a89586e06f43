"""Known failures, waivers, and judged cases."""
