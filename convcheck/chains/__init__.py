"""Compare chains of casts with direct casts, and prove where they agree."""
