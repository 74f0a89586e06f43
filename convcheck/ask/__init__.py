"""Send inputs to a backend: elements, whole calls and spans, once or repeatedly."""
