"""How inputs are put to a backend: elements, whole calls, spans; and asked again, another way."""
