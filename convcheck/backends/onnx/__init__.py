"""Backends that take ONNX models."""
