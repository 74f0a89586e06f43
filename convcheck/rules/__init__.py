"""Read spec files into frozen dataclasses that remember their places. Readers raise SpecError."""
