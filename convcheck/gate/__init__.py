"""WHAT MAY FAIL: known failures, waivers, and what was judged."""
