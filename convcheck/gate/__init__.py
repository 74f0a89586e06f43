"""WHAT MAY FAIL: known failures, waivers, and what a backend claims."""
