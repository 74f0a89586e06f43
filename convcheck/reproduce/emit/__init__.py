"""Write witnesses as scripts, sources and ONNX tests."""
