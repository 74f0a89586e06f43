"""ONNX Runtime and the onnx package's ReferenceEvaluator."""
