"""Find and judge the conversions in models."""
